/**
 * Writes that wait until a confirmed root contains them, whichever instance confirms it.
 *
 * A waiter resolves when this instance confirms, soon after a message about a change, or at the
 * next poll of its row. Every awaited row is polled in turn, so a lost message only delays it.
 * There are at most ten reads per second, of at most 100 rows each. A waiter resolves with null at
 * its deadline. Failed reads are retried.
 */

import { getOrThrow } from '../../lib/checked-access.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { cutContains } from '../../lib/shard/cut.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { AnchorRow, AnchorStore, ConfirmedAnchor } from '../../store/anchors.ts';

const READING_ROWS = 100;
/** Minimum time between two reads in ms. */
const GAP_MIN_MS = 100;
/** Time between two reads in ms without messages. */
const GAP_MAX_MS = 250;

interface Waiter {
  cut: Cut;
  settle(confirmed: ConfirmedAnchor | null): void;
}

export class Waiters {
  readonly #anchors: Pick<AnchorStore, 'getMany'>;
  readonly #clock: Clock;
  /** By collection, the least recently polled first. */
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
   * Returns the confirmed root that contains `cut`. Returns null after `waitMs`, or if nothing will
   * be confirmed for now.
   */
  wait(collectionId: CollectionId, cut: Cut, waitMs: number): Promise<ConfirmedAnchor | null> {
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

  /** Polls the row soon, since it may have changed. */
  rowChanged(collectionId: CollectionId): void {
    if (!this.#waiting.has(collectionId)) return;
    this.#told.add(collectionId);
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#schedule(GAP_MIN_MS);
  }

  /** Resolves waiters with the row's confirmed root, or with null if it is halted or closing. */
  settle(row: AnchorRow): void {
    for (const waiter of [...(this.#waiting.get(row.collectionId) ?? [])]) {
      if (row.halted || row.closing) waiter.settle(null);
      else if (row.confirmed && cutContains(row.confirmed.cut, waiter.cut)) waiter.settle(row.confirmed);
    }
  }

  /** Resolves the waiters of these collections, by default of all, with null. */
  release(collectionIds: Iterable<string> = [...this.#waiting.keys()]): void {
    for (const id of collectionIds) for (const waiter of [...(this.#waiting.get(id) ?? [])]) waiter.settle(null);
  }

  #drop(collectionId: CollectionId, waiter: Waiter): void {
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
    // The first read is delayed: most waiters resolve before it.
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
      const waiters = getOrThrow(this.#waiting, id);
      this.#waiting.delete(id);
      this.#waiting.set(id, waiters);
    }
    try {
      const rows = await this.#anchors.getMany(ids);
      for (const row of rows) this.settle(row);
      const found = new Set(rows.map(({ collectionId }) => collectionId));
      this.release(ids.filter((id) => !found.has(id)));
    } catch {
      // Retried at the next poll.
    }
    this.#isReading = false;
    this.#schedule(this.#told.size > 0 ? GAP_MIN_MS : GAP_MAX_MS);
  }
}
