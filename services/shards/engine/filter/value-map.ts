/**
 * A map from values to numbers, 0 and up, that no values make slow. A Map is right for strings but
 * for long ones: V8's hash of a string of more than 16,383 characters is its length, so that all of
 * one length are compared with each other. Those are found by a digest, and numbers in a map of
 * their own.
 */
import { createHash } from 'node:crypto';
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { NumberMap } from './number-map.ts';

const HASHED_MAX_CHARS = 16_000;

export class ValueMap {
  readonly #others = new Map<Exclude<Scalar, number>, number>();
  #ofNumbers: NumberMap | null = null;
  #ofLong: Map<string, { value: string; number: number }> | null = null;

  get(value: Scalar): number | undefined {
    if (typeof value === 'number') return this.#ofNumbers?.get(value);
    return isLong(value) ? this.#ofLong?.get(digestOf(value))?.number : this.#others.get(value);
  }

  set(value: Scalar, number: number): void {
    if (typeof value === 'number') {
      this.#ofNumbers ??= new NumberMap();
      this.#ofNumbers.set(value, number);
    } else if (isLong(value)) {
      this.#ofLong ??= new Map();
      this.#ofLong.set(digestOf(value), { value, number });
    } else {
      this.#others.set(value, number);
    }
  }

  /** In no particular order. */
  *[Symbol.iterator](): Iterator<[Scalar, number]> {
    yield* this.#others;
    if (this.#ofNumbers !== null) yield* this.#ofNumbers;
    if (this.#ofLong !== null) for (const { value, number } of this.#ofLong.values()) yield [value, number];
  }
}

function isLong(value: Scalar): value is string {
  return typeof value === 'string' && value.length > HASHED_MAX_CHARS;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf16le').digest('base64');
}
