import { itemAt } from '../checked-access.ts';
import { compareUtf8 } from '../records/utf8-order.ts';
import type { Scalar } from './ast.ts';
import { ValueMap } from './value-map.ts';

export type ValueCount = [value: Scalar, count: number];

/** Estimated time to rank a value, and to compare one character of two strings. */
const OFFER_NS = 100;
const COMPARED_CHAR_NS = 0.5;
/** Estimated time to count a value, and to hash one character of a string. */
const COUNT_NS = 300;
const HASHED_CHAR_NS = 3;

/** How often each value was counted, in order of first appearance. */
export class ValueCounts {
  readonly #places = new ValueMap();
  readonly entries: ValueCount[] = [];

  /** Returns the estimated time spent, in nanoseconds. */
  add(value: Scalar, count: number): number {
    const place = this.#places.getOrSet(value, this.entries.length);
    if (place !== undefined) itemAt(this.entries, place)[1] += count;
    else this.entries.push([value, count]);
    return COUNT_NS + charsOf(value) * HASHED_CHAR_NS;
  }
}

/** Keeps the values with the highest counts. Each value is offered at most once. */
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

  /** Returns the estimated time spent, in nanoseconds. */
  offer(offered: ValueCount): number {
    const isFull = this.#best.length === this.#limit;
    let spentNs = OFFER_NS;
    const ranksBefore = (value: ValueCount, other: ValueCount): boolean => {
      if (value[1] !== other[1]) return value[1] > other[1];
      spentNs += Math.min(charsOf(value[0]), charsOf(other[0])) * COMPARED_CHAR_NS;
      return compareValues(value[0], other[0]) < 0;
    };
    const last = this.#best.at(-1);
    if (isFull && last !== undefined && !ranksBefore(offered, last)) return spentNs;
    let place = 0;
    for (let open = this.#best.length; place < open; ) {
      const middle = (place + open) >>> 1;
      if (ranksBefore(itemAt(this.#best, middle), offered)) place = middle + 1;
      else open = middle;
    }
    this.#best.splice(place, 0, offered);
    if (isFull) this.#best.pop();
    return spentNs;
  }
}

const charsOf = (value: Scalar): number => (typeof value === 'string' ? value.length : 0);

/** Orders null, false, true, numbers, then strings by their UTF-8 bytes. */
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
