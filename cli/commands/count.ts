import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { readObjectOption } from '../input/read-text.ts';
import { examples } from '../option-values.ts';
import { inSession } from '../session.ts';
import { consistencyOption } from './query.ts';

interface CountOptions {
  filter?: string;
  namespace?: string;
  allNamespaces?: true;
  consistency?: 'strong' | 'eventual';
}

export const countCommand = (): Command =>
  new Command('count')
    .description('count records')
    .argument('<collection>', 'its name or an alias')
    .option('--filter <json>', 'conditions on metadata; @ and a file, or - for stdin')
    .option('--namespace <name>', 'namespace of the records')
    .option('--all-namespaces', 'count in all namespaces')
    .addOption(consistencyOption())
    .addHelpText('after', examples(`provec count notes --filter '{"year": 2026}'`))
    .action(
      inSession(async (session, name: string, { filter, ...others }: CountOptions) => {
        const body = {
          ...others,
          ...(filter !== undefined && { filter: await readObjectOption<Api.Filter>(filter, '--filter') }),
        };
        const count = await (await session.collection(name)).count(body, session.request);
        await session.print({ count }, () => [`${count}`]);
      }),
    );
