/**
 * Turns filters into selections of live slots; repeated filters are answered from a cache until the
 * next change.
 *
 * Columns are built first; from then on the shard must not change until the selection is made,
 * which is why what is yielded tells the two apart. Conditions that have no column cost a parse per
 * record; they come last in every `and`, and then slots are worked out one by one, so that a step
 * stays short.
 */
import { LRUCache } from 'lru-cache';
import type { FilterNode, Scalar } from '../../../../lib/filter/ast.ts';
import { countBits } from '../bitmap.ts';
import type { Slots } from '../slots.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { columnRows } from './column-rows.ts';
import { Columns } from './columns.ts';
import type { Conditions } from './conditions.ts';
import type { FieldRows } from './field-rows.ts';
import { FilterDraft, type FilterPlan } from './plan.ts';
import { RecordReader } from './record-rows.ts';

const CACHE_MAX_BYTES = 8 * 1024 * 1024;
/** Filters with longer text are worked out each time. */
const CACHED_TEXT_MAX_CHARS = 4096;

/** The live slots whose metadata matches a filter, as a bitmap, and their number. */
export interface Selection {
  readonly words: Uint32Array;
  readonly count: number;
}

export class Selector {
  readonly #slots: Slots;
  readonly #columns: Columns;
  #cache: LRUCache<string, Selection> | null = null;

  /** `columnsMinBytes`: columns may take so much however little the records take. */
  constructor(slots: Slots, columnsMinBytes: number) {
    this.#slots = slots;
    this.#columns = new Columns(slots, columnsMinBytes);
  }

  get bytes(): number {
    return this.#columns.bytes + (this.#cache?.calculatedSize ?? 0);
  }

  *select(filter: FilterNode, meter: StepMeter): Steps<Selection> {
    const text = lengthOf(filter) <= CACHED_TEXT_MAX_CHARS ? JSON.stringify(filter) : null;
    const cached = text === null ? undefined : this.#cache?.get(text);
    if (cached !== undefined) return cached;

    const words = yield* this.#words(filter, meter);
    const selection = { words, count: countBits(words) };
    if (text !== null && words.byteLength < CACHE_MAX_BYTES) {
      this.#cache ??= new LRUCache<string, Selection>({
        maxSize: CACHE_MAX_BYTES,
        sizeCalculation: ({ words }, key) => words.byteLength + key.length * 2 + 1,
      });
      this.#cache.set(text, selection);
    }
    return selection;
  }

  /**
   * Follows a record that now lies in `newSlot` and no more in `oldSlot`; -1 stands for nowhere.
   */
  changed(oldSlot: number, newSlot: number): void {
    this.#cache?.clear();
    this.#columns.changed(oldSlot, newSlot);
  }

  moved(from: number, to: number): void {
    this.#cache?.clear();
    this.#columns.moved(from, to);
  }

  *#words(filter: FilterNode, meter: StepMeter): Steps<Uint32Array> {
    const draft = new FilterDraft(filter);
    const columns = yield* this.#columns.of(new Set(draft.conditions.keys()), meter);
    const rowsOf = new Map<Conditions, FieldRows>();
    const records = new RecordReader(this.#slots, meter);
    let oneByOne = false;
    for (const [field, conditions] of draft.conditions) {
      yield* conditions.prepare(meter);
      const column = columns.get(field) ?? null;
      if (column === null) {
        rowsOf.set(conditions, records.add(field, conditions));
        oneByOne = true;
      } else {
        rowsOf.set(conditions, yield* columnRows(conditions, column, meter));
      }
    }
    const plan = draft.plan(rowsOf);
    const words = new Uint32Array((this.#slots.end + 31) >>> 5);
    yield* oneByOne ? this.#matchOneByOne(plan, words, meter) : this.#matchWords(plan, words, meter);
    return words;
  }

  *#matchWords(plan: FilterPlan, words: Uint32Array, meter: StepMeter): Steps<void> {
    for (let word = 0; word < words.length; ) {
      word = this.#matchSome(plan, words, word, meter);
      if (meter.due()) yield 'reading';
    }
  }

  /** Works out words from `from` on until a step is full; returns where to go on. */
  #matchSome(plan: FilterPlan, words: Uint32Array, from: number, meter: StepMeter): number {
    const live = this.#slots.live.words;
    const end = Math.min(words.length, live.length);
    let word = from;
    for (; word < end && meter.spentNs < meter.stepNs; word++) {
      if (live[word] === 0) continue;
      words[word] = plan.match(word, live[word]);
      meter.spentNs += plan.wordNs;
    }
    return word < end ? word : words.length;
  }

  *#matchOneByOne(plan: FilterPlan, words: Uint32Array, meter: StepMeter): Steps<void> {
    for (let slot = 0; slot < words.length * 32; slot++) {
      if (!this.#slots.live.has(slot)) continue;
      words[slot >>> 5] |= plan.match(slot >>> 5, 1 << (slot & 31));
      meter.spentNs += plan.wordNs;
      if (meter.due()) yield 'reading';
    }
  }
}

/** About the characters of the filter's text. */
function lengthOf(node: FilterNode): number {
  switch (node.op) {
    case 'and':
    case 'or':
      return node.nodes.reduce((length, part) => length + lengthOf(part), 0);
    case 'not':
      return lengthOf(node.node);
    case 'in':
      return node.values.reduce<number>((length, value) => length + lengthOfValue(value), node.field.length);
    case 'compare':
      return node.field.length + lengthOfValue(node.operand);
    case 'exists':
      return node.field.length;
  }
}

function lengthOfValue(value: Scalar): number {
  return typeof value === 'string' ? value.length : 8;
}
