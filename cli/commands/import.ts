import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Command } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { APIStatusError, ProvecError } from '../../client/http/errors.ts';
import type { Api, Collection } from '../../client/index.ts';
import { Checkpoint } from '../input/checkpoint.ts';
import { withNamespace } from '../input/default-namespace.ts';
import { ExportFrame } from '../input/export-frame.ts';
import { type LinePlace, lineBatches } from '../input/line-batches.ts';
import { inputName, openInput, STDIN } from '../input/read-text.ts';
import { commandSignal } from '../interruption.ts';
import { examples, wholeNumber } from '../option-values.ts';
import { recordsWere } from '../output/counted.ts';
import { Progress } from '../output/progress.ts';
import { writeError } from '../output/streams.ts';
import { writeResultLines } from '../output/write-result.ts';
import { inSession, type Session } from '../session.ts';

const MIB = 1024 * 1024;
const BATCH_MIB = 16;
const LINE = /\bline (\d+)/g;
const STORED = / ?([\d,]+) records? (?:was|were) stored before\./;

interface ImportOptions {
  checkpoint?: string;
  batchMib: number;
  namespace?: string;
}

export const importCommand = (): Command =>
  new Command('import')
    .description('write any number of records from NDJSON, one record per line, or an export')
    .argument('<collection>', 'its name or an alias')
    .argument('[file]', 'the file; - for stdin', STDIN)
    .option('--checkpoint <file>', 'keep in this file how far the import has come; the same command then continues')
    .option('--batch-mib <n>', 'MiB per request, each of which waits for its anchor', wholeNumber, BATCH_MIB)
    .option('--namespace <name>', 'namespace of the records that name none')
    .addHelpText(
      'after',
      `
A record that exists is replaced, so importing a file again stores no record twice.
${examples(
  'provec export notes --out notes.ndjson',
  'provec import notes notes.ndjson',
  'provec import notes notes.ndjson --checkpoint notes.checkpoint',
)}`,
    )
    .action(
      inSession(async (session, name: string, path: string, options: ImportOptions) => {
        const { checkpoint: kept, batchMib, namespace } = options;
        if (kept !== undefined && path === STDIN)
          throw new InputError('--checkpoint needs a file; stdin cannot continue.');
        if (batchMib === 0) throw new InputError('--batch-mib must be at least 1.');
        const collection = await session.collection(name);
        const checkpoint =
          kept === undefined
            ? null
            : await checkpointOf(kept, path, {
                collectionId: (await collection.describe(session.request)).id,
                namespace,
              });
        const { importedCount, ...result } = await importFile(session, collection, path, {
          checkpoint,
          batchBytes: batchMib * MIB,
          namespace,
        });
        await session.print({ importedCount, ...result }, () => writeResultLines({ importedCount }, result));
      }),
    );

/** What an import has stored so far. */
interface ImportState extends LinePlace {
  records: number;
  /** Whether the file is an export with its first line. */
  hasHead: boolean;
}

/** Returns the checkpoint of a file that is imported to `target`. */
async function checkpointOf(path: string, source: string, target: object): Promise<Checkpoint<ImportState>> {
  const { size: bytes, mtime } = await stat(source);
  return new Checkpoint(path, { ...target, bytes, modifiedAt: mtime.toISOString() }, ['line', 'byte', 'records']);
}

/** Imports batch by batch, one after another, since a later line with the same id has to win. */
async function importFile(
  session: Session,
  collection: Collection,
  path: string,
  {
    checkpoint,
    batchBytes,
    namespace,
  }: { checkpoint: Checkpoint<ImportState> | null; batchBytes: number; namespace?: string },
): Promise<Api.ImportRecordsResult> {
  const begin = (await checkpoint?.read()) ?? { line: 1, byte: 0, records: 0, hasHead: false };
  const source = inputName(path);
  const frame = new ExportFrame(source, begin.hasHead);
  const total = sizeOf(path);
  const progress = new Progress('importing');
  let { records } = begin;
  let result: Api.ImportRecordsResult | undefined;
  try {
    for await (const batch of lineBatches(openInput(path, begin.byte), { source, batchBytes, begin })) {
      const { records: given, head, linesBefore } = frame.takenOff(batch);
      if (head !== null) await collection.import(head, session.request);
      const bytes = namespace === undefined ? given : withNamespace(given, namespace);
      result = await collection.import(bytes, session.request).catch((error: unknown) => {
        throw placed(error, source, { lines: linesBefore, records });
      });
      records += result.importedCount;
      const state: ImportState = {
        line: batch.firstLine + batch.lineCount,
        byte: batch.endByte,
        records,
        hasHead: frame.hasHead,
      };
      if (!batch.isLast) await checkpoint?.write(state);
      progress.update(records - begin.records, total === null ? null : batch.endByte / total);
    }
  } catch (error) {
    if (commandSignal.aborted) await writeError(`${recordsWere(records)} stored`);
    throw error;
  } finally {
    progress.end();
  }
  frame.assertWhole(records);
  await checkpoint?.remove();
  return { ...result!, importedCount: records };
}

/** Returns the size of a regular file; null if it is not known. */
function sizeOf(path: string): number | null {
  if (path === STDIN) return null;
  const found = statSync(path);
  return found.isFile() && found.size > 0 ? found.size : null;
}

/**
 * Turns an error about a batch into one about the file: its lines, and how many records were
 * stored.
 */
function placed(error: unknown, source: string, before: { lines: number; records: number }): unknown {
  if (!(error instanceof ProvecError)) return error;
  const inFile = (text: string) => text.replace(LINE, (_, line: string) => `line ${Number(line) + before.lines}`);
  const storedCount = before.records + Number(STORED.exec(error.message)?.[1]?.replaceAll(',', '') ?? 0);
  const stored = storedCount === 0 ? '' : ` ${recordsWere(storedCount)} stored before.`;
  error.message = `${source}: ${inFile(error.message.replace(STORED, ''))}${stored}`;
  if (error instanceof APIStatusError)
    Object.assign(error, { details: error.details.map((detail) => ({ ...detail, path: inFile(detail.path) })) });
  return Object.assign(error, { storedCount });
}
