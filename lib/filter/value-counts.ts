import { compareUtf8 } from '../records/utf8-order.ts';
import type { Scalar } from './ast.ts';
import { ValueMap } from './value-map.ts';

export type ValueCount = [value: Scalar, count: number];

/** How often each value was counted, in the order in which they first were. */
export class ValueCounts {
  readonly #places = new ValueMap();
  readonly entries: ValueCount[] = [];

  add(value: Scalar, count: number): void {
    const place = this.#places.get(value);
    if (place !== undefined) this.entries[place][1] += count;
    else {
      this.#places.set(value, this.entries.length);
      this.entries.push([value, count]);
    }
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

  offer(offered: ValueCount): void {
    const isFull = this.#best.length === this.#limit;
    if (isFull && !ranksBefore(offered, this.#best.at(-1)!)) return;
    let place = 0;
    for (let open = this.#best.length; place < open; ) {
      const middle = (place + open) >>> 1;
      if (ranksBefore(this.#best[middle], offered)) place = middle + 1;
      else open = middle;
    }
    this.#best.splice(place, 0, offered);
    if (isFull) this.#best.pop();
  }
}

function ranksBefore([value, count]: ValueCount, [otherValue, otherCount]: ValueCount): boolean {
  return count === otherCount ? compareValues(value, otherValue) < 0 : count > otherCount;
}

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
