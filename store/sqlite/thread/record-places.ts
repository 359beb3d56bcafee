/**
 * Row ids of records. A place is the shard's number and an offset, so that each shard has its own
 * range.
 */
import { damagedFile } from '../store-failure.ts';
import type { Database } from './database.ts';

/** 2^31 shards, with 2^32 places each. */
const PLACE_BITS = 32n;
const PLACES = 2 ** 32;
export const NUMBER_MAX = 2 ** 31 - 1;

/** Returns the first and last place of a shard; an empty range for an invalid number. */
export function placeRange(number: number): [first: bigint, last: bigint] {
  if (!isNumber(number)) return [1n, 0n];
  const first = BigInt(number) << PLACE_BITS;
  return [first, first + BigInt(PLACES - 1)];
}

/**
 * Allocates free places of a shard, as offsets into its range: first those after its last row,
 * then, if a row has the last place, those in the gap before it, and so on. Looks only at the rows
 * themselves, because a stored counter may have been changed.
 */
export class FreePlaces {
  readonly #database: Database;
  readonly #number: number;
  readonly #range: [first: bigint, last: bigint];
  /** Start of the gap being filled. */
  #from = 0;
  #next = 0;
  #end = 0;

  /** Throws StoreError 'damaged' if no shard can have this number. */
  constructor(database: Database, number: number) {
    if (!isNumber(number))
      throw damagedFile(database.name, `gives a shard the number ${number}, which is out of range`);
    this.#database = database;
    this.#number = number;
    this.#range = placeRange(number);
    this.#seek(PLACES);
  }

  /** Offset after the last place taken. */
  get next(): number {
    return this.#next;
  }

  /** Throws StoreError 'damaged' if there is no place left. */
  take(): bigint {
    while (this.#next === this.#end) {
      if (this.#from === 0)
        throw damagedFile(this.#database.name, `has no free row ids left for records of the shard ${this.#number}`);
      this.#seek(this.#from - 1);
    }
    return this.#range[0] + BigInt(this.#next++);
  }

  /** Selects the gap between the last row before `end` and `end`, which may be empty. */
  #seek(end: number): void {
    const [first] = this.#range;
    const sql = 'SELECT COALESCE(MAX(place) - ? + 1, 0) AS place FROM records WHERE place BETWEEN ? AND ?';
    const { place } = this.#database.getOne<{ place: number }>(sql, first, first, first + BigInt(end - 1));
    this.#from = place;
    this.#next = place;
    this.#end = end;
  }
}

function isNumber(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= NUMBER_MAX;
}
