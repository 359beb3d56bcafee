/**
 * Where a shard's records lie: a place is the shard's number and a count within it, so that each
 * shard has a range of its own.
 */
import { damagedFile } from '../store-failure.ts';
import type { Database } from './database.ts';

/** 2^31 shards with 2^32 new records each. */
const PLACE_BITS = 32n;
const PLACES = 2 ** 32;
export const NUMBER_MAX = 2 ** 31 - 1;

/** First and last place of a shard; of a number that none can have, a range without a place. */
export function rangeOf(number: number): [first: bigint, last: bigint] {
  if (!isNumber(number)) return [1n, 0n];
  const first = BigInt(number) << PLACE_BITS;
  return [first, first + BigInt(PLACES - 1)];
}

/**
 * Places of a shard that no row has, counted from the first: those past its last row; where
 * somebody put a row at the very end, those in the gap before it, and so on. By the rows
 * themselves: what stands beside them may have been changed.
 */
export class FreePlaces {
  readonly #database: Database;
  readonly #number: number;
  readonly #range: [first: bigint, last: bigint];
  /** The gap that is being filled begins here. */
  #from = 0;
  #next = 0;
  #end = 0;

  /** Throws StoreError 'damaged' for a number that no shard can have. */
  constructor(database: Database, number: number) {
    if (!isNumber(number)) throw damagedFile(database.name, `gives a shard the number ${number}, which none can have`);
    this.#database = database;
    this.#number = number;
    this.#range = rangeOf(number);
    this.#seek(PLACES);
  }

  /** Past the one that was taken last. */
  get next(): number {
    return this.#next;
  }

  /** Throws StoreError 'damaged' when there is none left. */
  take(): bigint {
    while (this.#next === this.#end) {
      if (this.#from === 0)
        throw damagedFile(this.#database.name, `has no place left for records of the shard ${this.#number}`);
      this.#seek(this.#from - 1);
    }
    return this.#range[0] + BigInt(this.#next++);
  }

  /** Goes to the places between the last row before `end` and `end`: none where one lies there. */
  #seek(end: number): void {
    const [first] = this.#range;
    const sql = 'SELECT COALESCE(MAX(place) - ? + 1, 0) AS place FROM records WHERE place BETWEEN ? AND ?';
    const { place } = this.#database.get<{ place: number }>(sql, first, first, first + BigInt(end - 1))!;
    this.#from = place;
    this.#next = place;
    this.#end = end;
  }
}

function isNumber(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= NUMBER_MAX;
}
