import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import type { Api, Collection } from '../../client/index.ts';
import { confirm, YES } from '../confirmation.ts';
import { readObjectOption } from '../input/read-text.ts';
import { examples } from '../option-values.ts';
import { countedRecords } from '../output/counted.ts';
import { fieldLines } from '../output/table.ts';
import { writeResultLines } from '../output/write-result.ts';
import { inSession, type Session } from '../session.ts';

interface DeleteOptions {
  filter?: string;
  all?: true;
  namespace?: string;
  allNamespaces?: true;
  dryRun?: true;
  yes?: boolean;
}

export const deleteCommand = (): Command =>
  new Command('delete')
    .description('delete records by id, by filter, or all of a namespace')
    .argument('<collection>', 'its name or an alias')
    .argument('[ids...]', 'ids of the records; after -- they may begin with -')
    .option('--filter <json>', 'delete the records that match; @ and a file, or - for stdin')
    .option('--all', 'delete all records of the namespace')
    .option('--namespace <name>', 'namespace of the records')
    .option('--all-namespaces', 'with --filter: delete in all namespaces')
    .option('--dry-run', 'count what would be deleted, and delete nothing')
    .option(...YES)
    .addHelpText(
      'after',
      examples(
        'provec delete notes c',
        `provec delete notes --filter '{"year": {"$lt": 2025}}' --dry-run`,
        `provec delete notes --filter '{"year": {"$lt": 2025}}' --yes`,
      ),
    )
    .action(
      inSession(async (session, name: string, ids: string[], { filter, yes, ...others }: DeleteOptions) => {
        if ([ids.length > 0, filter !== undefined, others.all === true].filter(Boolean).length !== 1)
          throw new InputError('Give one of: ids, --filter, --all.');
        const body = {
          ...others,
          ...(ids.length > 0 && { ids }),
          ...(filter !== undefined && { filter: await readObjectOption<Api.Filter>(filter, '--filter') }),
        } as Api.Delete;
        const collection = await session.collection(name);
        // Ids name each record; a filter may match more than was meant.
        if (ids.length === 0 && !others.dryRun) await confirm(() => questionOf(session, collection, body), yes);
        const result = await collection.delete(body, session.request);
        await session.print(result, () => deleteLines(result));
      }),
    );

async function questionOf({ request }: Session, collection: Collection, body: Api.Delete): Promise<string> {
  const { deletedCount } = await collection.delete({ ...body, dryRun: true }, request);
  return `Delete ${countedRecords(deletedCount)} of ${collection.name}?`;
}

const deleteLines = ({ deleted, deletedCount, ...result }: Api.DeleteResult): string[] =>
  deleted ? writeResultLines({ deletedCount }, result) : fieldLines({ 'would delete': deletedCount });
