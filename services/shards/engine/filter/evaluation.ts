/**
 * Evaluates a filter over all live slots.
 *
 * Each part of an `and` is evaluated only for the slots that the earlier parts left: first equality
 * with a few strings or literals, rarest first, then everything that scans all slots. If few slots
 * remain, or a field has no column, the records themselves are read.
 */
import { type Condition, conditionsOf, type FilterNode } from '../../../../lib/filter/ast.ts';
import { predicateOf } from '../../../../lib/filter/evaluate.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import { countBits, setBit, subtract, unite, wordAt } from '../bitmap.ts';
import type { SlotView } from '../slot-view.ts';
import type { FieldColumn } from './column.ts';
import { ColumnMatch } from './column-match.ts';
import { metadataObject, readingNs } from './metadata-object.ts';

/** Maximum number of values for which the matching slots are counted in advance. */
const COUNTED_VALUES_MAX = 16;
/** Estimated costs of a filter node, and of each 32 slots it covers. */
const NODE_NS = 500;
const WORD_NS = 4;
/** Reading one record costs about as much as inspecting this many slots of a column. */
const SLOTS_PER_RECORD = 2_000;
/** Estimated cost of one condition on a record that was read. */
const CONDITION_NS = 40;
/** Estimated cost of each further comparison. */
const COMPARED_NS = 60;

/** Whether so few candidates remain that reading their records is cheaper than using columns. */
export const readsRecords = (candidates: number, { end }: SlotView): boolean => candidates * SLOTS_PER_RECORD < end;

export class Evaluation {
  readonly #slots: SlotView;
  readonly #columns: ReadonlyMap<string, FieldColumn>;
  readonly #meter: StepMeter;

  constructor(slots: SlotView, columns: ReadonlyMap<string, FieldColumn>, meter: StepMeter) {
    this.#slots = slots;
    this.#columns = columns;
    this.#meter = meter;
  }

  /** Returns the slots of `candidates` that match. */
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

  /** Evaluates the node by reading the records. */
  *#read(node: FilterNode, candidates: Uint32Array): Steps<Uint32Array> {
    const matches = predicateOf(node, (count) => {
      this.#meter.spentNs += count * COMPARED_NS;
    });
    const conditionsNs = [...conditionsOf(node)].length * CONDITION_NS;
    const found = new Uint32Array(candidates.length);
    for (let word = 0; word < candidates.length; word++) {
      for (let rest = wordAt(candidates, word); rest !== 0; rest &= rest - 1) {
        const slot = word * 32 + 31 - Math.clz32(rest & -rest);
        const bytes = this.#slots.metadata(slot);
        if (matches(metadataObject(bytes))) setBit(found, slot);
        this.#meter.spentNs += readingNs(bytes) + conditionsNs;
        if (this.#meter.due()) yield 'reading';
      }
    }
    return found;
  }

  /** Returns about how many slots a part has to inspect, or Infinity if it lacks a column. */
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
