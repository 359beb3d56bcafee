import { Command } from 'commander';
import { EXIT } from '../exit-code.ts';
import { examples } from '../option-values.ts';
import { writeError } from '../output/streams.ts';
import { tableLines } from '../output/table.ts';
import { inSession } from '../session.ts';
import { consistencyOption } from './query.ts';

interface GetOptions {
  namespace?: string;
  consistency?: 'strong' | 'eventual';
}

export const getCommand = (): Command =>
  new Command('get')
    .description('get records by id; exits with 1 if one of them is absent')
    .argument('<collection>', 'its name or an alias')
    .argument('<ids...>', 'ids of the records; after -- they may begin with -')
    .option('--namespace <name>', 'namespace of the records')
    .addOption(consistencyOption())
    .addHelpText('after', examples('provec get notes a b'))
    .action(
      inSession(async (session, name: string, ids: string[], options: GetOptions) => {
        const vectors = await (await session.collection(name)).fetch({ ids, ...options }, session.request);
        const found = ids.filter((id) => Object.hasOwn(vectors, id));
        await session.print({ vectors }, () =>
          tableLines(
            ['id', 'metadata', 'values'],
            found.map((id) => [id, vectors[id]?.metadata, vectors[id]?.values]),
          ),
        );
        const absent = ids.filter((id) => !Object.hasOwn(vectors, id));
        for (const id of absent) await writeError(`there is no record ${JSON.stringify(id)}`);
        return absent.length === 0 ? EXIT.done : EXIT.negative;
      }),
    );
