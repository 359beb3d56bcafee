import { InputError } from '../../client/cli/json-file.ts';
import { countedRecords, recordsWere } from '../output/counted.ts';
import { objectInLine } from './json-line.ts';
import { type LineBatch, linesIn } from './line-batches.ts';

const LINE_END = 0x0a;
/** A byte order mark, then blank lines. */
const BLANK = /^\ufeff?\s*/;
const HEAD = /^\{\s*"export"\s*:/;
const END = /^\{\s*"end"\s*:/;

/**
 * The first and the last line of an export. The service accepts them only around all records, but
 * the command sends a file in parts, so it takes them off and checks what the service would check.
 */
export class ExportFrame {
  readonly #source: string;
  #hasHead: boolean;
  #endCount: number | null = null;

  /** `hasHead`: whether an earlier run of a resumed import found the first line. */
  constructor(source: string, hasHead = false) {
    this.#source = source;
    this.#hasHead = hasHead;
  }

  get hasHead(): boolean {
    return this.#hasHead;
  }

  /**
   * Takes the lines off a batch. `head` is an export of no records with the same first line: if the
   * service accepts it, the collection has the right dimensions and metric. `linesBefore`: lines of
   * the file before the records.
   */
  takenOff(batch: LineBatch): { records: Uint8Array; head: string | null; linesBefore: number } {
    const first = firstLineOf(batch.bytes);
    const isHead = HEAD.test(first.text);
    if (isHead && batch.firstLine > 1)
      throw new InputError(`${this.#source} has a second export in its middle. Import each by itself.`);
    const begin = isHead ? first.end : 0;
    this.#hasHead ||= isHead;
    const end = this.#hasHead && batch.isLast ? this.#endOf(batch.bytes) : batch.bytes.length;
    return {
      records: batch.bytes.subarray(begin, Math.max(begin, end)),
      linesBefore: batch.firstLine - 1 + linesIn(batch.bytes.subarray(0, begin)),
      head: isHead ? `${first.text}\n${JSON.stringify({ end: { count: 0, merkleRoot: rootIn(first.text) } })}\n` : null,
    };
  }

  /** Throws if the export has no last line, or another number of records than it states. */
  assertWhole(records: number): void {
    if (!this.#hasHead || this.#endCount === records) return;
    const stored = `${recordsWere(records)} stored.`;
    if (this.#endCount === null)
      throw new InputError(`${this.#source} is an export that was cut off: it has no last line. ${stored}`);
    throw new InputError(
      `${this.#source} should have ${countedRecords(this.#endCount)}, as its last line says. ${stored}`,
    );
  }

  /** Returns where the last line begins, if it ends an export; else the length. */
  #endOf(bytes: Uint8Array): number {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let length = text.length;
    while (length > 0 && text[length - 1]! <= 0x20) length--;
    const begin = text.subarray(0, length).lastIndexOf(LINE_END) + 1;
    const line = text.toString('utf8', begin, length);
    if (!END.test(line)) return bytes.length;
    const { end } = (objectInLine(line) ?? {}) as { end?: { count?: unknown } };
    if (typeof end?.count === 'number') this.#endCount = end.count;
    return begin;
  }
}

function firstLineOf(bytes: Uint8Array): { text: string; end: number } {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blank = BLANK.exec(text.toString('utf8', 0, 4096))?.[0] ?? '';
  const begin = Buffer.byteLength(blank);
  const lineEnd = text.indexOf(LINE_END, begin);
  const end = lineEnd < 0 ? text.length : lineEnd + 1;
  return { text: text.toString('utf8', begin, Math.min(end, begin + 4096)).trimEnd(), end };
}

function rootIn(head: string): unknown {
  const { export: content } = (objectInLine(head) ?? {}) as { export?: { merkleRoot?: unknown } };
  return content?.merkleRoot;
}
