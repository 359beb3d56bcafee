/**
 * Turns scopes into selections of live slots, and caches them until the next change.
 *
 * Columns are built first. After that, the shard must not change until the selection is complete;
 * the yielded step kinds tell these two phases apart.
 */
import { LRUCache } from 'lru-cache';
import { type Condition, conditionsOf } from '../../../../lib/filter/ast.ts';
import type { ValueCount } from '../../../../lib/filter/value-counts.ts';
import type { FieldReport } from '../../../../lib/shard/field-report.ts';
import type { NamespaceRange } from '../../../../lib/shard/read.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import { countBits } from '../bitmap.ts';
import type { ParsedScope } from '../port.ts';
import type { SlotView } from '../slot-view.ts';
import { AbsentFields } from './absent-fields.ts';
import type { FieldColumn } from './column.ts';
import { Columns } from './columns.ts';
import { Evaluation, readsRecords } from './evaluation.ts';
import { type FieldCounts, valuesInColumn, valuesInRecords } from './facets.ts';
import { Namespaces } from './namespaces.ts';

const CACHE_MAX_BYTES = 8 * 1024 * 1024;
/** Scopes with a longer text are not cached. */
const CACHED_TEXT_MAX_CHARS = 4096;
const NO_COLUMNS: ReadonlyMap<string, FieldColumn> = new Map();
/** Estimated time to hash one character of a field's name. */
const HASHED_CHAR_NS = 2;
/** Estimated size of a field in a report, without its characters. */
const REPORTED_FIELD_BYTES = 100;

/** A result with a report on the fields that the request named, if any. */
interface Reported {
  readonly fields?: FieldReport | undefined;
}

/** The live slots of a scope, as a bitmap, and their number. */
export interface Selection extends Reported {
  readonly words: Uint32Array;
  readonly count: number;
}

/** The slots of a scope and the columns used to find them. */
interface Selected extends Reported {
  words: Uint32Array;
  columns: ReadonlyMap<string, FieldColumn>;
}

export class Selector {
  readonly #slots: SlotView;
  readonly #columns: Columns;
  readonly #namespaces: Namespaces;
  #cache: LRUCache<string, Selection> | null = null;

  /**
   * `columnsMinBytes` is the memory that columns may always take, however few records there are.
   */
  constructor(slots: SlotView, columnsMinBytes: number) {
    this.#slots = slots;
    this.#columns = new Columns(slots, columnsMinBytes);
    this.#namespaces = new Namespaces(slots);
  }

  get bytes(): number {
    return this.#columns.bytes + this.#namespaces.bytes + (this.#cache?.calculatedSize ?? 0);
  }

  /** Whether a scope covers all live records. */
  isAll({ namespace = '', filter }: ParsedScope): boolean {
    return filter === null && this.#namespaces.count(namespace) === this.#slots.liveCount;
  }

  *count(scope: ParsedScope, meter: StepMeter): Steps<Pick<Selection, 'count' | 'fields'>> {
    const { namespace = '', filter } = scope;
    if (filter === null) return { count: this.#namespaces.count(namespace) };
    return yield* this.select(scope, meter);
  }

  *select(scope: ParsedScope, meter: StepMeter): Steps<Selection> {
    const { namespace = '', filter } = scope;
    const conditions = filter === null ? [] : [...conditionsOf(filter)];
    const length = conditions.reduce((sum, condition) => sum + lengthOf(condition), namespace?.length ?? 0);
    const text = length <= CACHED_TEXT_MAX_CHARS ? JSON.stringify([namespace, filter]) : null;
    const cached = text === null ? undefined : this.#cache?.get(text);
    if (cached !== undefined && !asksFields(scope)) return { ...cached, fields: undefined };
    if (cached?.fields !== undefined) return cached;

    const { words, fields } = yield* this.#selected(scope, [], meter);
    const selection = { words, count: countBits(words), fields };
    if (text !== null && words.byteLength < CACHE_MAX_BYTES) this.#remember(text, selection);
    return selection;
  }

  *countValues(field: string, scope: ParsedScope, meter: StepMeter): Steps<FieldCounts & Reported> {
    const { words, columns, fields } = yield* this.#selected(scope, [field], meter);
    const column = columns.get(field);
    const counts = yield* column === undefined
      ? valuesInRecords(field, this.#slots, words, meter)
      : valuesInColumn(column, words, meter);
    return { ...counts, fields };
  }

  namespaces(asked: NamespaceRange, meter: StepMeter): Steps<ValueCount[]> {
    return this.#namespaces.list(asked, meter);
  }

  get unaddressable(): number {
    return this.#namespaces.unaddressable;
  }

  /**
   * Updates columns and namespaces after a record moved from `oldSlot` (-1 for a new record) to
   * `newSlot` (-1 for a deleted one).
   */
  changed(oldSlot: number, newSlot: number): void {
    this.#cache?.clear();
    this.#namespaces.changed(oldSlot, newSlot);
    this.#columns.changed(oldSlot, newSlot);
  }

  /** Returns the slots of a scope, with the columns of `fields` and of the fields in its filter. */
  *#selected(scope: ParsedScope, fields: readonly string[], meter: StepMeter): Steps<Selected> {
    const { namespace = '', filter } = scope;
    const asked = new Set(fields);
    for (const { field } of filter === null ? [] : conditionsOf(filter)) {
      asked.add(field);
      meter.spentNs += field.length * HASHED_CHAR_NS;
    }
    // Reading a few records is faster than building columns over all of them.
    const isSmall = readsRecords(this.#namespaces.count(namespace), this.#slots);
    const columns = isSmall ? NO_COLUMNS : yield* this.#columns.of(asked, meter);
    const candidates = yield* this.#namespaces.slotsOf(namespace, meter);
    const words =
      filter === null ? candidates : yield* new Evaluation(this.#slots, columns, meter).match(filter, candidates);
    if (!asksFields(scope)) return { words, columns };
    const known = { candidates, columns: isSmall ? null : columns };
    return { words, columns, fields: yield* new AbsentFields(this.#slots, known, meter).of(scope.fields!) };
  }

  #remember(text: string, selection: Selection): void {
    this.#cache ??= new LRUCache<string, Selection>({
      maxSize: CACHE_MAX_BYTES,
      sizeCalculation: ({ words, fields }, key) => words.byteLength + reportBytes(fields) + key.length * 2 + 1,
    });
    this.#cache.set(text, selection);
  }
}

const asksFields = ({ fields = [] }: ParsedScope): boolean => fields.length > 0;

function reportBytes(report: FieldReport | undefined): number {
  const absent = report?.absent ?? [];
  return absent.reduce((sum, { field, meant }) => sum + REPORTED_FIELD_BYTES + 2 * (field + meant).length, 0);
}

/** Returns the approximate length of a condition's text. */
function lengthOf(condition: Condition): number {
  const texts: unknown[] = Object.values(condition).flat();
  return texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 8), 0);
}
