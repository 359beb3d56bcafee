/**
 * A map from finite numbers to numbers, 0 and up, that no keys make slow. V8's Map hashes numbers
 * by a function that everybody knows: 16,000 chosen integers take it 300 ms, and metadata and
 * filters are full of numbers that somebody chose.
 *
 * Open addressing with linear probing, by simple tabulation hashing (Zobrist 1970; that it suffices
 * for linear probing: Pătraşcu and Thorup, "The power of simple tabulation hashing", J. ACM 59,
 * 2012), the tables drawn anew by each thread.
 */
import { randomFillSync } from 'node:crypto';

const FIRST_CAPACITY = 16;

const DOUBLE = new Float64Array(1);
const BYTES = new Uint8Array(DOUBLE.buffer);
/** A table for each byte of a double. */
const TABLES = randomFillSync(new Uint32Array(8 * 256));

/** 32 bits that depend on the value in a way that nobody can foresee; the same of 0 and -0. */
export function hashOfNumber(value: number): number {
  DOUBLE[0] = value + 0;
  return (
    TABLES[BYTES[0]] ^
    TABLES[256 + BYTES[1]] ^
    TABLES[512 + BYTES[2]] ^
    TABLES[768 + BYTES[3]] ^
    TABLES[1024 + BYTES[4]] ^
    TABLES[1280 + BYTES[5]] ^
    TABLES[1536 + BYTES[6]] ^
    TABLES[1792 + BYTES[7]]
  );
}

export class NumberMap {
  #keys = new Float64Array(FIRST_CAPACITY);
  /** One more than the number of the key beside; 0 where there is no key. */
  #numbers = new Uint32Array(FIRST_CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: number): number | undefined {
    const found = this.#numbers[this.#placeOf(key)];
    return found === 0 ? undefined : found - 1;
  }

  set(key: number, number: number): void {
    let place = this.#placeOf(key);
    if (this.#numbers[place] === 0) {
      if ((this.#size + 1) * 2 > this.#keys.length) {
        this.#grow();
        place = this.#placeOf(key);
      }
      this.#keys[place] = key;
      this.#size++;
    }
    this.#numbers[place] = number + 1;
  }

  /** In no particular order. */
  *[Symbol.iterator](): Iterator<[number, number]> {
    for (let place = 0; place < this.#keys.length; place++) {
      if (this.#numbers[place] !== 0) yield [this.#keys[place], this.#numbers[place] - 1];
    }
  }

  /** Where the key is, or where it would go. */
  #placeOf(key: number): number {
    const mask = this.#keys.length - 1;
    let place = hashOfNumber(key) & mask;
    while (this.#numbers[place] !== 0 && this.#keys[place] !== key) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const [keys, numbers] = [this.#keys, this.#numbers];
    this.#keys = new Float64Array(keys.length * 2);
    this.#numbers = new Uint32Array(keys.length * 2);
    for (let from = 0; from < keys.length; from++) {
      if (numbers[from] === 0) continue;
      const place = this.#placeOf(keys[from]);
      this.#keys[place] = keys[from];
      this.#numbers[place] = numbers[from];
    }
  }
}
