/**
 * The records of a Merkle map in one flat Uint32Array: a hash table with linear probing whose cells
 * are in key order.
 *
 * Invariants: no record is before its home cell, and no free cell is between a record and its home.
 * Keys that share their first bits take time linear in their number. Growing or shrinking copies
 * the table; both copies exist meanwhile.
 * See docs/internals/search.md.
 */
import assert from 'node:assert/strict';
import { HASH_BYTES } from './sha256.ts';

/**
 * Words per cell: 8 of the key (big-endian, so that comparing words compares keys), 8 of the leaf
 * (raw bytes), and slot + 1 (0 if free).
 */
const CELL_WORDS = 17;
const LEAF_AT = 8;
const SLOT_AT = 16;
const KEY_WORDS = 8;

const SLOT_MAX = 0xffff_fffe;
const MAX_LOAD = 0.875;
const NEW_LOAD = 0.66;
const MIN_LOAD = 0.4;
const MIN_CAPACITY = 8;

const sought = new Uint32Array(KEY_WORDS);

export class CellTable {
  size = 0;
  /** Number of cells, occupied or free. */
  cells = 0;
  readonly #skipBits: number;
  #capacity = 0;
  #words = new Uint32Array(0);
  #bytes = Buffer.alloc(0);

  constructor(skipBits: number) {
    this.#skipBits = skipBits;
  }

  get byteLength(): number {
    return this.#words.byteLength;
  }

