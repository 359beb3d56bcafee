/**
 * The live records of a shard in the order of their ids' UTF-8 bytes: built on first use, in steps,
 * and kept up to date with writes as far as it is built. Concurrent listings build it together; if
 * one stops, the next continues.
 *
 * Guarantees: takes no memory before the first listing, then 4 to 18 bytes per record. A change
 * costs a binary search and moves at most one chunk. Throws if a change refers to a record that the
 * order does not have.
 */

import { itemAt, uint32At } from '../../../lib/checked-access.ts';
import type { StepMeter, Steps } from '../steps.ts';
import { hasBit } from './bitmap.ts';
import type { SlotView } from './slot-view.ts';

const CHUNK_MAX_SLOTS = 512;
/** Estimated size of a chunk besides its slots. */
const CHUNK_OVERHEAD_BYTES = 200;

/** Estimated costs of inserting a record and of passing one by. */
const PLACE_NS = 2_000;
const PASS_NS = 8;

/**
 * The first `limit` ids that sort after `after` and begin with `prefix`; null for no such bound.
 */
export interface ListRange {
  after: string | null;
  prefix: string | null;
  limit: number;
}

interface Chunk {
  slots: Uint32Array;
  /** Number of slots in use, at least one. */
  size: number;
}

/**
 * A chunk and a position in it. The position after a chunk's end means the start of the next chunk.
 */
interface Place {
  chunk: number;
  at: number;
}

export class IdOrder {
  readonly #slots: SlotView;
  readonly #chunkMax: number;
  readonly #chunks: Chunk[] = [];
  /** The order contains the live slots below this one, and no others. */
  #filledTo = 0;

  /** `chunkMax` is the number of slots per chunk, for tests. */
  constructor(slots: SlotView, chunkMax = CHUNK_MAX_SLOTS) {
    this.#slots = slots;
    this.#chunkMax = chunkMax;
  }

  get bytes(): number {
    return this.#chunks.length * (this.#chunkMax * Uint32Array.BYTES_PER_ELEMENT + CHUNK_OVERHEAD_BYTES);
  }

  *build(meter: StepMeter): Steps<void> {
    while (this.#filledTo < Number.POSITIVE_INFINITY) {
      this.#fill(meter);
      meter.due();
      // Yield even after a one-step build, so that the caller updates the shard's memory count.
      yield 'building';
    }
  }

