import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { FetchedRecord } from '../../../lib/shard/match.ts';
import { nextBit } from './bitmap.ts';
import type { ReadResult } from './port.ts';
import type { SlotView } from './slot-view.ts';
import type { Slots } from './slots.ts';

/** An answer whose items are computed from slots, which it keeps as they are. */
export class SlotResult<T> implements ReadResult<T> {
  readonly length: number;
  readonly fields: FieldReport | undefined;
  readonly #slots: Slots;
  readonly #itemAt: (at: number) => T;
  #kept: Uint32Array | null;
  #next = 0;

  /** `itemAt` returns the item computed from the slot at `at`. */
  constructor(slots: Slots, kept: Uint32Array, itemAt: (at: number) => T, fields?: FieldReport) {
    this.length = kept.length;
    this.fields = fields;
    this.#slots = slots;
    this.#itemAt = itemAt;
    this.#kept = kept;
    slots.pin(kept);
  }

  next(): T {
    return this.#itemAt(this.#next++);
  }

  release(): void {
    if (this.#kept !== null) this.#slots.unpin(this.#kept);
    this.#kept = null;
  }
}

/** All live records, in any order. Each is given up as soon as it is read. */
export class ScanResult implements ReadResult<FetchedRecord> {
  readonly length: number;
  readonly #slots: Slots;
  readonly #held: Uint32Array;
  #slot = -1;

  /** `live` are the live slots, held in `slots` until all are read. */
  constructor(slots: Slots, live: Uint32Array, length: number) {
    this.length = length;
    this.#slots = slots;
    this.#held = live;
  }

  next(): FetchedRecord {
    this.#slot = nextBit(this.#held, this.#slot + 1);
    const record = recordAt(this.#slots, this.#slot);
    this.#slots.releaseSlot(this.#held, this.#slot);
    return record;
  }

  release(): void {
    this.#slots.endHold(this.#held);
  }
}

export function recordAt(slots: SlotView, slot: number): FetchedRecord {
  return { id: slots.id(slot), values: slots.vector(slot).slice(), metadata: slots.metadata(slot).toString() };
}
