/**
 * An answer that is handed out page by page, so that whoever takes it in is never held by more than
 * a page. All of it is of the state in which it was found: its records are pinned until the last
 * page was taken or the reading ends otherwise.
 */
import { randomUUID } from 'node:crypto';
import type { FetchedRecord, Page, ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardQuery } from '../engine/query.ts';
import type { Ranking } from '../engine/search.ts';
import type { Shard } from '../engine/shard.ts';
import { runThrough, STEP_NS, StepMeter, type Steps } from '../engine/steps.ts';

export type Item = ShardMatch | FetchedRecord;

/** Readings of one shard that are not at their end: past it the oldest ends. */
const READINGS_MAX = 64;
/** Nobody comes back for a page after so long. */
export const READING_IDLE_MAX_MS = 30_000;

/** Estimates of what it takes to put an item together, and a byte of it. */
const ITEM_NS = 1_000;
const ITEM_BYTE_NS = 1;
/** Estimate of what an item takes beside metadata and values. */
const ITEM_BYTES = 200;

export class Reading {
  readonly #shard: Shard;
  readonly #slots: Uint32Array;
  readonly #itemAt: (at: number) => Item;
  #next = 0;
  #ended = false;

  private constructor(shard: Shard, slots: Uint32Array, itemAt: (at: number) => Item) {
    this.#shard = shard;
    this.#slots = slots;
    this.#itemAt = itemAt;
    shard.pin(slots);
  }

  static ofMatches(shard: Shard, ranking: Ranking, query: ShardQuery): Reading {
    return new Reading(shard, ranking.slots, (rank) => shard.matchAt(rank, ranking, query));
  }

  static ofRecords(shard: Shard, slots: Uint32Array): Reading {
    return new Reading(shard, slots, (at) => shard.recordAt(slots[at]));
  }

  get isAtEnd(): boolean {
    return this.#next === this.#slots.length;
  }

  /**
   * The items that come next: until they are `maxBytes` or a little more, at least one if one is
   * left.
   */
  *page(maxBytes: number): Steps<Item[]> {
    const meter = new StepMeter(STEP_NS);
    const items: Item[] = [];
    for (let bytes = 0; bytes < maxBytes && !this.isAtEnd; ) {
      const item = this.#itemAt(this.#next++);
      const itemBytes = ITEM_BYTES + (item.metadata?.length ?? 0) + (item.values?.byteLength ?? 0);
      items.push(item);
      bytes += itemBytes;
      meter.spentNs += ITEM_NS + itemBytes * ITEM_BYTE_NS;
      if (meter.due()) yield 'sending';
    }
    return items;
  }

  end(): void {
    if (!this.#ended) this.#shard.unpin(this.#slots);
    this.#ended = true;
  }
}

/** The readings of one shard that are not at their end. */
export class Readings {
  /** Those that were used last come last. */
  readonly #open = new Map<string, { reading: Reading; usedMs: number }>();

  /** The page, and the name under which the rest of the reading is kept, if there is a rest. */
  keep(reading: Reading, items: Item[], nowMs: number, name: string = randomUUID()): Page<Item> {
    if (reading.isAtEnd) {
      reading.end();
      return { items, rest: null };
    }
    this.#open.set(name, { reading, usedMs: nowMs });
    const [oldest] = this.#open.keys();
    if (this.#open.size > READINGS_MAX) this.end(oldest);
    return { items, rest: name };
  }

  /** The next page; null when there is no such reading any more. */
  next(name: string, maxBytes: number, nowMs: number): Page<Item> | null {
    const found = this.#open.get(name);
    if (!found) return null;
    this.#open.delete(name);
    return this.keep(found.reading, runThrough(found.reading.page(maxBytes)), nowMs, name);
  }

  end(name: string): void {
    this.#open.get(name)?.reading.end();
    this.#open.delete(name);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Ends those for which nobody came back; whether there were any. */
  expire(nowMs: number): boolean {
    const before = this.#open.size;
    for (const [name, { usedMs }] of this.#open) {
      if (nowMs - usedMs <= READING_IDLE_MAX_MS) break;
      this.end(name);
    }
    return this.#open.size < before;
  }
}
