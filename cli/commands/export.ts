import { Command, Option } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { APIConnectionError } from '../../client/http/errors.ts';
import { objectInLine } from '../input/json-line.ts';
import { examples } from '../option-values.ts';
import { countedRecords } from '../output/counted.ts';
import type { ExportFile, ExportHead } from '../output/export-file.ts';
import { escapedJson } from '../output/json.ts';
import { NdjsonExport } from '../output/ndjson-export.ts';
import { Progress } from '../output/progress.ts';
import { ReplacedFile } from '../output/replaced-file.ts';
import { write } from '../output/streams.ts';
import { fieldLines } from '../output/table.ts';
import { inSession } from '../session.ts';

const END = '{"end":';

interface ExportOptions {
  out?: string;
  to: 'ndjson' | 'parquet';
  recordsOnly?: boolean;
}

export const exportCommand = (): Command =>
  new Command('export')
    .description('write all records of a collection as NDJSON, with their root in the first line, or as Parquet')
    .argument('<collection>', 'its name or an alias')
    .option('--out <file>', 'file, which appears when it is complete; stdout by default')
    .addOption(
      new Option('--to <format>', 'format of the file; parquet needs --out')
        .choices(['ndjson', 'parquet'])
        .default('ndjson'),
    )
    .option('--records-only', 'leave out the first and the last line, which are no records')
    .addHelpText(
      'after',
      examples(
        'provec export notes --out notes.ndjson',
        'provec export notes --records-only | head -n 1',
        'provec export notes --to parquet --out notes.parquet',
      ),
    )
    .action(
      inSession(async (session, name: string, { out, to, recordsOnly = false }: ExportOptions) => {
        const isParquet = to === 'parquet';
        if (isParquet && (out === undefined || recordsOnly))
          throw new InputError('--to parquet needs --out, and has no --records-only: a table has only records.');
        const exported = await (await session.collection(name)).export(session.request);
        if (out === undefined) {
          await copied(exported.lines(), new NdjsonExport(writeShown, recordsOnly), true);
          return;
        }
        const file = await ReplacedFile.open(out);
        try {
          const written = isParquet
            ? await newParquetExport((bytes) => file.write(bytes))
            : new NdjsonExport((text) => file.write(text), recordsOnly);
          const { name: collection, ...head } = await copied(exported.lines(), written);
          await file.commit();
          await session.print({ file: out, collection, ...head }, () => fieldLines({ file: out, collection, ...head }));
        } finally {
          await file.end();
        }
      }),
    );

/** Copies the lines and returns the content of the first. Rejects if the export is incomplete. */
async function copied(lines: AsyncIterable<string>, file: ExportFile, isBesideOutput = false): Promise<ExportHead> {
  const progress = new Progress('exporting', { isBesideOutput });
  let head: ExportHead | undefined;
  let end = '';
  let records = 0;
  try {
    for await (const line of lines) {
      if (head === undefined) {
        head = headIn(line);
        await file.begin(line, head);
      } else if (line.startsWith(END)) {
        end = line;
        await file.end(line);
      } else {
        await file.add(line);
        progress.update(++records, records / Math.max(1, head.vectorCount));
      }
    }
  } finally {
    progress.end();
  }
  await file.finish();
  return wholeHead(head, end, records);
}

/** Loads the writer of Parquet only when it is needed. */
async function newParquetExport(sink: (bytes: Uint8Array) => Promise<void>): Promise<ExportFile> {
  const { ParquetExport } = await import('../output/parquet-export.ts');
  return new ParquetExport(sink);
}

/** Returns the head. Throws unless the export is complete. */
function wholeHead(head: ExportHead | undefined, end: string, records: number): ExportHead {
  if (head !== undefined && records === head.vectorCount && objectInLine(end)?.end !== undefined) return head;
  throw new APIConnectionError(`The export was cut off after ${countedRecords(records)}.`);
}

function headIn(line: string): ExportHead {
  const { export: head } = (objectInLine(line) ?? {}) as { export?: ExportHead };
  if (head !== undefined) return head;
  throw new APIConnectionError('The answer is no export: is this the address of a Provec?');
}

/** Writes to stdout. Escapes control characters only on a terminal. */
const writeShown = (text: string): Promise<void> =>
  write(process.stdout.isTTY ? text.split('\n').map(escapedJson).join('\n') : text);
