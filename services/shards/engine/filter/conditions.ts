/**
 * All conditions of a filter on one field, worked out together, so that a record's value is looked
 * at once however many there are. Which of them a value meets is a *row*: one bit per condition, in
 * the order in which they were added.
 *
 * Rows are made per class of values before any record is looked at. Values that `in` names have a
 * row each. For `compare` the operands, sorted, cut the numbers (and the strings) into classes, cut
 * 0 below, on or above: class 2i lies before cut i, class 2i + 1 on it; a value's class is found by
 * binary search. A value meets what its kind, its class and its own row say. Must agree with
 * `lib/filter/evaluate.ts` on every value.
 */
import type { FilterNode, Relation } from '../../../../lib/filter/ast.ts';
import { compareUtf8 } from '../../../../lib/records/utf8-order.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { ABSENT, KINDS, kindOf, NUMBER } from './value-kind.ts';
import { ValueMap } from './value-map.ts';

export type Leaf = Extract<FilterNode, { op: 'in' | 'compare' | 'exists' }>;

/** So many numbers that `in` names are made cuts, which are found faster than keys of a map. */
const NUMBERS_AS_CUTS_MAX = 256;
/** Estimates of what entering a value takes, each of its characters, and each bit of a class. */
const VALUE_NS = 150;
const CHARS_PER_NS = 2;
const COMPARED_CHARS_PER_NS = 1;
const BIT_NS = 2;

export class Conditions {
  /** 32-bit words of a row. */
  width = 0;
  /** Rows of `width` words; row 0 is empty. */
  rows = new Uint32Array(0);
  /** Row by kind. */
  readonly kindRows = new Uint32Array(KINDS);
  /** Rows of the values that `in` names. */
  readonly valueRows = new ValueMap();
  readonly numberCuts: number[] = [];
  readonly stringCuts: string[] = [];
  /** Row of class 0; the others follow. */
  numberClassRow = 0;
  stringClassRow = 0;
  /** Whether numbers have rows in `valueRows` that are not those of their class as well. */
  numbersByValue = false;
  readonly #leaves: Leaf[] = [];
  #rowCount = 1;

  /** Returns the condition's bit. */
  add(leaf: Leaf): number {
    return this.#leaves.push(leaf) - 1;
  }

  /** Makes the rows, once all conditions are added. */
  *prepare(meter: StepMeter): Steps<void> {
    this.width = (this.#leaves.length + 31) >>> 5;
    this.#reserve(64);
    for (let kind = ABSENT + 1; kind < KINDS; kind++) this.kindRows[kind] = this.#newRow();
    yield* this.#addValues(meter);
    yield* this.#addCuts(meter);
    this.numberClassRow = this.#rowCount;
    yield* this.#addClasses(this.numberCuts, meter);
    this.stringClassRow = this.#rowCount;
    yield* this.#addClasses(this.stringCuts, meter);
    for (const [bit, leaf] of this.#leaves.entries()) {
      if (leaf.op !== 'exists') continue;
      for (let kind = ABSENT + 1; kind < KINDS; kind++) this.#setBit(this.kindRows[kind], bit);
    }
  }

  *#addValues(meter: StepMeter): Steps<void> {
    let numbers = 0;
    for (const [bit, leaf] of this.#leaves.entries()) {
      if (leaf.op !== 'in') continue;
      for (const value of leaf.values) {
        let row = this.valueRows.get(value);
        if (row === undefined) {
          row = this.#newRow();
          this.valueRows.set(value, row);
          if (typeof value === 'number') numbers++;
        }
        this.#setBit(row, bit);
        if (value === null || typeof value === 'boolean') this.#setBit(this.kindRows[kindOf(value)], bit);
        meter.spentNs += VALUE_NS + (typeof value === 'string' ? Math.ceil(value.length / CHARS_PER_NS) : 0);
        if (meter.due()) yield 'reading';
      }
    }
    this.numbersByValue = numbers > NUMBERS_AS_CUTS_MAX;
  }

