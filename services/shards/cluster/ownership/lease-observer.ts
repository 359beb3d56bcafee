/**
 * Reads as few of the other nodes' leases as necessary, and ends those that are dead.
 *
 * Guarantees: some node watches every lease, and the total number of rows read grows linearly with
 * the number of nodes, not quadratically. `isOver` reports a lease as over only once it is gone
 * from the store, so no two nodes disagree. On failure: while the store is down no lease is
 * declared dead, and reading continues until it is back. See docs/internals/ownership.md.
 */
import { listEveryMs, watchedLeases } from '../../../../lib/placement/lease-ring.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import type { Timers } from '../../../../lib/time/timers.ts';
import type { LeaseRow, LeaseStore } from '../../../../store/owners.ts';
import { RENEW_RETRY_MS, WATCH_EVERY_MS } from './lease-terms.ts';
import type { LeaseWatch } from './lease-watch.ts';

/** Time, in ms, to keep watching a lease after a caller asked about it. */
const AWAITED_MS = 10_000;
/** Time, in ms, during which one read also answers other callers that ask about the same lease. */
const ANSWER_GOOD_MS = 250;

export interface LeaseObserverOptions {
  leases: LeaseStore;
  watch: LeaseWatch;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
  /** Incarnation of this node's lease, or null without one. */
  own(): string | null;
  /** Whether the process behind a lease is known to have ended. */
  isGone(row: LeaseRow): Promise<boolean>;
  /** Called when this node found a lease dead and ended it. */
  onDead(row: LeaseRow): void;
  /** Time between two reads of all leases, in ms. Default: `listEveryMs` of the lease ring. */
  listEveryMs?(nodes: number): number;
}

export class LeaseObserver {
  readonly #options: LeaseObserverOptions;
  /** Leases that callers wait for, and until when they are watched. */
  readonly #awaited = new Map<string, number>();
  readonly #asking = new Map<string, { beganMs: number; over: Promise<boolean> }>();
  #listAtMs = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: LeaseObserverOptions) {
    this.#options = options;
  }

  /** Reads all leases once, if the store is up, and keeps reading. */
  start(): Promise<void> {
    return this.#turn();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Reads all leases now. Throws StoreError. */
  readAll(): Promise<void> {
    return this.#read(null);
  }

  /**
   * Returns whether the lease is gone from the store, reading it if that is not known. Ends it if
   * it is dead. Throws StoreError.
   */
  isOver(incarnation: string): Promise<boolean> {
    const { watch, clock } = this.#options;
    if (watch.isOver(incarnation)) return Promise.resolve(true);
    const monotonicMs = clock.monotonicMs();
    this.#awaited.set(incarnation, monotonicMs + AWAITED_MS);
    const asking = this.#asking.get(incarnation);
    if (asking && monotonicMs - asking.beganMs < ANSWER_GOOD_MS) return asking.over;
    const asked = { beganMs: monotonicMs, over: this.#ask(incarnation) };
    this.#asking.set(incarnation, asked);
    asked.over.catch(() => {
      if (this.#asking.get(incarnation) === asked) this.#asking.delete(incarnation);
    });
    return asked.over;
  }

  async #ask(incarnation: string): Promise<boolean> {
    const { watch } = this.#options;
    await this.#read([incarnation]);
    const dead = watch.dead().find(({ row }) => row.incarnation === incarnation);
    if (dead) await this.#end(dead);
    return watch.isOver(incarnation);
  }

  async #turn(): Promise<void> {
    if (this.#stopped) return;
    this.#cancel();
    const { watch, timers } = this.#options;
    // Schedule the next turn first: a store that hangs must not stop the observer.
    this.#cancel = timers.after(WATCH_EVERY_MS, () => void this.#turn());
    try {
      await this.#read(this.#due());
      for (const dead of watch.dead()) await this.#end(dead);
    } catch {
      this.#listAtMs = Number.NEGATIVE_INFINITY;
      this.#cancel();
      if (!this.#stopped) this.#cancel = timers.after(RENEW_RETRY_MS, () => void this.#turn());
    }
  }

  /** Returns the leases to read now, or null for all. */
  #due(): string[] | null {
    const { watch, clock, own, listEveryMs: every = listEveryMs } = this.#options;
    const monotonicMs = clock.monotonicMs();
    for (const [incarnation, untilMs] of this.#awaited) {
      if (untilMs > monotonicMs && !watch.isOver(incarnation)) continue;
      this.#awaited.delete(incarnation);
      this.#asking.delete(incarnation);
    }
    const live = watch.live().map(({ incarnation }) => incarnation);
    // A full read includes this node's own lease: everyone's usage comes from the same table.
    if (monotonicMs >= this.#listAtMs) {
      this.#listAtMs = monotonicMs + every(live.length) - WATCH_EVERY_MS / 2;
      return null;
    }
    return [...new Set([...watchedLeases(own() ?? '', live), ...this.#awaited.keys()])];
  }

  async #read(asked: string[] | null): Promise<void> {
    const { leases, watch, isGone } = this.#options;
    if (asked?.length === 0) return;
    const reading = watch.begin(asked);
    watch.observe(asked === null ? await leases.list() : await leases.get(asked), reading);
    for (const row of watch.live()) if (await isGone(row)) watch.markGone(row.incarnation);
  }

  /**
   * Ends a dead lease. If it was judged by its beat, ends it only at that beat; a lease renewed in
   * the meantime stays, and the next read shows it.
   */
  async #end({ row, gone }: { row: LeaseRow; gone: boolean }): Promise<void> {
    const { leases, watch, onDead } = this.#options;
    if (!(await leases.end(row.incarnation, gone ? undefined : row.beat))) return;
    const isNew = !watch.isOver(row.incarnation);
    watch.end(row.incarnation);
    if (isNew && !this.#stopped) onDead(row);
  }
}
