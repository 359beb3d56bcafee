/**
 * Columns on their way: filled from the live records in order of their slots, a step at a time, and
 * kept up with the writes meanwhile: what changes at a slot that was passed is changed in the
 * columns, the rest the pass will come to.
 */

import type { Slots } from '../slots.ts';
import type { StepMeter } from '../steps.ts';
import { Column } from './column.ts';
import { FieldTable } from './field-table.ts';
import { metadataObject } from './metadata-object.ts';

/** Estimates of what parsing takes. */
const RECORD_NS = 300;
const BYTE_NS = 6;
const SLOTS_PER_LOOK = 1024;

export class ColumnBuild {
  readonly columns: Map<string, Column>;
  /** Queries that wait for it. */
  users = 0;
  readonly #slots: Slots;
  #table: FieldTable;
  #next = 0;

  constructor(fields: Iterable<string>, slots: Slots) {
    this.#slots = slots;
    this.columns = new Map(Array.from(fields, (field) => [field, new Column(slots.end)]));
    this.#table = new FieldTable(this.columns);
  }

  get done(): boolean {
    return this.#next >= this.#slots.end;
  }

  get bytes(): number {
    return bytesOf(this.columns);
  }

  /** Goes on until a step is full or all is done. */
  advance(meter: StepMeter): void {
    while (!this.done && !meter.due()) {
      const until = Math.min(this.#slots.end, this.#next + SLOTS_PER_LOOK);
      while (this.#next < until && meter.spentNs < meter.stepNs) {
        if (this.#slots.live.has(this.#next)) meter.spentNs += this.#fill(this.#next);
        this.#next++;
      }
      meter.spentNs += SLOTS_PER_LOOK;
    }
  }

  /** Gives one column up. */
  leaveOut(field: string): void {
    this.columns.delete(field);
    this.#table = new FieldTable(this.columns);
  }

  changed(oldSlot: number, newSlot: number): void {
    if (oldSlot >= 0 && oldSlot < this.#next) this.#clear(oldSlot);
    if (newSlot >= 0 && newSlot < this.#next) this.#fill(newSlot);
  }

  moved(from: number, to: number): void {
    this.changed(from, to);
  }

  #clear(slot: number): void {
    for (const column of this.columns.values()) column.clear(slot);
  }

  #fill(slot: number): number {
    const bytes = this.#slots.metadata(slot);
    return RECORD_NS + bytes.length * BYTE_NS + this.#table.set(slot, metadataObject(bytes));
  }
}

export function bytesOf(columns: ReadonlyMap<string, Column>): number {
  let bytes = 0;
  for (const [field, column] of columns) bytes += field.length * 2 + column.bytes;
  return bytes;
}
