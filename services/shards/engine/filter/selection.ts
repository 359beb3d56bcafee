/**
 * Turns filters into selections of live slots; repeated filters are answered from a cache until the
 * next change.
 *
 * Columns are built first; from then on the shard must not change until the selection is made,
 * which is why what is yielded tells the two apart.
 */
import { LRUCache } from 'lru-cache';
import { type Condition, conditionsOf, type FilterNode } from '../../../../lib/filter/ast.ts';
import { countBits } from '../bitmap.ts';
import type { Slots } from '../slots.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { Columns } from './columns.ts';
import { Evaluation } from './evaluation.ts';
import { type FieldCounts, valuesInColumn, valuesInRecords } from './facets.ts';

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

  /** Null selects all. */
  *select(filter: FilterNode | null, meter: StepMeter): Steps<Selection> {
    if (filter === null) return { words: this.#live(), count: this.#slots.liveCount };
    const conditions = [...conditionsOf(filter)];
    const length = conditions.reduce((sum, condition) => sum + lengthOf(condition), 0);
    const text = length <= CACHED_TEXT_MAX_CHARS ? JSON.stringify(filter) : null;
    const cached = text === null ? undefined : this.#cache?.get(text);
    if (cached !== undefined) return cached;

    const columns = yield* this.#columns.of(new Set(conditions.map(({ field }) => field)), meter);
    const words = yield* new Evaluation(this.#slots, columns, meter).match(filter, this.#live());
    const selection = { words, count: countBits(words) };
    if (text !== null && words.byteLength < CACHE_MAX_BYTES) this.#remember(text, selection);
    return selection;
  }

  /** What values a field has in the records that match; in all of them where the filter is null. */
  *countValues(field: string, filter: FilterNode | null, meter: StepMeter): Steps<FieldCounts> {
    const conditions = filter === null ? [] : [...conditionsOf(filter)];
    const columns = yield* this.#columns.of(new Set([field, ...conditions.map((each) => each.field)]), meter);
    const live = this.#live();
    const selected = filter === null ? live : yield* new Evaluation(this.#slots, columns, meter).match(filter, live);
    const column = columns.get(field);
    return yield* column === undefined
      ? valuesInRecords(field, this.#slots, selected, meter)
      : valuesInColumn(column, selected, meter);
  }

  /**
   * Follows a record that now lies in `newSlot` and no more in `oldSlot`; -1 stands for nowhere.
   */
  changed(oldSlot: number, newSlot: number): void {
    this.#cache?.clear();
    this.#columns.changed(oldSlot, newSlot);
  }

  #live(): Uint32Array {
    return this.#slots.live.words.slice(0, (this.#slots.end + 31) >>> 5);
  }

  #remember(text: string, selection: Selection): void {
    this.#cache ??= new LRUCache<string, Selection>({
      maxSize: CACHE_MAX_BYTES,
      sizeCalculation: ({ words }, key) => words.byteLength + key.length * 2 + 1,
    });
    this.#cache.set(text, selection);
  }
}

/** About the characters of a condition's text. */
function lengthOf(condition: Condition): number {
  const texts: unknown[] = Object.values(condition).flat();
  return texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 8), 0);
}
