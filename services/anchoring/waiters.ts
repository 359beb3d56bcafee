/**
 * Writes that wait until a confirmed root contains them, whichever instance confirms it.
 *
 * Promises: a waiter is answered when this instance confirms, soon after it is told of a change, or
 * at the next look at the row; whatever is told or lost, each row waited for is looked at in its
 * turn, and there are at most ten readings a second of at most 100 rows each, however many wait.
 * How it fails: with null at the end of the wait. A store that cannot be read is asked again.
 */

import { contains } from '../../lib/shard/cut.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { AnchorRow, AnchorStore, Confirmed } from '../../lib/store/anchors.ts';
import type { Clock } from '../../lib/time/clock.ts';

const READING_ROWS = 100;
/** Between two readings. */
const GAP_MIN_MS = 100;
/** Between two readings when nothing was told. */
const GAP_MAX_MS = 250;

interface Waiter {
  cut: Cut;
  settle(confirmed: Confirmed | null): void;
}

export class Waiters {
  readonly #anchors: Pick<AnchorStore, 'getMany'>;
  readonly #clock: Clock;
  /** By collection, the one that was looked at longest ago first. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #told = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #isReading = false;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(anchors: Pick<AnchorStore, 'getMany'>, clock: Clock) {
    this.#anchors = anchors;
    this.#clock = clock;
  }

  /**
   * The confirmed root that contains `cut`, or null after `waitMs` or when there will be none for
   * now.
   */
  wait(collectionId: string, cut: Cut, waitMs: number): Promise<Confirmed | null> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        cut,
        settle: (confirmed) => {
          clearTimeout(timer);
          this.#drop(collectionId, waiter);
          resolve(confirmed);
        },
      };
      const timer = setTimeout(() => waiter.settle(null), waitMs);
      const waiters = this.#waiting.get(collectionId);
      if (waiters) waiters.add(waiter);
      else this.#waiting.set(collectionId, new Set([waiter]));
      this.#schedule(GAP_MAX_MS);
    });
  }

  /** The row may have changed. */
  tell(collectionId: string): void {
    if (!this.#waiting.has(collectionId)) return;
    this.#told.add(collectionId);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#schedule(GAP_MIN_MS);
  }

  /**
   * Answers those whom the row answers: confirmed roots, or that nothing will be confirmed for now.
   */
  settle(row: AnchorRow): void {
    for (const waiter of [...(this.#waiting.get(row.collectionId) ?? [])]) {
      if (row.halted || row.closing) waiter.settle(null);
      else if (row.confirmed && contains(row.confirmed.cut, waiter.cut)) waiter.settle(row.confirmed);
    }
  }

  /** Nothing will be confirmed for these collections; all of them when none are named. */
  release(collectionIds: Iterable<string> = [...this.#waiting.keys()]): void {
    for (const id of collectionIds) for (const waiter of [...(this.#waiting.get(id) ?? [])]) waiter.settle(null);
  }

  #drop(collectionId: string, waiter: Waiter): void {
    const waiters = this.#waiting.get(collectionId);
    waiters?.delete(waiter);
    if (waiters?.size !== 0) return;
    this.#waiting.delete(collectionId);
    this.#told.delete(collectionId);
  }

  #schedule(gapMs: number): void {
    if (this.#timer || this.#isReading || this.#waiting.size === 0) return;
    const monotonicMs = this.#clock.monotonicMs();
    const waitedMs = monotonicMs - this.#readAtMs;
    // The first look leaves time for what usually comes by itself.
    const afterMs = waitedMs >= GAP_MAX_MS && this.#told.size === 0 ? gapMs : Math.max(0, gapMs - waitedMs);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#read();
    }, afterMs);
  }

  async #read(): Promise<void> {
    if (this.#waiting.size === 0) return;
    this.#isReading = true;
    this.#readAtMs = this.#clock.monotonicMs();
    const ids = [...new Set([...this.#told, ...this.#waiting.keys()])].slice(0, READING_ROWS);
    for (const id of ids) {
      this.#told.delete(id);
      const waiters = this.#waiting.get(id)!;
      this.#waiting.delete(id);
      this.#waiting.set(id, waiters);
    }
    try {
      const rows = await this.#anchors.getMany(ids);
      for (const row of rows) this.settle(row);
      const found = new Set(rows.map(({ collectionId }) => collectionId));
      this.release(ids.filter((id) => !found.has(id)));
    } catch {
      // Read again at the next look.
    }
    this.#isReading = false;
    this.#schedule(this.#told.size > 0 ? GAP_MIN_MS : GAP_MAX_MS);
  }
}
