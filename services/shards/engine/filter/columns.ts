/**
 * Columns of the fields that filters have asked for: built when first asked for, then kept up with
 * the writes.
 *
 * Promises: at most COLUMNS_MAX of them and about as many bytes as the records themselves take,
 * those being built included; the one used longest ago gives way. A field that alone takes more
 * gets no column, and its conditions are worked out from the records. Queries that want the same
 * fields share one build; a build that nobody waits for is dropped.
 */
import { LIMITS } from '../../../../lib/limits.ts';
import type { Slots } from '../slots.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { Column } from './column.ts';
import { bytesOf, ColumnBuild } from './column-build.ts';
import { FieldTable } from './field-table.ts';
import { metadataObject } from './metadata-object.ts';

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
 * So many builds a query waits for: some may be another's that has not all of its fields, and make
 * those that it has give way.
 */
const BUILDS_MAX = 4;

const EMPTY = new Column();

export class Columns {
  readonly #slots: Slots;
  readonly #minBytes: number;
  /** Least recently used first. */
  readonly #columns = new Map<string, Column>();
  readonly #builds = new Set<ColumnBuild>();
  /** Fields without a column, and the number of records when that was found. */
  readonly #oversized = new Map<string, number>();
  #table: FieldTable | null = null;

  constructor(slots: Slots, minBytes: number) {
    this.#slots = slots;
    this.#minBytes = minBytes;
  }

  get bytes(): number {
    let bytes = bytesOf(this.#columns);
    for (const build of this.#builds) bytes += build.bytes;
    return bytes;
  }

  /**
   * The columns of `fields`, null where there can be none; missing ones are built in one pass over
   * all live records.
   */
  *of(fields: ReadonlySet<string>, meter: StepMeter): Steps<ReadonlyMap<string, Column | null>> {
    for (let builds = 0; builds < BUILDS_MAX; builds++) {
      const missing = this.#missing(fields);
      if (missing.length === 0) break;
      yield* this.#build(missing, meter);
    }
    const asked = new Map<string, Column | null>();
    for (const field of fields) {
      const column = this.#columns.get(field);
      asked.set(field, isNameOfNothing(field) ? EMPTY : (column ?? null));
      if (column === undefined) continue;
      this.#columns.delete(field);
      this.#columns.set(field, column);
    }
    return asked;
  }

  /**
   * Follows a record that now lies in `newSlot` and no more in `oldSlot`; -1 stands for nowhere.
   */
  changed(oldSlot: number, newSlot: number): void {
    for (const build of this.#builds) build.changed(oldSlot, newSlot);
    if (this.#columns.size === 0) return;
    if (oldSlot >= 0) {
      for (const [field, column] of this.#columns) {
        column.clear(oldSlot);
        if (column.bloated) this.#remove(field);
      }
    }
    if (newSlot < 0) return;
    this.#table ??= new FieldTable(this.#columns);
    this.#table.set(newSlot, metadataObject(this.#slots.metadata(newSlot)));
  }

  moved(from: number, to: number): void {
    for (const build of this.#builds) build.moved(from, to);
    for (const column of this.#columns.values()) column.move(from, to);
  }

  #missing(fields: ReadonlySet<string>): string[] {
    return [...fields].filter((field) => {
      return !isNameOfNothing(field) && !this.#columns.has(field) && !this.#isOversized(field);
    });
  }

  *#build(missing: string[], meter: StepMeter): Steps<void> {
    const shared = [...this.#builds].find(({ columns }) => missing.some((field) => columns.has(field)));
    const build = shared ?? new ColumnBuild(missing, this.#slots);
    this.#builds.add(build);
    build.users++;
    try {
      while (this.#builds.has(build)) {
        build.advance(meter);
        this.#makeRoom(build);
        // Said even of a build of one step: whoever counts the shard's memory must know.
        yield 'building';
        if (build.done && this.#builds.has(build)) this.#adopt(build);
      }
    } finally {
      if (--build.users === 0) this.#builds.delete(build);
    }
  }

  #adopt(build: ColumnBuild): void {
    this.#builds.delete(build);
    for (const [field, column] of build.columns) {
      this.#remove(field);
      this.#columns.set(field, column);
    }
    for (const field of this.#columns.keys()) {
      if (this.#columns.size <= COLUMNS_MAX) break;
      this.#remove(field);
    }
    this.#table = null;
  }

  /**
   * Keeps to the bytes allowed: columns give way to what is being built, and where that is not
   * enough, its largest.
   */
  #makeRoom(build: ColumnBuild): void {
    const most = Math.max(this.#minBytes, this.#slots.bytes);
    if (this.bytes <= most) return;
    for (const field of this.#columns.keys()) {
      this.#remove(field);
      if (this.bytes <= most) return;
    }
    while (this.bytes > most && build.columns.size > 0) {
      const [[field]] = [...build.columns].sort(([, a], [, b]) => b.bytes - a.bytes);
      build.leaveOut(field);
      if (this.#oversized.size >= OVERSIZED_MAX) this.#oversized.clear();
      this.#oversized.set(field, Math.max(1, this.#slots.liveCount));
    }
  }

  #remove(field: string): void {
    if (this.#columns.delete(field)) this.#table = null;
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

/** Metadata has no room for a field of so long a name, whatever its path. */
function isNameOfNothing(field: string): boolean {
  return field.length > LIMITS.metadataMaxBytes;
}
