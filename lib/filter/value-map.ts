/**
 * A map from values to numbers that no values make slow. A Map is right for most strings, whose
 * hash V8 seeds anew in each process. Its hash of a number is known to everybody, and that of a
 * string of more than 16,383 characters is its length: chosen values would all meet. So a number
 * goes in as text that is no index of an array (whose hash is known, too), a long string as its
 * digest.
 */
import { createHash } from 'node:crypto';
import type { Scalar } from './ast.ts';

const HASHED_MAX_CHARS = 16_000;

export class ValueMap {
  /** Several, because a map copies itself whenever it doubles. */
  readonly #plain: (Map<unknown, number> | undefined)[] = [];
  /** Numbers and long strings by the text that stands for them. */
  readonly #others = new Map<string, number>();

  /** `undefined` for what is no scalar, too. */
  get(value: unknown): number | undefined {
    return isPlain(value) ? this.#plain[partOf(value)]?.get(value) : this.#others.get(textFor(value));
  }

  set(value: Scalar, number: number): void {
    if (!isPlain(value)) {
      this.#others.set(textFor(value), number);
      return;
    }
    const part = partOf(value);
    this.#plain[part] ??= new Map();
    this.#plain[part].set(value, number);
  }

  /** As `get`; what is not there is set to `number`, and undefined returned. */
  getOrSet(value: Scalar, number: number): number | undefined {
    if (isPlain(value)) {
      const found = this.get(value);
      if (found === undefined) this.set(value, number);
      return found;
    }
    // To make the text of a long string takes long.
    const text = textFor(value);
    const found = this.#others.get(text);
    if (found === undefined) this.#others.set(text, number);
    return found;
  }

  delete(value: Scalar): void {
    if (isPlain(value)) this.#plain[partOf(value)]?.delete(value);
    else this.#others.delete(textFor(value));
  }
}

/** Which map has a value; chosen values that all go into one only bring the pauses back. */
function partOf(value: unknown): number {
  if (typeof value !== 'string') return 0;
  const { length } = value;
  return (value.charCodeAt(length - 1) * 31 + value.charCodeAt(length - 2) * 7 + value.charCodeAt(0) + length) & 63;
}

function isPlain<T>(value: T): value is Exclude<T, number> {
  return typeof value !== 'number' && (typeof value !== 'string' || value.length <= HASHED_MAX_CHARS);
}

function textFor(value: unknown): string {
  return typeof value === 'number'
    ? `${value}n`
    : createHash('sha256').update(String(value), 'utf16le').digest('base64');
}
