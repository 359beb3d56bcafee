import { compareUtf8 } from '../records/utf8-order.ts';
import type { Scalar } from './ast.ts';
import { ValueMap } from './value-map.ts';

export type ValueCount = [value: Scalar, count: number];

/** Estimates of what it takes to rank a value, and to compare a character with another value's. */
const OFFER_NS = 100;
const COMPARED_CHAR_NS = 0.5;
/** Estimates of what it takes to count a value, and each character of a string. */
const COUNT_NS = 300;
const HASHED_CHAR_NS = 3;

/** How often each value was counted, in the order in which they first were. */
export class ValueCounts {
  readonly #places = new ValueMap();
  readonly entries: ValueCount[] = [];

  /** Returns about how many nanoseconds that took. */
  add(value: Scalar, count: number): number {
    const place = this.#places.getOrSet(value, this.entries.length);
    if (place !== undefined) this.entries[place][1] += count;
    else this.entries.push([value, count]);
    return COUNT_NS + charsOf(value) * HASHED_CHAR_NS;
  }
}

/** The values with the highest counts of those that are offered, each once. */
export class TopValues {
  readonly #limit: number;
  readonly #best: ValueCount[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Highest count first; equal counts in the order of values. */
  get best(): readonly ValueCount[] {
    return this.#best;
  }

  /** Returns about how many nanoseconds that took. */
  offer(offered: ValueCount): number {
    const isFull = this.#best.length === this.#limit;
    let spentNs = OFFER_NS;
    const ranksBefore = (value: ValueCount, other: ValueCount): boolean => {
      if (value[1] !== other[1]) return value[1] > other[1];
      spentNs += Math.min(charsOf(value[0]), charsOf(other[0])) * COMPARED_CHAR_NS;
      return compareValues(value[0], other[0]) < 0;
    };
    if (isFull && !ranksBefore(offered, this.#best.at(-1)!)) return spentNs;
    let place = 0;
    for (let open = this.#best.length; place < open; ) {
      const middle = (place + open) >>> 1;
      if (ranksBefore(this.#best[middle], offered)) place = middle + 1;
      else open = middle;
    }
    this.#best.splice(place, 0, offered);
    if (isFull) this.#best.pop();
    return spentNs;
  }
}

const charsOf = (value: Scalar): number => (typeof value === 'string' ? value.length : 0);

/** Null, false, true, numbers, then strings by their UTF-8 bytes. */
function compareValues(left: Scalar, right: Scalar): number {
  if (typeof left === 'string' && typeof right === 'string') return compareUtf8(left, right);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return rankOf(left) - rankOf(right);
}

function rankOf(value: Scalar): number {
  if (typeof value === 'string') return 4;
  if (typeof value === 'number') return 3;
  return [null, false, true].indexOf(value as null | boolean);
}
