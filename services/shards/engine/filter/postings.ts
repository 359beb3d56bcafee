/**
 * Which slots hold which values: for each value a doubly linked list of its occurrences, so that a
 * value's slots are found, and a slot's values taken out, at the cost of what they are. A slot may
 * hold several values, one of them more than once.
 *
 * Values have codes from 1 on. Codes and occurrences that come free are used again.
 */
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { ValueMap } from '../../../../lib/filter/value-map.ts';

/** No code, no occurrence. */
const NONE = 0;
/** Estimate of what a value costs beside its characters and what is held by code. */
const VALUE_BYTES = 80;
/** So many free occurrences are no waste. */
const SPARE = 16 * 1024;

export class Postings {
  readonly #codes = new ValueMap();
  /** By code, as are the two below; undefined where the code is free. */
  readonly #values: (Scalar | undefined)[] = [undefined];
  #first = new Uint32Array(0);
  #counts = new Uint32Array(0);
  readonly #freeCodes: number[] = [];
  #valueBytes = 0;
  /** The first occurrence in each slot. */
  #firstIn = new Uint32Array(0);
  /** By occurrence: where and what it is, and its neighbours. Of free ones `#next` is a list. */
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

  /** True when free occurrences hold more memory than others: better built anew. */
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

  /** How many occurrences a code has; none where it is `undefined`. */
  count(code: number | undefined): number {
    return code === undefined ? 0 : this.#counts[code];
  }

  add(slot: number, value: Scalar): void {
    const code = this.#codes.get(value) ?? this.#newCode(value);
    const next = this.#first[code];
    const occurrence = this.#take();
    this.#firstIn = withRoom(this.#firstIn, slot);
    this.#slot[occurrence] = slot;
    this.#code[occurrence] = code;
    this.#next[occurrence] = next;
    this.#previous[occurrence] = NONE;
    this.#nextInSlot[occurrence] = this.#firstIn[slot];
    this.#firstIn[slot] = occurrence;
    this.#first[code] = occurrence;
    if (next !== NONE) this.#previous[next] = occurrence;
    this.#counts[code]++;
  }

  /** Takes out all values of a slot. */
  clear(slot: number): void {
    if (slot >= this.#firstIn.length) return;
    for (let occurrence = this.#firstIn[slot]; occurrence !== NONE; ) {
      const following = this.#nextInSlot[occurrence];
      this.#remove(occurrence);
      occurrence = following;
    }
    this.#firstIn[slot] = NONE;
  }

  /** Adds one for each code in a slot, however often it is there; gives how many are there. */
  countIn(slot: number, counts: Uint32Array): number {
    const codes: number[] = [];
    for (let at = this.#firstIn[slot] ?? NONE; at !== NONE; at = this.#nextInSlot[at]) codes.push(this.#code[at]);
    for (const code of codes.length > 1 ? new Set(codes) : codes) counts[code]++;
    return codes.length;
  }

  /** Where the occurrences of a code begin; 0 where it has none. */
  first(code: number): number {
    return this.#first[code];
  }

  /**
   * Sets the bits of the slots of at most `most` occurrences from one on; returns where to go on, 0
   * at the end.
   */
  mark(words: Uint32Array, from: number, most: number): number {
    const [slots, next] = [this.#slot, this.#next];
    let occurrence = from;
    for (let left = most; occurrence !== NONE && left > 0; left--) {
      const slot = slots[occurrence];
      words[slot >>> 5] |= 1 << (slot & 31);
      occurrence = next[occurrence];
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
    const code = this.#code[occurrence];
    const [previous, next] = [this.#previous[occurrence], this.#next[occurrence]];
    if (previous === NONE) this.#first[code] = next;
    else this.#next[previous] = next;
    if (next !== NONE) this.#previous[next] = previous;
    this.#next[occurrence] = this.#free;
    this.#free = occurrence;
    this.#live--;
    if (--this.#counts[code] === 0) this.#freeCode(code);
  }

  #freeCode(code: number): void {
    const value = this.#values[code]!;
    this.#codes.delete(value);
    this.#values[code] = undefined;
    this.#freeCodes.push(code);
    this.#valueBytes -= bytesOf(value);
  }

  /** A new occurrence. */
  #take(): number {
    this.#live++;
    const free = this.#free;
    if (free !== NONE) {
      this.#free = this.#next[free];
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

/** `array`, or a longer copy of it, so that index `i` exists. */
function withRoom(array: Uint32Array<ArrayBuffer>, i: number): Uint32Array<ArrayBuffer> {
  if (i < array.length) return array;
  const longer = new Uint32Array(Math.max(i + 1, 64, Math.ceil(array.length * 1.25)));
  longer.set(array);
  return longer;
}
