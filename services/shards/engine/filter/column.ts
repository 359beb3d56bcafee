/**
 * One metadata field of all slots, typed. A slot's kind says what the field holds; numbers lie in a
 * Float64Array, strings as codes of a dictionary, lists as runs of such codes.
 */
import type { Scalar } from '../../../../lib/filter/ast.ts';
import { CodeRuns } from './code-runs.ts';
import { Dictionary } from './dictionary.ts';
import { ABSENT, kindOf, LIST, NUMBER, STRING } from './value-kind.ts';

const RUN_GARBAGE_MIN = 16 * 1024;
const DICTIONARY_SPARE = 1024;
/** Estimate of what a column costs beside what it holds. */
const COLUMN_BYTES = 1024;
/** Estimates of what setting a value takes, and each element of a list. */
const SET_NS = 100;
const ELEMENT_NS = 60;

export class Column {
  readonly dictionary = new Dictionary();
  readonly runs = new CodeRuns();
  readonly #capacity: number;
  #kinds = new Uint8Array(0);
  #numbers = new Float64Array(0);
  #codes = new Uint32Array(0);
  #present = 0;

  /** `capacity`: slots that there will be, so that the arrays need not grow on the way. */
  constructor(capacity = 0) {
    this.#capacity = capacity;
  }

  /**
   * Per slot; slots beyond are absent. These arrays are for reading, and are replaced when they
   * grow.
   */
  get kinds(): Uint8Array {
    return this.#kinds;
  }

  /** Per slot whose kind is NUMBER. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  /** Per slot whose kind is STRING its code, LIST the address of its run. */
  get codes(): Uint32Array {
    return this.#codes;
  }

  get bytes(): number {
    const arrays = this.#kinds.byteLength + this.#numbers.byteLength + this.#codes.byteLength;
    return COLUMN_BYTES + arrays + this.runs.bytes + this.dictionary.bytes;
  }

  /** True when replaced values hold more memory than present ones: better built anew. */
  get bloated(): boolean {
    const { garbage, live } = this.runs;
    if (garbage > RUN_GARBAGE_MIN && garbage > live) return true;
    return this.dictionary.size > 2 * (this.#present + live) + DICTIONARY_SPARE;
  }

  /**
   * Sets what the field holds at a slot whose field is absent so far; returns about how many
   * nanoseconds that took.
   */
  set(slot: number, value: unknown): number {
    const kind = kindOf(value);
    if (kind === ABSENT) return 0;
    let tookNs = SET_NS;
    if (kind === NUMBER) {
      this.#numbers = withRoom(this.#numbers, slot, this.#capacity);
      this.#numbers[slot] = value as number;
    } else if (kind === STRING || kind === LIST) {
      this.#codes = withRoom(this.#codes, slot, this.#capacity);
      if (kind === STRING) {
        this.#codes[slot] = this.dictionary.add(value as string);
        tookNs += (value as string).length;
      } else {
        this.#codes[slot] = this.#addRun(value as unknown[]);
        tookNs += (value as unknown[]).length * ELEMENT_NS;
      }
    }
    this.#setKind(slot, kind);
    this.#present++;
    return tookNs;
  }

  clear(slot: number): void {
    const kind = this.#kindAt(slot);
    if (kind === ABSENT) return;
    if (kind === LIST) this.runs.release(this.#codes[slot]);
    this.#kinds[slot] = ABSENT;
    this.#present--;
  }

  /** Moves a slot's value to a slot whose field is absent. */
  move(from: number, to: number): void {
    const kind = this.#kindAt(from);
    if (kind === ABSENT) return;
    if (kind === NUMBER) {
      this.#numbers = withRoom(this.#numbers, to, this.#capacity);
      this.#numbers[to] = this.#numbers[from];
    } else if (kind === STRING || kind === LIST) {
      this.#codes = withRoom(this.#codes, to, this.#capacity);
      this.#codes[to] = this.#codes[from];
    }
    this.#setKind(to, kind);
    this.#kinds[from] = ABSENT;
  }

  #kindAt(slot: number): number {
    return slot < this.#kinds.length ? this.#kinds[slot] : ABSENT;
  }

  #setKind(slot: number, kind: number): void {
    this.#kinds = withRoom(this.#kinds, slot, this.#capacity);
    this.#kinds[slot] = kind;
  }

  #addRun(list: unknown[]): number {
    const codes: number[] = [];
    for (const element of list) {
      if (element === null || typeof element !== 'object') codes.push(this.dictionary.add(element as Scalar));
    }
    return this.runs.add(codes);
  }
}

/** `array`, or a longer copy of it, so that index `i` exists. */
function withRoom<T extends Uint8Array | Uint32Array | Float64Array>(array: T, i: number, capacity: number): T {
  if (i < array.length) return array;
  const longer = new (array.constructor as new (length: number) => T)(
    Math.max(i + 1, 64, capacity, Math.ceil(array.length * 1.5)),
  );
  longer.set(array);
  return longer;
}
