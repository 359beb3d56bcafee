import { Command } from 'commander';
import { APIConnectionError } from '../../client/http/errors.ts';
import type { Api } from '../../client/index.ts';
import { parseJson } from '../../client/verify/json-text.ts';
import { examples } from '../option-values.ts';
import { countedRecords } from '../output/counted.ts';
import { escapedJson } from '../output/json.ts';
import { Progress } from '../output/progress.ts';
import { ReplacedFile } from '../output/replaced-file.ts';
import { write } from '../output/streams.ts';
import { fieldLines } from '../output/table.ts';
import { inSession } from '../session.ts';

/** Number of characters that are collected before they are written. */
const CHUNK_CHARS = 256 * 1024;
const END = '{"end":';

type Head = Extract<Api.ExportLine, { export: object }>['export'];
type Sink = (text: string) => Promise<void>;

export const exportCommand = (): Command =>
  new Command('export')
    .description('write all records of a collection as NDJSON, with their root in the first line')
    .argument('<collection>', 'its name or an alias')
    .option('--out <file>', 'file, which appears when it is complete; stdout by default')
    .option('--records-only', 'leave out the first and the last line, which are no records')
    .addHelpText(
      'after',
      examples('provec export notes --out notes.ndjson', 'provec export notes --records-only | head -n 1'),
    )
    .action(
      inSession(
        async (session, name: string, { out, recordsOnly = false }: { out?: string; recordsOnly?: boolean }) => {
          const exported = await (await session.collection(name)).export(session.request);
          if (out === undefined) {
            await copy(exported.lines(), recordsOnly, writeShown);
            return;
          }
          const file = await ReplacedFile.open(out);
          try {
            const { name: collection, ...head } = await copy(exported.lines(), recordsOnly, (text) => file.write(text));
            await file.commit();
            await session.print({ file: out, collection, ...head }, () =>
              fieldLines({ file: out, collection, ...head }),
            );
          } finally {
            await file.end();
          }
        },
      ),
    );

/** Copies the lines. Returns the first one's content. Rejects if the export is not complete. */
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
  if (head !== undefined && records === head.vectorCount && 'end' in parsedLine(end)) return head;
  throw new APIConnectionError(`The export was cut off after ${countedRecords(records)}.`);
}

function headIn(line: string): Head {
  const { export: head } = parsedLine(line) as { export?: Head };
  if (head !== undefined) return head;
  throw new APIConnectionError('The answer is no export: is this the address of a Provec?');
}

function parsedLine(line: string): object {
  try {
    const value = parseJson(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // A line that was cut off.
    return {};
  }
}

/** Writes to stdout, unchanged unless a person sees it. */
const writeShown: Sink = (text) => write(process.stdout.isTTY ? text.split('\n').map(escapedJson).join('\n') : text);
