import { uint32At } from '../../../lib/checked-access.ts';

/** A growing set of small integers, one bit each. */
export class Bitmap {
  /** Each word holds 32 consecutive integers. Read-only; replaced when the set grows. */
  words: Uint32Array;

  constructor(words = new Uint32Array(0)) {
    this.words = words;
  }

  get bytes(): number {
    return this.words.byteLength;
  }

  has(i: number): boolean {
    return hasBit(this.words, i);
  }

  add(i: number): void {
    const word = i >>> 5;
    if (word >= this.words.length) this.#resize(Math.max(word + 1, this.words.length * 2));
    setBit(this.words, i);
  }

  delete(i: number): void {
    clearBit(this.words, i);
  }

  /** Releases the memory for integers at or above `end`, all of which must be absent. */
  trim(end: number): void {
    const words = (end + 31) >>> 5;
    if (words * 2 < this.words.length) this.#resize(words);
  }

  #resize(words: number): void {
    const resized = new Uint32Array(words);
    resized.set(this.words.subarray(0, words));
    this.words = resized;
  }
}

/** Returns a word of a bitmap. No bit is set beyond its end. */
export function wordAt(words: Uint32Array, at: number): number {
  return words[at] ?? 0;
}

export function hasBit(words: Uint32Array, i: number): boolean {
  return (wordAt(words, i >>> 5) & (1 << (i & 31))) !== 0;
}

/** Sets a bit below the bitmap's end. */
export function setBit(words: Uint32Array, i: number): void {
  words[i >>> 5] = wordAt(words, i >>> 5) | (1 << (i & 31));
}

export function clearBit(words: Uint32Array, i: number): void {
  words[i >>> 5] = wordAt(words, i >>> 5) & ~(1 << (i & 31));
}

export function countBits(words: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < words.length; i++) {
    let v = wordAt(words, i);
    v -= (v >>> 1) & 0x55555555;
    v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
    count += Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}

/** Returns the first set bit at or after `from`. There must be one: throws RangeError otherwise. */
export function nextBit(words: Uint32Array, from: number): number {
  let word = from >>> 5;
  let bits = uint32At(words, word) & (-1 << (from & 31));
  while (bits === 0) bits = uint32At(words, ++word);
  return word * 32 + 31 - Math.clz32(bits & -bits);
}

/** Yields every set bit in ascending order. */
export function* bitsOf(words: Uint32Array): Iterable<number> {
  for (let word = 0; word < words.length; word++)
    for (let bits = wordAt(words, word); bits !== 0; bits &= bits - 1) yield word * 32 + 31 - Math.clz32(bits & -bits);
}

/** Calls `visit` for every set bit in ascending order. */
export function forEachBit(words: Uint32Array, visit: (i: number) => void): void {
  for (let word = 0; word < words.length; word++) {
    let bits = wordAt(words, word);
    while (bits !== 0) {
      const bit = 31 - Math.clz32(bits & -bits);
      visit(word * 32 + bit);
      bits &= bits - 1;
    }
  }
}

/** Whether the two share a set bit. Either may be shorter. */
export function intersects(words: Uint32Array, others: Uint32Array): boolean {
  const shared = Math.min(words.length, others.length);
  for (let i = 0; i < shared; i++) if ((wordAt(words, i) & wordAt(others, i)) !== 0) return true;
  return false;
}

/** Clears the bits in `words` that `others` lacks. `others` may be shorter. */
export function intersect(words: Uint32Array, others: Uint32Array): void {
  const shared = Math.min(words.length, others.length);
  for (let i = 0; i < shared; i++) words[i] = wordAt(words, i) & wordAt(others, i);
  words.fill(0, shared);
}

/** Sets the bits of `others` in `words`, up to the length of `words`. */
export function unite(words: Uint32Array, others: Uint32Array): void {
  const shared = Math.min(words.length, others.length);
  for (let i = 0; i < shared; i++) words[i] = wordAt(words, i) | wordAt(others, i);
}

/** Clears the bits of `others` in `words`. `others` may be shorter. */
export function subtract(words: Uint32Array, others: Uint32Array): void {
  const shared = Math.min(words.length, others.length);
  for (let i = 0; i < shared; i++) words[i] = wordAt(words, i) & ~wordAt(others, i);
}
