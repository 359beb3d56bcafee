/**
 * One metadata field of all slots, by what conditions ask: a bitmap for presence and for each of
 * null, false and true; numbers in a Float64Array, which ranges are read off; strings and the
 * elements of lists by value, which equality is.
 */
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { fieldReader } from '../../../../lib/filter/field.ts';
import { Bitmap, countBits } from '../bitmap.ts';
import { Postings } from './postings.ts';

/** Estimate of what a column costs beside what it holds. */
const COLUMN_BYTES = 4608;
/** Estimates of what setting a value takes, and each element of a list. */
const SET_NS = 100;
const ELEMENT_NS = 100;

export class Column {
  readonly present = new Bitmap();
  readonly lists = new Bitmap();
  readonly numeric = new Bitmap();
  /** Of null, false and true, where they are not in a list. */
  readonly literals = new Map<Scalar, Bitmap>([null, false, true].map((value) => [value, new Bitmap()]));
  /** Strings, and the scalars in lists. */
  readonly postings = new Postings();
  /** The slots below are in the column: Infinity once it has been built. */
  filledTo = 0;
  readonly #bitmaps = [this.present, this.lists, this.numeric, ...this.literals.values()];
  readonly #field: string;
  readonly #read: (metadata: Record<string, unknown>) => unknown;
  #numbers = new Float64Array(0);

  constructor(field: string) {
    this.#field = field;
    this.#read = fieldReader(field);
  }

  /** By slot, of those that are numeric; a multiple of 32 of them, and replaced when it grows. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  get bytes(): number {
    let bytes = COLUMN_BYTES + this.#field.length * 2 + this.#numbers.byteLength + this.postings.bytes;
    for (const bitmap of this.#bitmaps) bytes += bitmap.bytes;
    return bytes;
  }

  /** About how many slots hold a value that is no number. */
  count(value: Scalar): number {
    const literal = this.literals.get(value);
    return this.postings.count(this.postings.codeOf(value)) + (literal ? countBits(literal.words) : 0);
  }

  /**
   * Takes in what the field holds in a slot's metadata, where nothing is known of the slot so far;
   * returns about how many nanoseconds that took.
   */
  fill(slot: number, metadata: Record<string, unknown>): number {
    const value = this.#read(metadata);
    if (value === undefined) return SET_NS;
    this.present.add(slot);
    if (Array.isArray(value)) {
      this.lists.add(slot);
      for (const element of value) if (isScalar(element)) this.postings.add(slot, element);
      return SET_NS + value.length * ELEMENT_NS;
    }
    if (typeof value === 'number') this.#setNumber(slot, value);
    else if (typeof value === 'string') this.postings.add(slot, value);
    else this.literals.get(value as Scalar)?.add(slot);
    return SET_NS;
  }

  clear(slot: number): void {
    if (!this.present.has(slot)) return;
    for (const bitmap of this.#bitmaps) bitmap.delete(slot);
    this.postings.clear(slot);
  }

  #setNumber(slot: number, value: number): void {
    const { length } = this.#numbers;
    if (slot >= length) {
      const longer = new Float64Array(32 * Math.ceil(Math.max(slot + 1, length * 1.5) / 32));
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    this.#numbers[slot] = value;
    this.numeric.add(slot);
  }
}

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value !== 'object';
}
