import { Command, Option } from 'commander';
import { InputError } from '../../client/cli/json-file.ts';
import { APIConnectionError } from '../../client/http/errors.ts';
import type { Api } from '../../client/index.ts';
import { objectInLine } from '../input/json-line.ts';
import { examples } from '../option-values.ts';
import { countedRecords } from '../output/counted.ts';
import { escapedJson } from '../output/json.ts';
import { Progress } from '../output/progress.ts';
import { ReplacedFile } from '../output/replaced-file.ts';
import { write } from '../output/streams.ts';
import { fieldLines } from '../output/table.ts';
import { inSession } from '../session.ts';

/** Number of characters to buffer before a write. */
const CHUNK_CHARS = 256 * 1024;
const END = '{"end":';

type Head = Extract<Api.ExportLine, { export: object }>['export'];
type Sink = (text: string) => Promise<void>;

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
          await copy(exported.lines(), recordsOnly, writeShown);
          return;
        }
        const file = await ReplacedFile.open(out);
        try {
          const { name: collection, ...head } = await (isParquet
            ? copyParquet(exported.lines(), (bytes) => file.write(bytes))
            : copy(exported.lines(), recordsOnly, (text) => file.write(text)));
          await file.commit();
          await session.print({ file: out, collection, ...head }, () => fieldLines({ file: out, collection, ...head }));
        } finally {
          await file.end();
        }
      }),
    );

/** Copies the lines and returns the content of the first. Rejects if the export is incomplete. */
async function copy(lines: AsyncIterable<string>, recordsOnly: boolean, sink: Sink): Promise<Head> {
  const progress = new Progress('exporting', { isBesideOutput: sink === writeShown });
  let head: Head | undefined;
  let end = '';
  let records = 0;
  let text = '';
  try {
    for await (const line of lines) {
      const isFrame = head === undefined || line.startsWith(END);
      if (head === undefined) head = headIn(line);
      else if (isFrame) end = line;
      else progress.update(++records, records / Math.max(1, head.vectorCount));
      if (!recordsOnly || !isFrame) text += `${line}\n`;
      if (text.length < CHUNK_CHARS) continue;
      await sink(text);
      text = '';
    }
  } finally {
    progress.end();
  }
  await sink(text);
  return wholeHead(head, end, records);
}

/** Writes the records as Parquet. Returns and rejects like `copy`. */
async function copyParquet(lines: AsyncIterable<string>, sink: (bytes: Uint8Array) => Promise<void>): Promise<Head> {
  const { ParquetExport } = await import('../output/parquet-export.ts');
  const progress = new Progress('exporting');
  let head: Head | undefined;
  let file: InstanceType<typeof ParquetExport> | undefined;
  let end = '';
  let records = 0;
  try {
    for await (const line of lines) {
      if (file === undefined || head === undefined) {
        head = headIn(line);
        file = new ParquetExport(head, sink);
      } else if (line.startsWith(END)) end = line;
      else {
        await file.add(line);
        progress.update(++records, records / Math.max(1, head.vectorCount));
      }
    }
  } finally {
    progress.end();
  }
  await file?.finish();
  return wholeHead(head, end, records);
}

/** Returns the head. Throws unless the export is complete. */
function wholeHead(head: Head | undefined, end: string, records: number): Head {
  if (head !== undefined && records === head.vectorCount && objectInLine(end)?.end !== undefined) return head;
  throw new APIConnectionError(`The export was cut off after ${countedRecords(records)}.`);
}

function headIn(line: string): Head {
  const { export: head } = (objectInLine(line) ?? {}) as { export?: Head };
  if (head !== undefined) return head;
  throw new APIConnectionError('The answer is no export: is this the address of a Provec?');
}

/** Writes to stdout. Escapes control characters only on a terminal. */
const writeShown: Sink = (text) => write(process.stdout.isTTY ? text.split('\n').map(escapedJson).join('\n') : text);
