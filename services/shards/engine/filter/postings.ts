/**
 * Tracks which slots hold which values, as a doubly linked list of occurrences per value. Finding a
 * value's slots and removing a slot's values cost no more than their number. A slot may hold
 * several values, and one value several times.
 *
 * Values have codes, starting at 1. Freed codes and occurrences are reused.
 */
import { uint32At } from '../../../../lib/checked-access.ts';
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { ValueMap } from '../../../../lib/filter/value-map.ts';
import { setBit } from '../bitmap.ts';

/** Neither a code nor an occurrence. */
const NONE = 0;
/** Estimated size of a value besides its characters and the entries by code. */
const VALUE_BYTES = 80;
/** Maximum number of free occurrences that do not cause a rebuild. */
const SPARE = 16 * 1024;

export class Postings {
  readonly #codes = new ValueMap();
  /** Values by code, undefined for a free code. The next two arrays are also by code. */
  readonly #values: (Scalar | undefined)[] = [undefined];
  #first = new Uint32Array(0);
  #counts = new Uint32Array(0);
  readonly #freeCodes: number[] = [];
  #valueBytes = 0;
  /** First occurrence by slot. */
  #firstIn = new Uint32Array(0);
  /**
   * By occurrence: its slot, its code and its neighbours. Free occurrences form a list through
   * `#next`.
   */
  #slot = new Uint32Array(0);
  #code = new Uint32Array(0);
  #next = new Uint32Array(0);
  #previous = new Uint32Array(0);
  #nextInSlot = new Uint32Array(0);
  #end = 1;
  #free = NONE;
  #live = 0;

  get bytes(): number {
    const byOccurrence = 5 * this.#slot.byteLength;
    const byCode = 2 * this.#first.byteLength + (this.#values.length + this.#freeCodes.length) * 8;
    return byOccurrence + byCode + this.#firstIn.byteLength + this.#valueBytes;
  }

  /** Whether free occurrences take more memory than used ones, so that a rebuild pays off. */
  get bloated(): boolean {
    return this.#end > 2 * this.#live + SPARE;
  }

  /** One more than the highest code. */
  get codes(): number {
    return this.#values.length;
  }

  codeOf(value: Scalar): number | undefined {
    return this.#codes.get(value);
  }

  valueOf(code: number): Scalar | undefined {
    return this.#values[code];
  }

  /** Number of occurrences of a code, or 0 for `undefined`. */
  count(code: number | undefined): number {
    return code === undefined ? 0 : uint32At(this.#counts, code);
  }

  add(slot: number, value: Scalar): void {
    const code = this.#codes.get(value) ?? this.#newCode(value);
    const next = uint32At(this.#first, code);
    const occurrence = this.#take();
    this.#firstIn = withRoom(this.#firstIn, slot);
    this.#slot[occurrence] = slot;
    this.#code[occurrence] = code;
    this.#next[occurrence] = next;
    this.#previous[occurrence] = NONE;
    this.#nextInSlot[occurrence] = uint32At(this.#firstIn, slot);
    this.#firstIn[slot] = occurrence;
    this.#first[code] = occurrence;
    if (next !== NONE) this.#previous[next] = occurrence;
    this.#counts[code] = this.count(code) + 1;
  }

  /** Removes all values of a slot. */
  clear(slot: number): void {
    if (slot >= this.#firstIn.length) return;
    for (let occurrence = uint32At(this.#firstIn, slot); occurrence !== NONE; ) {
      const following = uint32At(this.#nextInSlot, occurrence);
      this.#remove(occurrence);
      occurrence = following;
    }
    this.#firstIn[slot] = NONE;
  }

  /**
   * Adds one to `counts` for each distinct code in a slot. Returns the slot's number of
   * occurrences.
   */
  countIn(slot: number, counts: Uint32Array): number {
    const codes: number[] = [];
    for (let at = this.#firstIn[slot] ?? NONE; at !== NONE; at = uint32At(this.#nextInSlot, at))
      codes.push(uint32At(this.#code, at));
    for (const code of codes.length > 1 ? new Set(codes) : codes) counts[code] = uint32At(counts, code) + 1;
    return codes.length;
  }

  /** Returns a code's first occurrence, or 0 if it has none. */
  first(code: number): number {
    return uint32At(this.#first, code);
  }

  /**
   * Sets the bits of the slots of up to `most` occurrences, starting at `from`. Returns the
   * occurrence to continue from, or 0 at the end.
   */
  mark(words: Uint32Array, from: number, most: number): number {
    const [slots, next] = [this.#slot, this.#next];
    let occurrence = from;
    for (let left = most; occurrence !== NONE && left > 0; left--) {
      const slot = uint32At(slots, occurrence);
      setBit(words, slot);
      occurrence = uint32At(next, occurrence);
    }
    return occurrence;
  }

  #newCode(value: Scalar): number {
    const code = this.#freeCodes.pop() ?? this.#values.length;
    this.#values[code] = value;
    this.#codes.set(value, code);
    this.#first = withRoom(this.#first, code);
    this.#counts = withRoom(this.#counts, code);
    this.#valueBytes += bytesOf(value);
    return code;
  }

  #remove(occurrence: number): void {
    const code = uint32At(this.#code, occurrence);
    const previous = uint32At(this.#previous, occurrence);
    const next = uint32At(this.#next, occurrence);
    if (previous === NONE) this.#first[code] = next;
    else this.#next[previous] = next;
    if (next !== NONE) this.#previous[next] = previous;
    this.#next[occurrence] = this.#free;
    this.#free = occurrence;
    this.#live--;
    const left = this.count(code) - 1;
    this.#counts[code] = left;
    if (left === 0) this.#freeCode(code);
  }

  #freeCode(code: number): void {
    const value = this.#values[code];
    if (value === undefined) throw new Error('A code is freed that no value has.');
    this.#codes.delete(value);
    this.#values[code] = undefined;
    this.#freeCodes.push(code);
    this.#valueBytes -= bytesOf(value);
  }

  /** Allocates an occurrence. */
  #take(): number {
    this.#live++;
    const free = this.#free;
    if (free !== NONE) {
      this.#free = uint32At(this.#next, free);
      return free;
    }
    const occurrence = this.#end++;
    this.#slot = withRoom(this.#slot, occurrence);
    this.#code = withRoom(this.#code, occurrence);
    this.#next = withRoom(this.#next, occurrence);
    this.#previous = withRoom(this.#previous, occurrence);
    this.#nextInSlot = withRoom(this.#nextInSlot, occurrence);
    return occurrence;
  }
}

function bytesOf(value: Scalar): number {
  return VALUE_BYTES + (typeof value === 'string' ? value.length : 0);
}

/** Returns `array`, or a longer copy of it, so that index `i` exists. */
function withRoom(array: Uint32Array<ArrayBuffer>, i: number): Uint32Array<ArrayBuffer> {
  if (i < array.length) return array;
  const longer = new Uint32Array(Math.max(i + 1, 64, Math.ceil(array.length * 1.25)));
  longer.set(array);
  return longer;
}