  *#addCuts(meter: StepMeter): Steps<void> {
    if (!this.numbersByValue) {
      for (const [value] of this.valueRows) if (kindOf(value) === NUMBER) insert(this.numberCuts, value as number);
    }
    for (const leaf of this.#leaves) {
      if (leaf.op !== 'compare') continue;
      const { operand } = leaf;
      if (typeof operand === 'number') insert(this.numberCuts, operand);
      else {
        insert(this.stringCuts, operand);
        meter.spentNs += Math.ceil((operand.length / COMPARED_CHARS_PER_NS) * Math.log2(this.stringCuts.length + 1));
      }
      meter.spentNs += VALUE_NS;
      if (meter.due()) yield 'reading';
    }
  }

  *#addClasses<T extends number | string>(cuts: T[], meter: StepMeter): Steps<void> {
    const first = this.#rowCount;
    for (let at = 0; at < cuts.length * 2 + 1; at++) this.#newRow();
    for (const [bit, leaf] of this.#leaves.entries()) {
      if (leaf.op === 'compare' && typeof leaf.operand === typeof cuts[0]) {
        const on = classOf(cuts, leaf.operand as T);
        for (let at = 0; at < cuts.length * 2 + 1; at++) {
          if (standsIn(leaf.relation, at - on)) this.#setBit(first + at, bit);
        }
        meter.spentNs += cuts.length * 2 * BIT_NS + VALUE_NS;
      }
      if (meter.due()) yield 'reading';
    }
    for (const [at, cut] of cuts.entries()) {
      const row = this.valueRows.get(cut);
      if (row !== undefined && typeof cut === 'number') this.#copyBits(row, first + 2 * at + 1);
    }
  }

  #newRow(): number {
    const row = this.#rowCount++;
    this.#reserve(this.#rowCount);
    return row;
  }

  #reserve(rows: number): void {
    if (rows * this.width <= this.rows.length) return;
    const longer = new Uint32Array(Math.max(rows * this.width, this.rows.length * 2));
    longer.set(this.rows);
    this.rows = longer;
  }

  #setBit(row: number, bit: number): void {
    this.rows[row * this.width + (bit >>> 5)] |= 1 << (bit & 31);
  }

  #copyBits(from: number, to: number): void {
    for (let word = 0; word < this.width; word++)
      this.rows[to * this.width + word] |= this.rows[from * this.width + word];
  }
}

/** The class of a number among sorted cuts. */
export function classOfNumber(cuts: ArrayLike<number>, value: number): number {
  if (cuts.length === 1) return (value > cuts[0] ? 1 : 0) + (value >= cuts[0] ? 1 : 0);
  let low = 0;
  for (let high = cuts.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (cuts[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low < cuts.length && cuts[low] === value ? 2 * low + 1 : 2 * low;
}

/**
 * The class of a string among cuts sorted by UTF-8 bytes. Apart from `classOfNumber` so that each
 * compares one type alone.
 */
export function classOfString(cuts: readonly string[], value: string): number {
  let low = 0;
  for (let high = cuts.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (compareUtf8(cuts[middle], value) < 0) low = middle + 1;
    else high = middle;
  }
  return low < cuts.length && cuts[low] === value ? 2 * low + 1 : 2 * low;
}

function classOf<T extends number | string>(cuts: readonly T[], value: T): number {
  return typeof value === 'number'
    ? classOfNumber(cuts as readonly number[], value)
    : classOfString(cuts as readonly string[], value as string);
}

function insert<T extends number | string>(cuts: T[], operand: T): void {
  const at = classOf(cuts, operand);
  if (at % 2 === 0) cuts.splice(at / 2, 0, operand);
}

/** Whether a value stands in `relation` to an operand from whose class its own is `apart`. */
function standsIn(relation: Relation, apart: number): boolean {
  switch (relation) {
    case 'gt':
      return apart > 0;
    case 'gte':
      return apart >= 0;
    case 'lt':
      return apart < 0;
    case 'lte':
      return apart <= 0;
  }
}
