import { Command } from 'commander';
import type { Api } from '../../client/index.ts';
import { readObjectOption } from '../input/read-text.ts';
import { examples, wholeNumber } from '../option-values.ts';
import { jsonLine } from '../output/json.ts';
import { write } from '../output/streams.ts';
import { tableLines } from '../output/table.ts';
import { inSession, type Session } from '../session.ts';
import { consistencyOption } from './query.ts';

interface ListOptions {
  prefix?: string;
  namespace?: string;
  allNamespaces?: true;
  filter?: string;
  limit?: number;
  pageSize?: number;
  includeValues?: true;
  includeMetadata?: true;
  consistency?: 'strong' | 'eventual';
}

export const listCommand = (): Command =>
  new Command('list')
    .description('list records in the order of their ids; with --json a record per line')
    .argument('<collection>', 'its name or an alias')
    .option('--prefix <text>', 'only records whose ids begin with it')
    .option('--filter <json>', 'conditions on metadata; @ and a file, or - for stdin')
    .option('--namespace <name>', 'namespace of the records')
    .option('--all-namespaces', 'list all namespaces')
    .option('--limit <n>', 'maximum number of records; all by default', wholeNumber)
    .option('--page-size <n>', 'records per request', wholeNumber)
    .option('--include-values', 'return the vectors as well')
    .option('--include-metadata', 'return the metadata as well')
    .addOption(consistencyOption())
    .addHelpText('after', examples('provec list notes --include-metadata', 'provec list notes --json | head -n 1'))
    .action(
      inSession(async (session, name: string, options: ListOptions) => {
        const { filter, limit = Number.POSITIVE_INFINITY, pageSize, ...others } = options;
        const body: Api.List = {
          ...others,
          ...(pageSize !== undefined && { limit: pageSize }),
          ...(filter !== undefined && { filter: await readObjectOption<Api.Filter>(filter, '--filter') }),
        };
        let left = limit;
        let isFirst = true;
        for await (const page of (await session.collection(name)).list(body, session.request).pages()) {
          const records = page.records.slice(0, left);
          left -= records.length;
          await printPage(session, records, { ...options, isFirst });
          isFirst = false;
          if (left === 0) return;
        }
      }),
    );

/** Prints one page at a time, so that memory does not limit the number of records. */
async function printPage(
  session: Session,
  records: readonly Api.ListedRecord[],
  { allNamespaces, includeMetadata, includeValues, isFirst }: ListOptions & { isFirst: boolean },
): Promise<void> {
  if (session.isJson) return write(records.map(jsonLine).join(''));
  const columns = [
    'id' as const,
    ...(allNamespaces ? (['namespace'] as const) : []),
    ...(includeMetadata ? (['metadata'] as const) : []),
    ...(includeValues ? (['values'] as const) : []),
  ];
  const lines = tableLines(
    columns,
    records.map((record) => columns.map((name) => record[name])),
  );
  for (const line of isFirst ? lines : lines.slice(1)) await write(`${line}\n`);
}