  /** Returns the slots of the records in a range, limited to the bitmap `selected` if given. */
  *slotsIn(range: ListRange, selected: Uint32Array | null, meter: StepMeter): Steps<Uint32Array> {
    const { limit } = range;
    const { from, end } = this.#bounds(range);
    const found: number[] = [];
    for (let { chunk, at } = from; chunk <= end.chunk && found.length < limit; chunk++, at = 0) {
      const { slots, size } = itemAt(this.#chunks, chunk);
      const stop = chunk === end.chunk ? end.at : size;
      for (; at < stop && found.length < limit; at++) {
        const slot = uint32At(slots, at);
        if (selected === null || hasBit(selected, slot)) found.push(slot);
      }
      meter.spentNs += size * PASS_NS;
      if (meter.due()) yield 'reading';
    }
    return Uint32Array.from(found);
  }

  /**
   * Updates the order after a record moved from `oldSlot` (-1 for a new record) to `newSlot` (-1
   * for a deleted one). The old slot of a deleted record must still be readable; otherwise only the
   * new slot must be.
   */
  changed(oldSlot: number, newSlot: number): void {
    const wasIn = oldSlot >= 0 && oldSlot < this.#filledTo;
    const isIn = newSlot >= 0 && newSlot < this.#filledTo;
    if (wasIn && isIn) {
      const { chunk, at } = this.#placeOf(oldSlot, this.#slots.idBytes(newSlot));
      itemAt(this.#chunks, chunk).slots[at] = newSlot;
    } else if (wasIn) this.#remove(oldSlot);
    else if (isIn) this.#insert(newSlot);
  }

  /** Continues the build until the step is used up or the build is complete. */
  #fill(meter: StepMeter): void {
    const { end, live } = this.#slots;
    let slot = this.#filledTo;
    for (; slot < end && meter.spentNs < meter.stepNs; slot++) {
      if (live.has(slot)) this.#insert(slot);
      meter.spentNs += live.has(slot) ? PLACE_NS : 1;
    }
    this.#filledTo = slot < end ? slot : Number.POSITIVE_INFINITY;
  }

  #insert(slot: number): void {
    const key = this.#slots.idBytes(slot);
    let { chunk, at } = this.#lowerBound((other) => this.#slots.compareId(other, key) < 0);
    if (this.#chunks.length === 0) this.#chunks.push(this.#newChunk());
    if (itemAt(this.#chunks, chunk).size === this.#chunkMax) {
      const isLast = chunk === this.#chunks.length - 1 && at === this.#chunkMax;
      // Leaves full chunks behind when ids arrive in order.
      const kept = isLast ? this.#chunkMax : this.#chunkMax >>> 1;
      this.#split(chunk, kept);
      if (at >= kept) {
        chunk += 1;
        at -= kept;
      }
    }
    const into = itemAt(this.#chunks, chunk);
    into.slots.copyWithin(at + 1, at, into.size);
    into.slots[at] = slot;
    into.size += 1;
  }

  #remove(slot: number): void {
    const { chunk, at } = this.#placeOf(slot, this.#slots.idBytes(slot));
    const from = itemAt(this.#chunks, chunk);
    from.slots.copyWithin(at, at + 1, from.size);
    from.size -= 1;
    if (from.size === 0) this.#chunks.splice(chunk, 1);
    else if (!this.#merge(chunk)) this.#merge(chunk - 1);
  }

  #newChunk(): Chunk {
    return { slots: new Uint32Array(this.#chunkMax), size: 0 };
  }

  /** Splits a chunk: its first `kept` slots stay, the others go to a new chunk after it. */
  #split(at: number, kept: number): void {
    const chunk = itemAt(this.#chunks, at);
    const behind = this.#newChunk();
    behind.slots.set(chunk.slots.subarray(kept, chunk.size));
    behind.size = chunk.size - kept;
    chunk.size = kept;
    this.#chunks.splice(at + 1, 0, behind);
  }

  /** Merges a chunk with the next one if together they are at most half full. */
  #merge(at: number): boolean {
    const [chunk, next] = [this.#chunks[at], this.#chunks[at + 1]];
    if (chunk === undefined || next === undefined || chunk.size + next.size > this.#chunkMax >>> 1) return false;
    chunk.slots.set(next.slots.subarray(0, next.size), chunk.size);
    chunk.size += next.size;
    this.#chunks.splice(at + 1, 1);
    return true;
  }

  #bounds({ after, prefix }: ListRange): { from: Place; end: Place } {
    const afterBytes = after === null ? null : Buffer.from(after);
    const first = prefix === null ? null : Buffer.from(prefix);
    const from = this.#lowerBound((slot) => {
      const id = this.#slots.idBytes(slot);
      if (afterBytes !== null && Buffer.compare(id, afterBytes) <= 0) return true;
      return first !== null && Buffer.compare(id, first) < 0;
    });
    const last = this.#chunks.length - 1;
    if (first === null || last < 0) return { from, end: { chunk: last, at: this.#chunks[last]?.size ?? 0 } };
    const isInOrBefore = (slot: number): boolean =>
      Buffer.compare(this.#slots.idBytes(slot).subarray(0, first.length), first) <= 0;
    return { from, end: this.#lowerBound(isInOrBefore) };
  }

  /** Returns the place of a slot in the order. `key` is the id of its record. */
  #placeOf(slot: number, key: Uint8Array): Place {
    // The record may have moved, so that the slot itself is no longer readable.
    const isBefore = (other: number): boolean => other !== slot && this.#slots.compareId(other, key) < 0;
    let { chunk, at } = this.#lowerBound(isBefore);
    if (at === this.#chunks[chunk]?.size) {
      chunk += 1;
      at = 0;
    }
    if (this.#chunks[chunk]?.slots[at] !== slot) throw new Error('A live record is not in the order of ids.');
    return { chunk, at };
  }

  /** Returns the first place where `isBefore` is false. It must be true of all places before it. */
  #lowerBound(isBefore: (slot: number) => boolean): Place {
    const chunk =
      partitionPoint(0, this.#chunks.length, (at) => isBefore(uint32At(itemAt(this.#chunks, at).slots, 0))) - 1;
    if (chunk < 0) return { chunk: 0, at: 0 };
    const { slots, size } = itemAt(this.#chunks, chunk);
    return { chunk, at: partitionPoint(1, size, (at) => isBefore(uint32At(slots, at))) };
  }
}

/** Returns the first number from `low` to `high` where `isBefore` is false, else `high`. */
function partitionPoint(low: number, high: number, isBefore: (at: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isBefore(middle)) from = middle + 1;
    else to = middle;
  }
  return from;
}
