/**
 * A map from values to numbers that chosen values cannot slow down by hash collisions.
 *
 * A Map is safe for most strings, because V8 seeds their hash per process. But V8's hash of a
 * number is public, and its hash of a string of more than 16,383 characters is the length. So a
 * number is stored as text that is not an array index (whose hash is public too), and a long string
 * as its digest.
 */
import { createHash } from 'node:crypto';
import type { Scalar } from './ast.ts';

const HASHED_MAX_CHARS = 16_000;

export class ValueMap {
  /** Split into several maps, because a map that doubles copies itself in one pause. */
  readonly #plain: (Map<unknown, number> | undefined)[] = [];
  /** Numbers and long strings, by their substitute text. */
  readonly #others = new Map<string, number>();

  /** Returns `undefined` also for a value that is not a scalar. */
  get(value: unknown): number | undefined {
    return isPlain(value) ? this.#plain[mapIndexOf(value)]?.get(value) : this.#others.get(keyTextOf(value));
  }

  set(value: Scalar, number: number): void {
    if (!isPlain(value)) {
      this.#others.set(keyTextOf(value), number);
      return;
    }
    const part = mapIndexOf(value);
    this.#plain[part] ??= new Map();
    this.#plain[part].set(value, number);
  }

  /** Same as `get`; if the value is absent, sets it to `number` and returns `undefined`. */
  getOrSet(value: Scalar, number: number): number | undefined {
    if (isPlain(value)) {
      const found = this.get(value);
      if (found === undefined) this.set(value, number);
      return found;
    }
    // Computed once, because hashing a long string is slow.
    const text = keyTextOf(value);
    const found = this.#others.get(text);
    if (found === undefined) this.#others.set(text, number);
    return found;
  }

  delete(value: Scalar): void {
    if (isPlain(value)) this.#plain[mapIndexOf(value)]?.delete(value);
    else this.#others.delete(keyTextOf(value));
  }
}

/** Chooses the map for a value. Values chosen to fall into one map only cause longer pauses. */
function mapIndexOf(value: unknown): number {
  if (typeof value !== 'string') return 0;
  const { length } = value;
  return (value.charCodeAt(length - 1) * 31 + value.charCodeAt(length - 2) * 7 + value.charCodeAt(0) + length) & 63;
}

function isPlain<T>(value: T): value is Exclude<T, number> {
  return typeof value !== 'number' && (typeof value !== 'string' || value.length <= HASHED_MAX_CHARS);
}

function keyTextOf(value: unknown): string {
  return typeof value === 'number'
    ? `${value}n`
    : createHash('sha256').update(String(value), 'utf16le').digest('base64');
}
