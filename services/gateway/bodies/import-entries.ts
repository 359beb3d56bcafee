/**
 * Splits a stream of newline-delimited JSON into entries: groups of lines that are decoded and
 * written together. Holds at most one entry and one line, copied out of their chunks, so small
 * chunks cost no more than their bytes. Skips blank lines and a leading byte order mark. Throws
 * INVALID_ARGUMENT for a line longer than the longest possible record.
 */
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import { GrowingBytes } from './growing-bytes.ts';

const LINE_MAX_BYTES = INTERNAL_LIMITS.importLineMaxBytes;
const ENTRY_MAX_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;
const BOM = Buffer.from('\ufeff');
const OPENING = Buffer.from('{"lines":[');
const SEPARATOR = Buffer.from(',');
const CLOSING = Buffer.from(']}');

export interface ImportEntry {
  /** `{"lines": [...]}` in a buffer of its own, which may be transferred. */
  bytes: Uint8Array<ArrayBuffer>;
  lines: readonly Buffer[];
  /** Line number in the stream of each of `lines`, from 1. */
  numbers: readonly number[];
}

/** Yields entries of at most `linesMax` lines. Calls `held` with the number of bytes in memory. */
export async function* importEntries(
  chunks: AsyncIterable<Buffer>,
  linesMax: number,
  held: (bytes: number) => void,
): AsyncIterable<ImportEntry> {
  const cutter = new LineSplitter();
  let entry = new EntryBuilder(linesMax);
  const tell = (): void => held(entry.bytes * 2 + cutter.bytes);
  for await (const chunk of chunks) {
    for (const line of cutter.linesOf(chunk)) {
      entry.add(line, cutter.number);
      if (entry.size < linesMax && entry.bytes < ENTRY_MAX_BYTES) continue;
      tell();
      yield entry.closed();
      entry = new EntryBuilder(linesMax);
    }
    tell();
  }
  for (const line of cutter.rest()) entry.add(line, cutter.number);
  tell();
  if (entry.size > 0) yield entry.closed();
}

class EntryBuilder {
  readonly #text: GrowingBytes;
  /** Start and end of each line in the text. */
  readonly #places: [number, number][] = [];
  readonly #numbers: number[] = [];
  bytes = 0;

  constructor(linesMax: number) {
    this.#text = new GrowingBytes(ENTRY_MAX_BYTES + LINE_MAX_BYTES + linesMax + OPENING.length + CLOSING.length);
  }

  get size(): number {
    return this.#places.length;
  }

  add(line: Uint8Array, number: number): void {
    this.#text.add(this.size === 0 ? OPENING : SEPARATOR);
    const from = this.#text.length;
    this.#text.add(line);
    this.#places.push([from, from + line.byteLength]);
    this.#numbers.push(number);
    this.bytes += line.byteLength;
  }

  closed(): ImportEntry {
    this.#text.add(CLOSING);
    const { bytes } = this.#text;
    const own = Buffer.from(bytes.buffer);
    return { bytes: bytes.slice(), lines: this.#places.map((place) => own.subarray(...place)), numbers: this.#numbers };
  }
}

class LineSplitter {
  /** Number of the line returned last. */
  number = 0;
  /** Start of the line whose end has not arrived yet. */
  readonly #begun = new GrowingBytes(LINE_MAX_BYTES);

  get bytes(): number {
    return this.#begun.length;
  }

  /** Yields the lines that end in the chunk, without blank ones, each valid until the next. */
  *linesOf(chunk: Buffer): Iterable<Uint8Array> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      yield* this.rest();
    }
    this.#keep(chunk.subarray(from));
  }

  /** Yields the unfinished line, unless it is blank. */
  *rest(): Iterable<Uint8Array> {
    const whole = this.#begun.bytes;
    this.#begun.clear();
    this.number++;
    const line = this.number === 1 && BOM.equals(whole.subarray(0, BOM.length)) ? whole.subarray(BOM.length) : whole;
    if (!isBlank(line)) yield line;
  }

  #keep(part: Buffer): void {
    if (!this.#begun.add(part))
      throw invalidValue(`line ${this.number + 1}`, `at most ${LINE_MAX_BYTES} bytes long`, 'longer');
  }
}

function isBlank(line: Uint8Array): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
