/**
 * Finds the slots that meet a condition, using the column of its field. Must agree with
 * `lib/filter/evaluate.ts` on every value.
 *
 * Strings are looked up by value. Numbers are scanned slot by slot, in loops without a branch that
 * depends on the number: mispredicted branches would take most of the time.
 */
import { float64At } from '../../../../lib/checked-access.ts';
import type { Condition, Relation, Scalar } from '../../../../lib/filter/ast.ts';
import { compares } from '../../../../lib/filter/evaluate.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import { intersect, subtract, unite, wordAt } from '../bitmap.ts';
import type { FieldColumn } from './column.ts';

/**
 * Estimated costs of looking a value up, comparing characters, marking a slot and comparing a
 * number.
 */
const VALUE_NS = 100;
const CHARS_PER_NS = 2;
const COMPARED_CHAR_NS = 4;
const MARK_NS = 3;
const NUMBER_NS = 3;
/** Amount of work done between two checks of the meter. */
const MARKS_PER_CHECK = 16 * 1024;
const WORDS_PER_CHECK = 256;
const VALUES_PER_CHECK = 1024;
/**
 * Up to this many numbers are searched one at a time; with more, each slot's number is looked up in
 * a sorted list.
 */
const NUMBERS_ONE_BY_ONE = 8;
const EQUAL = Uint8Array.of(0, 1, 0);

export class ColumnMatch {
  readonly #column: FieldColumn;
  readonly #candidates: Uint32Array;
  readonly #meter: StepMeter;
  readonly #found: Uint32Array;

  /** Evaluates one condition for the slots in `candidates`. */
  constructor(column: FieldColumn, candidates: Uint32Array, meter: StepMeter) {
    this.#column = column;
    this.#candidates = candidates;
    this.#meter = meter;
    this.#found = new Uint32Array(candidates.length);
  }

  /** Returns the slots that meet a condition on the column's field. */
  *match(condition: Condition): Steps<Uint32Array> {
    yield* this.#find(condition);
    intersect(this.#found, this.#candidates);
    return this.#found;
  }

  *#find(condition: Condition): Steps<void> {
    switch (condition.op) {
      case 'exists':
        return unite(this.#found, this.#column.present.words);
      case 'in':
        return yield* this.#findValues(condition.values);
      case 'compare': {
        const { operand, relation } = condition;
        if (typeof operand === 'number') yield* this.#findSides(operand, sidesOf(relation));
        else yield* this.#findStrings(relation, operand);
        return;
      }
      default:
        condition satisfies never;
    }
  }

  /** Finds the slots that hold one of `values`, directly or in a list. */
  *#findValues(values: readonly Scalar[]): Steps<void> {
    const { literals, postings } = this.#column;
    const codes: number[] = [];
    const numbers: number[] = [];
    for (const value of values) {
      const code = postings.codeOf(value);
      if (code !== undefined) codes.push(code);
      if (typeof value === 'number') numbers.push(value);
      else if (typeof value !== 'string') unite(this.#found, literals.get(value)!.words);
      this.#meter.spentNs += VALUE_NS + (typeof value === 'string' ? Math.ceil(value.length / CHARS_PER_NS) : 0);
      if (this.#meter.due()) yield 'reading';
    }
    yield* this.#mark(codes);
    yield* this.#findNumbers(numbers);
  }

  *#findNumbers(numbers: readonly number[]): Steps<void> {
    if (numbers.length <= NUMBERS_ONE_BY_ONE) {
      for (const number of numbers) yield* this.#findSides(number, EQUAL);
      return;
    }
    const sorted = Float64Array.from(numbers).sort();
    yield* this.#inParts(Math.log2(sorted.length), (from, until) => this.#markOneOf(sorted, from, until));
  }

  /**
   * Finds the numbers below, equal to or above `operand`, depending on which entries of `meets` are
   * 1.
   */
  *#findSides(operand: number, meets: Uint8Array): Steps<void> {
    yield* this.#inParts(1, (from, until) => this.#markSides(operand, meets, from, until));
  }

