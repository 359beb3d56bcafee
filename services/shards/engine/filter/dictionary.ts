/**
 * Distinct values and their codes, 0 and up in order of arrival.
 *
 * A map copies itself whenever it doubles, a million entries for some 100 ms: beyond a first few
 * thousand values, they are spread over many maps by a cheap hash, so that each stays small. Where
 * strings are made to meet in one of them, its copying takes that long; finding them does not.
 */
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { hashOfNumber } from './number-map.ts';
import { ValueMap } from './value-map.ts';

const FIRST_MAX = 4_096;
const PARTS = 256;
/** Characters of a string that tell its part, at each of its ends. */
const END_CHARS = 24;
/** Estimate of what a value costs beside its characters. */
const ENTRY_BYTES = 96;

export class Dictionary {
  readonly values: Scalar[] = [];
  readonly #first = new ValueMap();
  readonly #parts: ValueMap[] = [];
  #bytes = 0;

  get size(): number {
    return this.values.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  codeOf(value: Scalar): number | undefined {
    const code = this.#first.get(value);
    return code !== undefined || this.#parts.length === 0 ? code : this.#parts[partOf(value)].get(value);
  }

  /** The value's code, a new one if need be. */
  add(value: Scalar): number {
    const known = this.codeOf(value);
    if (known !== undefined) return known;
    const code = this.values.push(value) - 1;
    this.#bytes += ENTRY_BYTES + (typeof value === 'string' ? value.length : 0);
    if (code < FIRST_MAX) this.#first.set(value, code);
    else {
      if (this.#parts.length === 0) for (let i = 0; i < PARTS; i++) this.#parts.push(new ValueMap());
      this.#parts[partOf(value)].set(value, code);
    }
    return code;
  }
}

function partOf(value: Scalar): number {
  if (typeof value === 'number') return hashOfNumber(value) >>> 24;
  if (typeof value !== 'string') return 0;
  const { length } = value;
  let hash = length;
  for (let i = 0; i < Math.min(length, END_CHARS); i++) hash = Math.imul(hash, 31) + value.charCodeAt(i);
  for (let i = Math.max(END_CHARS, length - END_CHARS); i < length; i++)
    hash = Math.imul(hash, 31) + value.charCodeAt(i);
  return Math.imul(hash, 0x9e3779b1) >>> 24;
}
