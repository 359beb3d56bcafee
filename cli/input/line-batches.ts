import { InputError } from '../../client/cli/json-file.ts';

/** Number of lines from which they are a batch: the command reports progress after each batch. */
const BATCH_LINES = 10_000;
/** Maximum size of a line: more than any record, and less than memory. */
const LINE_MAX_BYTES = 8 * 1024 * 1024;
const LINE_END = 0x0a;
const SPACE = 0x20;

/** Whole lines of a file. */
export interface LineBatch {
  readonly bytes: Uint8Array;
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  readonly lineCount: number;
  /** Position in the file after the last line. */
  readonly endByte: number;
  readonly isLast: boolean;
}

/** Place in a file where a line begins. */
export interface LinePlace {
  /** From 1. */
  line: number;
  byte: number;
}

interface BatchOptions {
  /** Names the input in errors. */
  source: string;
  /** Size in bytes from which lines are a batch. */
  batchBytes: number;
  /** Place of the first chunk. */
  begin?: LinePlace;
}

/**
 * Cuts NDJSON into batches of whole lines, whose bytes are not changed. The last one has at least
 * the last line that is not blank.
 */
export async function* lineBatches(
  chunks: AsyncIterable<Uint8Array>,
  { source, batchBytes, begin = { line: 1, byte: 0 } }: BatchOptions,
): AsyncGenerator<LineBatch, void, undefined> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  let heldLines = 0;
  let nextCutBytes = batchBytes;
  let { line: firstLine, byte: endByte } = begin;
  const cut = (isLast: boolean): LineBatch | null => {
    const whole = Buffer.concat(held);
    const length = isLast ? whole.length : lastLineIn(whole);
    if (length === 0 && !isLast) {
      if (whole.length > LINE_MAX_BYTES)
        throw new InputError(`${source}:${firstLine} is longer than ${LINE_MAX_BYTES} bytes.`);
      held = [whole];
      nextCutBytes = LINE_MAX_BYTES + 1;
      return null;
    }
    nextCutBytes = batchBytes;
    const bytes = whole.subarray(0, length);
    const rest = whole.subarray(length);
    held = [rest];
    heldBytes = rest.length;
    heldLines = lineEndsIn(rest);
    const lineCount = linesIn(bytes);
    endByte += length;
    const batch = { bytes, firstLine, lineCount, endByte, isLast };
    firstLine += lineCount;
    return batch;
  };
  for await (const chunk of chunks) {
    held.push(chunk);
    heldBytes += chunk.length;
    heldLines += lineEndsIn(chunk);
    if (heldBytes < nextCutBytes && heldLines < BATCH_LINES) continue;
    const batch = cut(false);
    if (batch !== null) yield batch;
  }
  yield cut(true)!;
}

/** Returns where the last line begins that is not blank. */
function lastLineIn(bytes: Uint8Array): number {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1]! <= SPACE) end--;
  return end === 0 ? 0 : bytes.lastIndexOf(LINE_END, end - 1) + 1;
}

/** Counts lines, including a last one without a line break. */
export const linesIn = (bytes: Uint8Array): number =>
  lineEndsIn(bytes) + (bytes.length > 0 && bytes.at(-1) !== LINE_END ? 1 : 0);

function lineEndsIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, at + 1)) count++;
  return count;
}
