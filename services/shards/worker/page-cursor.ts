/**
 * An answer delivered page by page, so that its receiver handles at most one page at a time. All
 * pages show the state in which the answer was found: its records stay pinned until the last page
 * is taken or the cursor ends otherwise.
 */
import { randomUUID } from 'node:crypto';
import type { ValueCount } from '../../../lib/filter/value-counts.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { AnswerPage, IncludedFields, PageItem } from '../../../lib/shard/match.ts';
import { nextBit } from '../engine/bitmap.ts';
import type { ShardQuery } from '../engine/query.ts';
import type { Ranking } from '../engine/search.ts';
import type { Shard } from '../engine/shard.ts';
import { runThrough, STEP_NS, StepMeter, type Steps } from '../steps.ts';

/**
 * Maximum number of open cursors per shard; beyond it, the oldest of the kind is ended. A cursor
 * over all records keeps every record as it was. Other requests may have a hundred cursors each.
 */
const CURSORS_MAX = { all: 64, some: 4_096 };

/** Estimated costs of assembling an item, and of each of its bytes. */
const ITEM_NS = 1_000;
const ITEM_BYTE_NS = 1;
/** Estimated size of an item besides metadata and values. */
const ITEM_BYTES = 200;
/** Estimated size of a value and its count, besides its characters. */
const VALUE_BYTES = 40;

export class PageCursor {
  /** Whether it covers all records of the shard or only some. */
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

  static ofMatches(shard: Shard, ranking: Ranking, query: ShardQuery): PageCursor {
    return PageCursor.#ofSlots(shard, ranking.slots, (rank) => shard.matchAt(rank, ranking, query));
  }

  static ofRecords(shard: Shard, slots: Uint32Array): PageCursor {
    return PageCursor.#ofSlots(shard, slots, (at) => shard.recordAt(slots[at]));
  }

  static ofListed(shard: Shard, slots: Uint32Array, include: IncludedFields): PageCursor {
    return PageCursor.#ofSlots(shard, slots, (at) => shard.listedAt(slots[at], include));
  }

  /**
   * Creates a cursor over all records, in any order. Each record is released as soon as it is read.
   */
  static ofAll(shard: Shard): PageCursor {
    const held = shard.snapshot();
    let slot = -1;
    const readNext = (): PageItem => {
      slot = nextBit(held, slot + 1);
      const record = shard.recordAt(slot);
      shard.releaseSlot(held, slot);
      return record;
    };
    return new PageCursor('all', shard.records, readNext, () => shard.endSnapshot(held));
  }

  static ofValues(counts: readonly ValueCount[]): PageCursor {
    return new PageCursor(
      'some',
      counts.length,
      (at) => counts[at],
      () => undefined,
    );
  }

  static #ofSlots(shard: Shard, slots: Uint32Array, itemAt: (at: number) => PageItem): PageCursor {
    shard.pin(slots);
    return new PageCursor('some', slots.length, itemAt, () => shard.unpin(slots));
  }

  get isAtEnd(): boolean {
    return this.#next === this.#length;
  }

  /**
   * Returns the next items, slightly more than `maxBytes` at most, but at least one if any is left.
   * Returns none for 0.
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

/** The open cursors of one shard. */
export class PageCursors {
  /** Least recently used first. */
  readonly #open = new Map<string, { reading: PageCursor; usedMs: number }>();
  readonly #counts = { all: 0, some: 0 };

  /** Returns the page, and the name of the cursor if there are more pages. */
  keep(reading: PageCursor, items: PageItem[], monotonicMs: number, name: string = randomUUID()): AnswerPage<PageItem> {
    if (reading.isAtEnd) {
      reading.end();
      return { items, rest: null };
    }
    this.#open.set(name, { reading, usedMs: monotonicMs });
    if (++this.#counts[reading.of] > CURSORS_MAX[reading.of]) this.#endOldest(reading.of);
    return { items, rest: name };
  }

  /** Returns the next page, or null if the cursor is no longer open. */
  next(name: string, maxBytes: number, monotonicMs: number): AnswerPage<PageItem> | null {
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

  #remove(name: string, reading: PageCursor): void {
    this.#open.delete(name);
    this.#counts[reading.of]--;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Ends expired cursors. Returns whether there were any. */
  expire(monotonicMs: number): boolean {
    const before = this.#open.size;
    for (const [name, { usedMs }] of this.#open) {
      if (monotonicMs - usedMs <= INTERNAL_LIMITS.unaskedPageMaxMs) break;
      this.end(name);
    }
    return this.#open.size < before;
  }
}
