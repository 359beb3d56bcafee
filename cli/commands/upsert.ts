import { Command } from 'commander';
import { STDIN } from '../input/read-text.ts';
import { readRecords } from '../input/records.ts';
import { examples } from '../option-values.ts';
import { writeResultLines } from '../output/write-result.ts';
import { inSession } from '../session.ts';

interface UpsertOptions {
  namespace?: string;
  /** False with --no-wait. */
  wait: boolean;
}

export const upsertCommand = (): Command =>
  new Command('upsert')
    .description('write records; an existing record is replaced as a whole')
    .argument('<collection>', 'its name or an alias')
    .argument('[file]', 'records as JSON or as one JSON record per line; - for stdin', STDIN)
    .option('--namespace <name>', 'namespace of the records')
    .option('--no-wait', 'do not wait for the anchor')
    .addHelpText(
      'after',
      examples(`echo '{"id": "c", "values": [1, 0, 0, 0], "metadata": {"year": 2024}}' | provec upsert notes`),
    )
    .action(
      inSession(async (session, name: string, file: string, { namespace, wait }: UpsertOptions) => {
        const records = await readRecords(file);
        const body = { records, ...(namespace !== undefined && { namespace }), ...(!wait && { waitForAnchor: false }) };
        const result = await (await session.collection(name)).upsert(body, session.request);
        await session.print(result, () => writeResultLines({ upsertedCount: result.upsertedCount }, result));
      }),
    );
