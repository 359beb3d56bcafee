/**
 * An answer that is handed out page by page, so that whoever takes it in is never held by more than
 * a page. All of it is of the state in which it was found: its records are pinned until the last
 * page was taken or the reading ends otherwise.
 */
import { randomUUID } from 'node:crypto';
import type { ValueCount } from '../../../lib/filter/value-counts.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Included, Page, PageItem } from '../../../lib/shard/match.ts';
import { nextBit } from '../engine/bitmap.ts';
import type { ShardQuery } from '../engine/query.ts';
import type { Ranking } from '../engine/search.ts';
import type { Shard } from '../engine/shard.ts';
import { runThrough, STEP_NS, StepMeter, type Steps } from '../engine/steps.ts';

/**
 * Readings of one shard that are not at their end: past it the oldest of the kind ends. One of all
 * records keeps every one of them as it was; of the others one request may have a hundred.
 */
const READINGS_MAX = { all: 64, some: 4_096 };

/** Estimates of what it takes to put an item together, and a byte of it. */
const ITEM_NS = 1_000;
const ITEM_BYTE_NS = 1;
/** Estimate of what an item takes beside metadata and values. */
const ITEM_BYTES = 200;
/** ... and a value and its count beside the characters. */
const VALUE_BYTES = 40;

export class Reading {
  /** Whether it is of all records of the shard, or of some. */
  readonly of: 'all' | 'some';
  readonly #length: number;
  readonly #itemAt: (at: number) => PageItem;
  readonly #unpin: () => void;
  #next = 0;
  #ended = false;

  private constructor(of: 'all' | 'some', length: number, itemAt: (at: number) => PageItem, unpin: () => void) {
    this.of = of;
    this.#length = length;
    this.#itemAt = itemAt;
    this.#unpin = unpin;
  }

  static ofMatches(shard: Shard, ranking: Ranking, query: ShardQuery): Reading {
    return Reading.#ofSlots(shard, ranking.slots, (rank) => shard.matchAt(rank, ranking, query));
  }

  static ofRecords(shard: Shard, slots: Uint32Array): Reading {
    return Reading.#ofSlots(shard, slots, (at) => shard.recordAt(slots[at]));
  }

  static ofListed(shard: Shard, slots: Uint32Array, include: Included): Reading {
    return Reading.#ofSlots(shard, slots, (at) => shard.listedAt(slots[at], include));
  }

  /** All records, in any order, each let go as soon as it was read. */
  static ofAll(shard: Shard): Reading {
    const held = shard.holdAll();
    let slot = -1;
    const readNext = (): PageItem => {
      slot = nextBit(held, slot + 1);
      const record = shard.recordAt(slot);
      shard.letGo(held, slot);
      return record;
    };
    return new Reading('all', shard.records, readNext, () => shard.letGoAll(held));
  }

  static ofValues(counts: readonly ValueCount[]): Reading {
    return new Reading(
      'some',
      counts.length,
      (at) => counts[at],
      () => undefined,
    );
  }

  static #ofSlots(shard: Shard, slots: Uint32Array, itemAt: (at: number) => PageItem): Reading {
    shard.pin(slots);
    return new Reading('some', slots.length, itemAt, () => shard.unpin(slots));
  }

  get isAtEnd(): boolean {
    return this.#next === this.#length;
  }

  /**
   * The items that come next: until they are `maxBytes` or a little more, at least one if one is
   * left; none for 0.
   */
  *page(maxBytes: number): Steps<PageItem[]> {
    const meter = new StepMeter(STEP_NS);
    const items: PageItem[] = [];
    for (let bytes = 0; bytes < maxBytes && !this.isAtEnd; ) {
      const item = this.#itemAt(this.#next++);
      const itemBytes = bytesOf(item);
      items.push(item);
      bytes += itemBytes;
      meter.spentNs += ITEM_NS + itemBytes * ITEM_BYTE_NS;
      if (meter.due()) yield 'sending';
    }
    return items;
  }

  end(): void {
    if (!this.#ended) this.#unpin();
    this.#ended = true;
  }
}

function bytesOf(item: PageItem): number {
  if (Array.isArray(item)) return VALUE_BYTES + (typeof item[0] === 'string' ? item[0].length : 0);
  return ITEM_BYTES + (item.metadata?.length ?? 0) + (item.values?.byteLength ?? 0);
}

/** The readings of one shard that are not at their end. */
export class Readings {
  /** Those that were used last come last. */
  readonly #open = new Map<string, { reading: Reading; usedMs: number }>();
  readonly #counts = { all: 0, some: 0 };

  /** The page, and the name under which the rest of the reading is kept, if there is a rest. */
  keep(reading: Reading, items: PageItem[], monotonicMs: number, name: string = randomUUID()): Page<PageItem> {
    if (reading.isAtEnd) {
      reading.end();
      return { items, rest: null };
    }
    this.#open.set(name, { reading, usedMs: monotonicMs });
    if (++this.#counts[reading.of] > READINGS_MAX[reading.of]) this.#endOldest(reading.of);
    return { items, rest: name };
  }

  /** The next page; null when there is no such reading any more. */
  next(name: string, maxBytes: number, monotonicMs: number): Page<PageItem> | null {
    const found = this.#open.get(name);
    if (!found) return null;
    this.#remove(name, found.reading);
    return this.keep(found.reading, runThrough(found.reading.page(maxBytes)), monotonicMs, name);
  }

  end(name: string): void {
    const found = this.#open.get(name);
    if (!found) return;
    found.reading.end();
    this.#remove(name, found.reading);
  }

  #endOldest(of: 'all' | 'some'): void {
    for (const [name, { reading }] of this.#open) {
      if (reading.of !== of) continue;
      this.end(name);
      return;
    }
  }

  #remove(name: string, reading: Reading): void {
    this.#open.delete(name);
    this.#counts[reading.of]--;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Ends those for which nobody came back; whether there were any. */
  expire(monotonicMs: number): boolean {
    const before = this.#open.size;
    for (const [name, { usedMs }] of this.#open) {
      if (monotonicMs - usedMs <= INTERNAL_LIMITS.unaskedPageMaxMs) break;
      this.end(name);
    }
    return this.#open.size < before;
  }
}