  /**
   * Finds the strings in the given relation to `operand`. Each distinct string is compared once.
   */
  *#findStrings(relation: Relation, operand: string): Steps<void> {
    const { lists, postings } = this.#column;
    let related: number[] = [];
    for (let code = 1; code < postings.codes; code++) {
      const value = postings.valueOf(code);
      if (compares(value, relation, operand)) related.push(code);
      const chars = typeof value === 'string' ? Math.min(value.length, operand.length) : 0;
      this.#meter.spentNs += VALUE_NS + chars * COMPARED_CHAR_NS;
      if (this.#meter.spentNs < this.#meter.stepNs && related.length < VALUES_PER_CHECK) continue;
      yield* this.#mark(related);
      related = [];
    }
    yield* this.#mark(related);
    subtract(this.#found, lists.words);
  }

  *#mark(codes: readonly number[]): Steps<void> {
    const { postings } = this.#column;
    if (this.#meter.due()) yield 'reading';
    for (const code of codes) {
      for (let at = postings.first(code); at !== 0; ) {
        at = postings.mark(this.#found, at, MARKS_PER_CHECK);
        this.#meter.spentNs += Math.min(postings.count(code), MARKS_PER_CHECK) * MARK_NS;
        if (this.#meter.due()) yield 'reading';
      }
    }
  }

  /** Calls `mark` for ranges of words. `looks` is the number of comparisons per slot. */
  *#inParts(looks: number, mark: (from: number, until: number) => void): Steps<void> {
    const end = Math.min(this.#found.length, this.#column.numbers.length / 32);
    for (let word = 0; word < end; word += WORDS_PER_CHECK) {
      const until = Math.min(end, word + WORDS_PER_CHECK);
      mark(word, until);
      this.#meter.spentNs += (until - word) * 32 * looks * NUMBER_NS;
      if (this.#meter.due()) yield 'reading';
    }
  }

  #markSides(operand: number, meets: Uint8Array, from: number, until: number): void {
    const { numbers, numeric } = this.#column;
    const [found, candidates, are] = [this.#found, this.#candidates, numeric.words];
    for (let word = from; word < until; word++) {
      const asked = wordAt(candidates, word) & wordAt(are, word);
      if (asked === 0) continue;
      let bits = 0;
      for (let i = 0; i < 32; i++) {
        const number = numberAt(numbers, word * 32 + i);
        bits |= (meets[Number(number > operand) + Number(number >= operand)] ?? 0) << i;
      }
      found[word] = wordAt(found, word) | (bits & asked);
    }
  }

  #markOneOf(sorted: Float64Array, from: number, until: number): void {
    const { numbers, numeric } = this.#column;
    const [found, candidates, are] = [this.#found, this.#candidates, numeric.words];
    for (let word = from; word < until; word++) {
      const asked = wordAt(candidates, word) & wordAt(are, word);
      if (asked === 0) continue;
      let bits = 0;
      for (let i = 0; i < 32; i++) bits |= isOneOf(sorted, numberAt(numbers, word * 32 + i)) << i;
      found[word] = wordAt(found, word) | (bits & asked);
    }
  }
}

/** Returns a slot's number. Slots beyond the last number have none: NaN, which equals nothing. */
const numberAt = (numbers: Float64Array, slot: number): number => numbers[slot] ?? Number.NaN;

/** Returns 1 if `number` is in `sorted`, else 0. */
function isOneOf(sorted: Float64Array, number: number): number {
  let below = 0;
  for (let open = sorted.length; open > 1; open -= open >>> 1) {
    below += Number(float64At(sorted, below + (open >>> 1) - 1) < number) * (open >>> 1);
  }
  return Number(sorted[below] === number || sorted[below + 1] === number);
}

/**
 * Tells for numbers below, equal to and above the operand, in this order, whether they satisfy the
 * relation.
 */
function sidesOf(relation: Relation): Uint8Array {
  return Uint8Array.from([-1, 0, 1], (number) => Number(compares(number, relation, 0)));
}
