/**
 * Columns of the fields that filters use: built on first use, in steps, and kept up to date with
 * writes as far as they are built. Queries that need the same field build it together; if one
 * stops, the next continues.
 *
 * Guarantees: at most COLUMNS_MAX columns, taking about as many bytes as the records. The least
 * recently used column is evicted, checked every 64 KiB of written metadata. A field that alone
 * exceeds the limit gets no column.
 */
import { itemAt } from '../../../../lib/checked-access.ts';
import { LIMITS } from '../../../../lib/limits.ts';
import type { StepMeter, Steps } from '../../steps.ts';
import type { SlotView } from '../slot-view.ts';
import { FieldColumn } from './column.ts';
import { metadataObject, readingNs } from './metadata-object.ts';

/** Covers all fields of one filter, so that its fields do not evict each other. */
const COLUMNS_MAX = LIMITS.filterMaxConditions;
export const COLUMNS_MIN_BYTES = 32 * 1024 * 1024;
/**
 * A field that was too large for a column is tried again once there are twice or half as many
 * records.
 */
const TRY_AGAIN_GROWTH = 2;
const OVERSIZED_MAX = 256;
/** Bytes of metadata written between two checks of the columns' size. */
const WRITTEN_PER_CHECK = 64 * 1024;

/** No field can have a longer name, because the metadata would be too large. */
const NAME_MAX_CHARS = LIMITS.metadataMaxBytes;
const EMPTY = new FieldColumn('');

export class Columns {
  readonly #slots: SlotView;
  readonly #minBytes: number;
  /** Least recently used first. */
  readonly #columns = new Map<string, FieldColumn>();
  /** Fields too large for a column, with the number of records at that time. */
  readonly #oversized = new Map<string, number>();
  /** Bytes of metadata written since the last check. */
  #written = 0;

  constructor(slots: SlotView, minBytes: number) {
    this.#slots = slots;
    this.#minBytes = minBytes;
  }

  get bytes(): number {
    let bytes = 0;
    for (const column of this.#columns.values()) bytes += column.bytes;
    return bytes;
  }

  /**
   * Returns the columns of `fields`, except those that cannot have one. Missing columns are built
   * in one pass over all live records.
   */
  *of(fields: ReadonlySet<string>, meter: StepMeter): Steps<ReadonlyMap<string, FieldColumn>> {
    this.#want(fields);
    for (let unbuilt = this.#unbuilt(fields); unbuilt.length > 0; unbuilt = this.#unbuilt(fields)) {
      this.#build(unbuilt, meter);
      this.#makeRoom(fields);
      meter.due();
      // Yield even after a one-step build, so that the caller updates the shard's memory count.
      yield 'building';
    }
    const columns = new Map<string, FieldColumn>();
    for (const field of fields) {
      const column = field.length > NAME_MAX_CHARS ? EMPTY : this.#columns.get(field);
      if (column !== undefined) columns.set(field, column);
    }
    return columns;
  }

  /**
   * Updates the columns after a record moved from `oldSlot` (-1 for a new record) to `newSlot` (-1
   * for a deleted one).
   */
  changed(oldSlot: number, newSlot: number): void {
    let metadata: Record<string, unknown> | null = null;
    for (const [field, column] of this.#columns) {
      if (oldSlot >= 0 && oldSlot < column.filledTo) {
        column.clear(oldSlot);
        if (column.postings.bloated) this.#columns.delete(field);
      }
      if (newSlot < 0 || newSlot >= column.filledTo) continue;
      metadata ??= this.#taken(newSlot);
      column.fill(newSlot, metadata);
    }
    if (this.#written < WRITTEN_PER_CHECK) return;
    this.#written = 0;
    this.#makeRoom(new Set());
  }

  #taken(slot: number): Record<string, unknown> {
    const bytes = this.#slots.metadata(slot);
    this.#written += bytes.length;
    return metadataObject(bytes);
  }

  /** Creates missing columns for `fields`, and marks them all as most recently used. */
  #want(fields: ReadonlySet<string>): void {
    for (const field of fields) {
      const column = this.#columns.get(field);
      if (column === undefined && (field.length > NAME_MAX_CHARS || this.#isOversized(field))) continue;
      this.#columns.delete(field);
      this.#columns.set(field, column ?? new FieldColumn(field));
    }
  }

  /** Returns the incomplete columns. A column that another query evicted is not built again. */
  #unbuilt(fields: ReadonlySet<string>): FieldColumn[] {
    return [...fields].flatMap((field) => this.#columns.get(field) ?? []).filter(({ filledTo }) => filledTo < Infinity);
  }

  /**
   * Continues the build from where the least complete column ends, until the step is used up or the
   * build is complete.
   */
  #build(columns: readonly FieldColumn[], meter: StepMeter): void {
    const { end, live } = this.#slots;
    let slot = Math.min(...columns.map(({ filledTo }) => filledTo));
    for (; slot < end && meter.spentNs < meter.stepNs; slot++) {
      const filling = columns.filter(({ filledTo }) => filledTo === slot);
      if (live.has(slot)) {
        const bytes = this.#slots.metadata(slot);
        const metadata = metadataObject(bytes);
        meter.spentNs += readingNs(bytes);
        for (const column of filling) meter.spentNs += column.fill(slot, metadata);
      } else {
        meter.spentNs++;
      }
      for (const column of filling) column.filledTo = slot + 1;
    }
    if (slot >= end) for (const column of columns) column.filledTo = Number.POSITIVE_INFINITY;
  }

  /** Enforces the limits: evicts other columns first, then the largest of the `wanted` ones. */
  #makeRoom(wanted: ReadonlySet<string>): void {
    const most = Math.max(this.#minBytes, this.#slots.bytes);
    const isTooMuch = () => this.#columns.size > COLUMNS_MAX || this.bytes > most;
    for (const field of this.#columns.keys()) {
      if (!isTooMuch()) return;
      if (!wanted.has(field)) this.#columns.delete(field);
    }
    while (isTooMuch()) {
      const [field] = itemAt(
        [...this.#columns].sort(([, a], [, b]) => b.bytes - a.bytes),
        0,
      );
      this.#columns.delete(field);
      if (this.#oversized.size >= OVERSIZED_MAX) this.#oversized.clear();
      this.#oversized.set(field, Math.max(1, this.#slots.liveCount));
    }
  }

  #isOversized(field: string): boolean {
    const records = this.#oversized.get(field);
    if (records === undefined) return false;
    const now = Math.max(1, this.#slots.liveCount);
    if (now < records * TRY_AGAIN_GROWTH && now * TRY_AGAIN_GROWTH > records) return true;
    this.#oversized.delete(field);
    return false;
  }
}
