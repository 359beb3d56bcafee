import { bytesToHex } from '@noble/hashes/utils.js';
import { bitOf, innerHashOf } from './content-hash.ts';

const HASH_BYTES = 32;
const ENTRY_BYTES = 2 * HASH_BYTES;
/** Entries per block: blocks are allocated as needed, and never copied. */
const BLOCK_ENTRIES = 4_096;
const FIRST_SLOTS = 1_024;
const EMPTY_SLOT = 0;

/**
 * Set of records by their hashes: the hash of the key, and the leaf (docs/format.md). Takes about
 * 80 bytes per record.
 */
export class LeafTable {
  readonly #blocks: Uint8Array[] = [];
  /** Hash table of entries by key: an entry's number plus 1, or EMPTY_SLOT. */
  #slots = new Uint32Array(FIRST_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a record. Returns false, and changes nothing, if the table has its key. */
  add(key: Uint8Array, leaf: Uint8Array): boolean {
    if (2 * this.#size >= this.#slots.length) this.#grow();
    const slot = this.#slotOf(key);
    if (this.#slots[slot] !== EMPTY_SLOT) return false;
    const number = this.#size++;
    this.#slots[slot] = number + 1;
    if (number % BLOCK_ENTRIES === 0) this.#blocks.push(new Uint8Array(BLOCK_ENTRIES * ENTRY_BYTES));
    this.#entry(number).set(key);
    this.#entry(number).set(leaf, HASH_BYTES);
    return true;
  }

  /** Adds the records of another table that this one does not have. */
  addAll(other: LeafTable): void {
    for (let number = 0; number < other.#size; number++)
      this.add(other.#entry(number).subarray(0, HASH_BYTES), other.leafAt(number));
  }

  /** Returns the number of the record with this key, in the order of `add`; -1 if there is none. */
  numberOf(key: Uint8Array): number {
    return this.#slots[this.#slotOf(key)]! - 1;
  }

  leafAt(number: number): Uint8Array {
    return this.#entry(number).subarray(HASH_BYTES);
  }

  /** Returns the root of a collection with exactly these records: 64 hex digits, format PV1. */
  root(): string {
    const order = Uint32Array.from({ length: this.#size }, (_, number) => number);
    return bytesToHex(this.#subtree(order, 0));
  }

  /** Returns the hash of some records with the same first `depth` bits. Reorders `numbers`. */
  #subtree(numbers: Uint32Array, depth: number): Uint8Array {
    if (numbers.length === 0) return new Uint8Array(HASH_BYTES);
    if (numbers.length === 1) return this.leafAt(numbers[0]!);
    let zeros = 0;
    for (let at = 0; at < numbers.length; at++) {
      const number = numbers[at]!;
      if (bitOf(this.#entry(number), depth) === 1) continue;
      numbers[at] = numbers[zeros]!;
      numbers[zeros++] = number;
    }
    return innerHashOf(
      this.#subtree(numbers.subarray(0, zeros), depth + 1),
      this.#subtree(numbers.subarray(zeros), depth + 1),
    );
  }

  #entry(number: number): Uint8Array {
    const at = (number % BLOCK_ENTRIES) * ENTRY_BYTES;
    return this.#blocks[Math.floor(number / BLOCK_ENTRIES)]!.subarray(at, at + ENTRY_BYTES);
  }

  /** Returns the slot of the key, or the free slot where it belongs. Keys are SHA-256 hashes. */
  #slotOf(key: Uint8Array): number {
    const mask = this.#slots.length - 1;
    const [a = 0, b = 0, c = 0, d = 0] = key;
    for (let slot = ((a << 24) | (b << 16) | (c << 8) | d) & mask; ; slot = (slot + 1) & mask) {
      const held = this.#slots[slot]!;
      if (held === EMPTY_SLOT) return slot;
      if (isSameHash(this.#entry(held - 1), key)) return slot;
    }
  }

  #grow(): void {
    this.#slots = new Uint32Array(2 * this.#slots.length);
    for (let number = 0; number < this.#size; number++) {
      const slot = this.#slotOf(this.#entry(number).subarray(0, HASH_BYTES));
      this.#slots[slot] = number + 1;
    }
  }
}

/** Compares the first bytes of two arrays, which are hashes. */
function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  for (let at = 0; at < HASH_BYTES; at++) if (a[at] !== b[at]) return false;
  return true;
}
