/**
 * Columns of the fields that filters have asked for: built when first asked for, a step at a time,
 * and kept up with the writes as far as they are built. Queries that want the same field build it
 * together; where one gives up, the next goes on.
 *
 * Promises: at most COLUMNS_MAX of them and about as many bytes as the records themselves take; the
 * one used longest ago gives way, as soon as writes of 64 kB have made them too large. A field that
 * alone takes more gets no column.
 */
import { LIMITS } from '../../../../lib/limits.ts';
import type { Slots } from '../slots.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { Column } from './column.ts';
import { metadataObject, readingNs } from './metadata-object.ts';

/** All fields of one filter, so that none makes another of the same filter give way. */
const COLUMNS_MAX = LIMITS.filterMaxConditions;
export const COLUMNS_MIN_BYTES = 32 * 1024 * 1024;
/**
 * A field was too large for a column with so many records; with twice as many, or half, it is tried
 * again.
 */
const TRY_AGAIN_GROWTH = 2;
const OVERSIZED_MAX = 256;
/**
 * Of metadata that is written; then it is looked whether the columns have outgrown what they may.
 */
const WRITTEN_PER_LOOK = 64 * 1024;

/** Metadata has no room for a field of a longer name. */
const NAME_MAX_CHARS = LIMITS.metadataMaxBytes;
const EMPTY = new Column('');

export class Columns {
  readonly #slots: Slots;
  readonly #minBytes: number;
  /** Least recently used first. */
  readonly #columns = new Map<string, Column>();
  /** Fields too large for a column, and the number of records when that was found. */
  readonly #oversized = new Map<string, number>();
  /** Bytes of metadata since it was last looked. */
  #written = 0;

  constructor(slots: Slots, minBytes: number) {
    this.#slots = slots;
    this.#minBytes = minBytes;
  }

  get bytes(): number {
    let bytes = 0;
    for (const column of this.#columns.values()) bytes += column.bytes;
    return bytes;
  }

  /**
   * The columns of `fields`, as far as there can be any; missing ones are built in one pass over
   * all live records.
   */
  *of(fields: ReadonlySet<string>, meter: StepMeter): Steps<ReadonlyMap<string, Column>> {
    this.#want(fields);
    for (let unbuilt = this.#unbuilt(fields); unbuilt.length > 0; unbuilt = this.#unbuilt(fields)) {
      this.#build(unbuilt, meter);
      this.#makeRoom(fields);
      meter.due();
      // Said even of a build of one step: whoever counts the shard's memory must know.
      yield 'building';
    }
    const columns = new Map<string, Column>();
    for (const field of fields) {
      const column = field.length > NAME_MAX_CHARS ? EMPTY : this.#columns.get(field);
      if (column !== undefined) columns.set(field, column);
    }
    return columns;
  }

  /**
   * Follows a record that now lies in `newSlot` and no more in `oldSlot`; -1 stands for nowhere.
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
    if (this.#written < WRITTEN_PER_LOOK) return;
    this.#written = 0;
    this.#makeRoom(new Set());
  }

  #taken(slot: number): Record<string, unknown> {
    const bytes = this.#slots.metadata(slot);
    this.#written += bytes.length;
    return metadataObject(bytes);
  }

  /** Makes columns for `fields` where they have none, and the most recently used of them. */
  #want(fields: ReadonlySet<string>): void {
    for (const field of fields) {
      const column = this.#columns.get(field);
      if (column === undefined && (field.length > NAME_MAX_CHARS || this.#isOversized(field))) continue;
      this.#columns.delete(field);
      this.#columns.set(field, column ?? new Column(field));
    }
  }

  /** Those that another query made give way are not begun anew. */
  #unbuilt(fields: ReadonlySet<string>): Column[] {
    return [...fields].flatMap((field) => this.#columns.get(field) ?? []).filter(({ filledTo }) => filledTo < Infinity);
  }

  /** Goes on from where the first of `columns` is, until a step is full or they are built. */
  #build(columns: readonly Column[], meter: StepMeter): void {
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

  /**
   * Keeps to what is allowed: other columns give way to `wanted` ones, and where that is not
   * enough, the largest of these.
   */
  #makeRoom(wanted: ReadonlySet<string>): void {
    const most = Math.max(this.#minBytes, this.#slots.bytes);
    const isTooMuch = () => this.#columns.size > COLUMNS_MAX || this.bytes > most;
    for (const field of this.#columns.keys()) {
      if (!isTooMuch()) return;
      if (!wanted.has(field)) this.#columns.delete(field);
    }
    while (isTooMuch()) {
      const [[field]] = [...this.#columns].sort(([, a], [, b]) => b.bytes - a.bytes);
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
