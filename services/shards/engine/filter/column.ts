/**
 * One metadata field across all slots, stored by the kind of condition: a bitmap each for presence,
 * null, false and true; a Float64Array of numbers for ranges; postings of strings and list elements
 * for equality.
 */
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { fieldReader } from '../../../../lib/filter/field.ts';
import { Bitmap, countBits } from '../bitmap.ts';
import { Postings } from './postings.ts';

/** Estimated fixed cost of a column. */
const COLUMN_BYTES = 4608;
/** Estimated costs of setting a value, and each element of a list. */
const SET_NS = 100;
const ELEMENT_NS = 100;

export class FieldColumn {
  readonly present = new Bitmap();
  readonly lists = new Bitmap();
  readonly numeric = new Bitmap();
  /** SlotView whose value is null, false or true, outside lists. */
  readonly literals = new Map<Scalar, Bitmap>([null, false, true].map((value) => [value, new Bitmap()]));
  /** Strings, and the scalars in lists. */
  readonly postings = new Postings();
  /** The column covers the slots below this one. Infinity once it is complete. */
  filledTo = 0;
  readonly #bitmaps = [this.present, this.lists, this.numeric, ...this.literals.values()];
  readonly #field: string;
  readonly #read: (metadata: Record<string, unknown>) => unknown;
  #numbers = new Float64Array(0);

  constructor(field: string) {
    this.#field = field;
    this.#read = fieldReader(field);
  }

  /**
   * Numbers by slot, valid for numeric slots. Its length is a multiple of 32; replaced when it
   * grows.
   */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  get bytes(): number {
    let bytes = COLUMN_BYTES + this.#field.length * 2 + this.#numbers.byteLength + this.postings.bytes;
    for (const bitmap of this.#bitmaps) bytes += bitmap.bytes;
    return bytes;
  }

  /** Returns roughly how many slots hold a value that is not a number. */
  count(value: Scalar): number {
    const literal = this.literals.get(value);
    return this.postings.count(this.postings.codeOf(value)) + (literal ? countBits(literal.words) : 0);
  }

  /**
   * Adds the field's value in a slot's metadata; the slot must be empty. Returns the estimated cost
   * in ns.
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
