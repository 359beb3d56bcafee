/**
 * Cuts newline-delimited JSON, as it comes, into entries of lines that are decoded and written
 * together. Holds one entry and one line at most. Blank lines are passed over, and a byte order
 * mark before the first. Throws INVALID_ARGUMENT for a line that is longer than any record.
 */
import { invalid } from '../../../lib/records/fields.ts';

const LINE_MAX_BYTES = 2 * 1024 * 1024;
const ENTRY_MAX_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;
const BOM = Buffer.from('\ufeff');
const [OPENING, SEPARATOR, CLOSING] = ['{"lines":[', ',', ']}'].map((text) => Buffer.from(text));

export interface ImportEntry {
  /** `{"lines": [...]}`, nobody else's. */
  bytes: Uint8Array<ArrayBuffer>;
  lines: readonly Buffer[];
  /** Of each of the lines, from 1 on. */
  numbers: readonly number[];
}

/** Entries of at most `linesMax` lines. `held` is told how many bytes are kept. */
export async function* importEntries(
  chunks: AsyncIterable<Buffer>,
  linesMax: number,
  held: (bytes: number) => void,
): AsyncIterable<ImportEntry> {
  const cutter = new LineCutter();
  let entry = new OpenEntry();
  const tell = (): void => held(entry.bytes * 2 + cutter.bytes);
  for await (const chunk of chunks) {
    for (const line of cutter.linesOf(chunk)) {
      entry.add(line, cutter.number);
      if (entry.size < linesMax && entry.bytes < ENTRY_MAX_BYTES) continue;
      tell();
      yield entry.closed();
      entry = new OpenEntry();
    }
    tell();
  }
  for (const line of cutter.rest()) entry.add(line, cutter.number);
  tell();
  if (entry.size > 0) yield entry.closed();
}

class OpenEntry {
  readonly #lines: Buffer[] = [];
  readonly #numbers: number[] = [];
  bytes = 0;

  get size(): number {
    return this.#lines.length;
  }

  add(line: Buffer, number: number): void {
    this.#lines.push(line);
    this.#numbers.push(number);
    this.bytes += line.byteLength;
  }

  closed(): ImportEntry {
    const parts = this.#lines.flatMap((line, at) => (at === 0 ? [line] : [SEPARATOR, line]));
    const whole = [OPENING, ...parts, CLOSING];
    const bytes = new Uint8Array(whole.reduce((sum, { byteLength }) => sum + byteLength, 0));
    let at = 0;
    for (const part of whole) {
      bytes.set(part, at);
      at += part.byteLength;
    }
    return { bytes, lines: this.#lines, numbers: this.#numbers };
  }
}

class LineCutter {
  /** Of the line that was given last. */
  number = 0;
  #begun: Buffer[] = [];
  bytes = 0;

  /** The lines that end in the chunk, but blank ones. */
  *linesOf(chunk: Buffer): Iterable<Buffer> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      yield* this.rest();
    }
    this.#keep(chunk.subarray(from));
  }

  /** What has come of a line that has no end yet, unless it is blank. */
  *rest(): Iterable<Buffer> {
    const whole = this.#begun.length === 1 ? this.#begun[0] : Buffer.concat(this.#begun);
    this.#begun = [];
    this.bytes = 0;
    this.number++;
    const line = this.number === 1 && whole.subarray(0, BOM.length).equals(BOM) ? whole.subarray(BOM.length) : whole;
    if (!isBlank(line)) yield line;
  }

  #keep(part: Buffer): void {
    this.#begun.push(part);
    this.bytes += part.byteLength;
    if (this.bytes > LINE_MAX_BYTES)
      throw invalid(`line ${this.number + 1}`, `at most ${LINE_MAX_BYTES} bytes long`, 'longer');
  }
}

function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
