/**
 * Reads the leases of the other nodes, as few as are enough, and ends those that are dead.
 *
 * Promises: some node watches every lease, and the rows that all nodes read together grow with
 * their number, not with its square. `isOver` says that a lease is over only when it is no longer
 * in the store, so two nodes never judge differently.
 * How it fails: while the store cannot be reached nobody is judged, and readings go on until it is
 * back.
 * See docs/internals/ownership.md.
 */
import { listEveryMs, watchedLeases } from '../../../../lib/placement/lease-ring.ts';
import type { LeaseRow, LeaseStore } from '../../../../lib/store/owners.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import type { Timers } from '../../../../lib/time/timers.ts';
import { RENEW_AGAIN_MS, WATCH_EVERY_MS } from './lease-terms.ts';
import type { LeaseWatch } from './lease-watch.ts';

/** A lease is watched for so long after somebody asked for it. */
const AWAITED_MS = 10_000;
/** What one reading gave is good for others that ask so soon after it began. */
const ANSWER_GOOD_MS = 250;

export interface LeaseObserverOptions {
  leases: LeaseStore;
  watch: LeaseWatch;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
  /** Incarnation of the own lease; null while there is none. */
  own(): string | null;
  /** Whether the process behind a lease is known to be no more. */
  isGone(row: LeaseRow): Promise<boolean>;
  /** A lease was found dead here, and ended. */
  onDead(row: LeaseRow): void;
  /** Default: that of the ring. */
  listEveryMs?(nodes: number): number;
}

export class LeaseObserver {
  readonly #options: LeaseObserverOptions;
  /** Leases that somebody waits for, and until when they are watched. */
  readonly #awaited = new Map<string, number>();
  readonly #asking = new Map<string, { beganMs: number; over: Promise<boolean> }>();
  #listAtMs = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: LeaseObserverOptions) {
    this.#options = options;
  }

  /** Reads all leases once, if the store can be reached, and goes on reading. */
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
   * Whether the lease is in the store no more, after a reading where that is not known; one that is
   * dead is ended. Throws StoreError.
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
    // A store that does not answer must not end the looking.
    this.#cancel = timers.after(WATCH_EVERY_MS, () => void this.#turn());
    try {
      await this.#read(this.#due());
      for (const dead of watch.dead()) await this.#end(dead);
    } catch {
      this.#listAtMs = Number.NEGATIVE_INFINITY;
      this.#cancel();
      if (!this.#stopped) this.#cancel = timers.after(RENEW_AGAIN_MS, () => void this.#turn());
    }
  }

  /** Which leases are to be read now; null: all. */
  #due(): string[] | null {
    const { watch, clock, own, listEveryMs: every = listEveryMs } = this.#options;
    const monotonicMs = clock.monotonicMs();
    for (const [incarnation, untilMs] of this.#awaited) {
      if (untilMs > monotonicMs && !watch.isOver(incarnation)) continue;
      this.#awaited.delete(incarnation);
      this.#asking.delete(incarnation);
    }
    const live = watch.live().map(({ incarnation }) => incarnation);
    // The own one is read as well, for the others: what all say of themselves is one table.
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
   * A lease that was judged by its beat is ended at that beat: where it was renewed meanwhile, the
   * next reading says so.
   */
  async #end({ row, gone }: { row: LeaseRow; gone: boolean }): Promise<void> {
    const { leases, watch, onDead } = this.#options;
    if (!(await leases.end(row.incarnation, gone ? undefined : row.beat))) return;
    const isNew = !watch.isOver(row.incarnation);
    watch.end(row.incarnation);
    if (isNew && !this.#stopped) onDead(row);
  }
}