  /** Returns the cell of a key, or -1. */
  find(key: Uint8Array): number {
    return Math.max(this.#search(key), -1);
  }

  /** Adds or replaces a record. Returns the slot that the key had, or -1. */
  set(key: Uint8Array, leaf: Uint8Array, slot: number): number {
    assert(leaf.length === HASH_BYTES);
    assert(Number.isInteger(slot) && slot >= 0 && slot <= SLOT_MAX, 'a slot is a u32 below 2^32 - 1');
    let cell = this.#search(key);
    const previous = cell < 0 ? -1 : this.slotAt(cell);
    if (cell < 0) {
      if (this.size >= this.#capacity * MAX_LOAD) {
        this.#rebuild(roomFor(this.size + 1));
        cell = this.#search(key);
      }
      cell = this.#open(-1 - cell);
      this.#words.set(sought, cell * CELL_WORDS);
      this.size++;
    }
    this.#bytes.set(leaf, 4 * (cell * CELL_WORDS + LEAF_AT));
    this.#words[cell * CELL_WORDS + SLOT_AT] = slot + 1;
    return previous;
  }

  /** Removes a record. Returns the slot that the key had, or -1. */
  delete(key: Uint8Array): number {
    const cell = this.#search(key);
    if (cell < 0) return -1;
    const slot = this.slotAt(cell);
    let end = cell + 1;
    while (end < this.cells && this.isOccupied(end) && this.#home(this.prefixAt(end)) < end) end++;
    this.#words.copyWithin(cell * CELL_WORDS, (cell + 1) * CELL_WORDS, end * CELL_WORDS);
    this.#words.fill(0, (end - 1) * CELL_WORDS, end * CELL_WORDS);
    this.size--;
    const shrunk = this.size === 0 ? 0 : roomFor(this.size);
    if (this.size < this.#capacity * MIN_LOAD && shrunk < this.#capacity) this.#rebuild(shrunk);
    return slot;
  }

  /** Collects, in key order, the cells of keys that continue with `prefix` after `skipBits`. */
  collect(bits: number, prefix: number, into: number[]): void {
    into.length = 0;
    const span = 2 ** (32 - bits);
    const low = prefix * span;
    const high = low + span;
    const lastHome = this.#home(high - 1);
    for (let cell = this.#home(low); cell < this.cells; cell++) {
      if (!this.isOccupied(cell)) {
        if (cell >= lastHome) return;
        continue;
      }
      const found = this.prefixAt(cell);
      if (found >= high) return;
      if (found >= low) into.push(cell);
    }
  }

  isOccupied(cell: number): boolean {
    return this.#words[cell * CELL_WORDS + SLOT_AT] !== 0;
  }

  slotAt(cell: number): number {
    return this.#word(cell * CELL_WORDS + SLOT_AT) - 1;
  }

  /** The first 32 bits of the cell's key after `skipBits`. */
  prefixAt(cell: number): number {
    return this.#prefix(this.#words, cell * CELL_WORDS);
  }

  /** Bit `depth` of the cell's key, most significant first. */
  bitAt(cell: number, depth: number): number {
    return (this.#word(cell * CELL_WORDS + (depth >>> 5)) >>> (31 - (depth & 31))) & 1;
  }

  keyAt(cell: number): Buffer {
    const key = Buffer.alloc(HASH_BYTES);
    for (let word = 0; word < KEY_WORDS; word++) key.writeUInt32BE(this.#word(cell * CELL_WORDS + word), 4 * word);
    return key;
  }

  copyLeaf(cell: number, target: Buffer, offset: number): void {
    const from = 4 * (cell * CELL_WORDS + LEAF_AT);
    this.#bytes.copy(target, offset, from, from + HASH_BYTES);
  }

  leafAt(cell: number): Buffer {
    const leaf = Buffer.alloc(HASH_BYTES);
    this.copyLeaf(cell, leaf, 0);
    return leaf;
  }

  #word(at: number): number {
    return this.#words[at]!;
  }

  /** The first 32 bits after `skipBits` of the key at `words[at]`. */
  #prefix(words: Uint32Array, at: number): number {
    const skip = this.#skipBits;
    const first = words[at]!;
    return skip === 0 ? first : ((first << skip) | (words[at + 1]! >>> (32 - skip))) >>> 0;
  }

  #home(prefix: number): number {
    // Rounding of the product is monotone, so homes are in key order, which is all they need.
    return Math.floor((prefix * this.#capacity) / 2 ** 32);
  }

  /** Loads the key into `sought`. Returns its cell, or -1 - (the cell before which it belongs). */
  #search(key: Uint8Array): number {
    assert(key.length === HASH_BYTES);
    for (let word = 0, at = 0; word < KEY_WORDS; word++, at += 4) {
      sought[word] = (key[at]! << 24) | (key[at + 1]! << 16) | (key[at + 2]! << 8) | key[at + 3]!;
    }
    const words = this.#words;
    let cell = this.#home(this.#prefix(sought, 0));
    for (; cell < this.cells; cell++) {
      const at = cell * CELL_WORDS;
      if (words[at + SLOT_AT] === 0) break;
      let word = 0;
      while (word < KEY_WORDS && words[at + word] === sought[word]) word++;
      if (word === KEY_WORDS) return cell;
      if (words[at + word]! > sought[word]!) break;
    }
    return -1 - cell;
  }

  /** Frees `cell` by shifting the run that starts there by one cell; grows the table if needed. */
  #open(cell: number): number {
    let free = cell;
    while (free < this.cells && this.isOccupied(free)) free++;
    if (free === this.cells) {
      const words = this.#words;
      this.#allocate(this.cells + Math.max(spareFor(this.#capacity), this.cells - this.#capacity));
      this.#words.set(words);
    }
    this.#words.copyWithin((cell + 1) * CELL_WORDS, cell * CELL_WORDS, free * CELL_WORDS);
    return cell;
  }

  #allocate(cells: number): void {
    this.cells = cells;
    this.#words = new Uint32Array(cells * CELL_WORDS);
    this.#bytes = Buffer.from(this.#words.buffer);
  }

  #rebuild(capacity: number): void {
    const words = this.#words;
    const occupied = this.cells;
    this.#capacity = capacity;
    let end = 0;
    for (let from = 0; from < occupied * CELL_WORDS; from += CELL_WORDS) {
      if (words[from + SLOT_AT] !== 0) end = Math.max(end, this.#home(this.#prefix(words, from))) + 1;
    }
    this.#allocate(capacity === 0 ? 0 : Math.max(capacity, end) + spareFor(capacity));
    let next = 0;
    for (let from = 0; from < occupied * CELL_WORDS; from += CELL_WORDS) {
      if (words[from + SLOT_AT] === 0) continue;
      const cell = Math.max(next, this.#home(this.#prefix(words, from)));
      const to = cell * CELL_WORDS;
      for (let word = 0; word < CELL_WORDS; word++) this.#words[to + word] = words[from + word]!;
      next = cell + 1;
    }
  }
}

function roomFor(records: number): number {
  return Math.max(MIN_CAPACITY, Math.ceil(records / NEW_LOAD));
}

function spareFor(capacity: number): number {
  return Math.min(64, 4 + (capacity >>> 4));
}
