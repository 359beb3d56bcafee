/**
 * Works a filter out over all live slots.
 *
 * A part of an `and` is worked out only for the slots that the parts before it left: first equality
 * with a few strings or literals, the rarest first, then all that looks at every slot. Where few
 * slots remain, and where a field has no column, the records themselves are read.
 */
import { type Condition, conditionsOf, type FilterNode } from '../../../../lib/filter/ast.ts';
import { predicateOf } from '../../../../lib/filter/evaluate.ts';
import { countBits, subtract, unite } from '../bitmap.ts';
import type { Slots } from '../slots.ts';
import type { StepMeter, Steps } from '../steps.ts';
import type { Column } from './column.ts';
import { ColumnMatch } from './column-match.ts';
import { metadataObject, readingNs } from './metadata-object.ts';

/** Of so many values it is counted beforehand how many slots hold them. */
const COUNTED_VALUES_MAX = 16;
/** Estimates of what a part of a filter takes, and each of 32 slots of it. */
const NODE_NS = 500;
const WORD_NS = 4;
/** Reading a record takes as long as looking at so many slots of a column. */
const SLOTS_PER_RECORD = 2_000;
/** Estimate of what one condition takes on a record that was read. */
const CONDITION_NS = 40;
/** ... and each comparison beyond that. */
const COMPARED_NS = 60;

/** Whether so few candidates are left that their records are read, whatever columns there are. */
export const readsRecords = (candidates: number, { end }: Slots): boolean => candidates * SLOTS_PER_RECORD < end;

export class Evaluation {
  readonly #slots: Slots;
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #meter: StepMeter;

  constructor(slots: Slots, columns: ReadonlyMap<string, Column>, meter: StepMeter) {
    this.#slots = slots;
    this.#columns = columns;
    this.#meter = meter;
  }

  /** Which of `candidates` match. */
  *match(node: FilterNode, candidates: Uint32Array): Steps<Uint32Array> {
    this.#meter.spentNs += NODE_NS + candidates.length * WORD_NS;
    if (this.#meter.due()) yield 'reading';
    if (node.op === 'and') return yield* this.#all(node.nodes, candidates);
    if (!this.#hasColumns(node)) return yield* this.#read(node, candidates);
    switch (node.op) {
      case 'or':
        return yield* this.#any(node.nodes, candidates);
      case 'not':
        return yield* this.#none(node.node, candidates);
      default:
        return yield* new ColumnMatch(this.#columns.get(node.field)!, candidates, this.#meter).match(node);
    }
  }

  *#all(nodes: readonly FilterNode[], candidates: Uint32Array): Steps<Uint32Array> {
    const parts = nodes.map((node) => ({ node, cost: this.#slotsToRead(node) })).sort((a, b) => a.cost - b.cost);
    let remaining = candidates;
    for (const [i, { node, cost }] of parts.entries()) {
      const count = countBits(remaining);
      if (count === 0) break;
      if (cost === Infinity || readsRecords(count, this.#slots)) {
        return yield* this.#read({ op: 'and', nodes: parts.slice(i).map(({ node }) => node) }, remaining);
      }
      remaining = yield* this.match(node, remaining);
    }
    return remaining;
  }

  *#any(nodes: readonly FilterNode[], candidates: Uint32Array): Steps<Uint32Array> {
    const found = new Uint32Array(candidates.length);
    const remaining = candidates.slice();
    for (const node of nodes) {
      unite(found, yield* this.match(node, remaining));
      subtract(remaining, found);
    }
    return found;
  }

  *#none(node: FilterNode, candidates: Uint32Array): Steps<Uint32Array> {
    const remaining = candidates.slice();
    subtract(remaining, yield* this.match(node, candidates));
    return remaining;
  }

  /** By the records themselves. */
  *#read(node: FilterNode, candidates: Uint32Array): Steps<Uint32Array> {
    const matches = predicateOf(node, (count) => {
      this.#meter.spentNs += count * COMPARED_NS;
    });
    const conditionsNs = [...conditionsOf(node)].length * CONDITION_NS;
    const found = new Uint32Array(candidates.length);
    for (let word = 0; word < candidates.length; word++) {
      for (let rest = candidates[word]; rest !== 0; rest &= rest - 1) {
        const bit = rest & -rest;
        const bytes = this.#slots.metadata(word * 32 + 31 - Math.clz32(bit));
        if (matches(metadataObject(bytes))) found[word] |= bit;
        this.#meter.spentNs += readingNs(bytes) + conditionsNs;
        if (this.#meter.due()) yield 'reading';
      }
    }
    return found;
  }

  /** About how many slots have to be looked at for a part; Infinity where there is no column. */
  #slotsToRead(node: FilterNode): number {
    if (!this.#hasColumns(node)) return Infinity;
    return node.op === 'in' ? this.#slotsWith(node) : this.#slots.end;
  }

  #slotsWith({ field, values }: Extract<Condition, { op: 'in' }>): number {
    const column = this.#columns.get(field)!;
    if (values.length > COUNTED_VALUES_MAX || values.some((value) => typeof value === 'number')) return this.#slots.end;
    return values.reduce<number>((slots, value) => slots + column.count(value), 0);
  }

  #hasColumns(node: FilterNode): boolean {
    for (const { field } of conditionsOf(node)) if (!this.#columns.has(field)) return false;
    return true;
  }
}
