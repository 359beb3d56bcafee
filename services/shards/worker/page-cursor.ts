/**
 * An answer delivered page by page, so that its receiver handles at most one page at a time. All
 * pages show the state in which it was found. The cursor holds the result until the last page is
 * taken, or it ends otherwise.
 */
import { randomUUID } from 'node:crypto';
import type { ValueCount } from '../../../lib/filter/value-counts.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { AnswerPage, PageItem } from '../../../lib/shard/match.ts';
import type { ReadResult } from '../engine/port.ts';
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

export class PageCursor<T extends PageItem = PageItem> {
  /** Whether it covers all records of the shard or only some. */
  readonly of: 'all' | 'some';
  readonly #result: ReadResult<T>;
  #taken = 0;

  /** Releases the result when it ends. */
  constructor(result: ReadResult<T>, of: 'all' | 'some' = 'some') {
    this.of = of;
    this.#result = result;
  }

  static ofValues(counts: readonly ValueCount[]): PageCursor<ValueCount> {
    const values = counts.values();
    return new PageCursor({
      length: counts.length,
      next: () => values.next().value!,
      release: () => undefined,
    });
  }

  get isAtEnd(): boolean {
    return this.#taken === this.#result.length;
  }

  /**
   * Returns the next items, slightly more than `maxBytes` at most, but at least one if any is left.
   * Returns none for 0.
   */
  *page(maxBytes: number): Steps<T[]> {
    const meter = new StepMeter(STEP_NS);
    const items: T[] = [];
    for (let bytes = 0; bytes < maxBytes && !this.isAtEnd; ) {
      const item = this.#result.next();
      this.#taken++;
      const itemBytes = bytesOf(item);
      items.push(item);
      bytes += itemBytes;
      meter.spentNs += ITEM_NS + itemBytes * ITEM_BYTE_NS;
      if (meter.due()) yield 'sending';
    }
    return items;
  }

  end(): void {
    this.#result.release();
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
  keep<T extends PageItem>(
    reading: PageCursor<T>,
    items: T[],
    monotonicMs: number,
    name: string = randomUUID(),
  ): AnswerPage<T> {
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
