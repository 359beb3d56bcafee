/**
 * Where requests wait for a shard that is away, one wait for all of a collection, and hold
 * nothing but their place.
 *
 * Promises: a request that meets a shard for which nobody can answer gives its permit to others,
 * waits until the shard is back, and then takes its turn as any other does. A query of a collection
 * for which others wait joins them without an attempt of its own. All that wait for one shard ask
 * for it once. Where a shard is said to be back and is not, attempts come further and further
 * apart. How it fails: with the SHARD_UNAVAILABLE that it met, when its time is over, when
 * `perAccountMax` requests of its account wait already, or when the service stops.
 */
import { type Caller, call } from '../../../lib/actions/call.ts';
import type { ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { isShardAway } from '../../../lib/shard/away.ts';
import { type Backoff, backoffMs } from '../../../lib/time/backoff.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';
import type { QueueObserver } from './fair-queue.ts';

/** What a shard may take to answer for itself before its caller waits here. */
export const SHARD_WAIT_MS = 300;
/** After which it is tried again when nobody could say whether a shard is back. */
const AGAIN_AFTER_MS = 500;
/** Between attempts that are made although the shard never was away for long. */
const ATTEMPTS_APART: Backoff = { minMs: 20, maxMs: AGAIN_AFTER_MS };
/** Less is not worth another attempt. */
const ATTEMPT_MIN_MS = 100;

/** A request, as long as it may wait. */
export interface Waiter {
  account: string;
  collection: string;
  /** On the clock of the waits. */
  deadlineMs: number;
  whenGone(leave: () => void): () => void;
  /** Gives the permit to others. */
  leave(): void;
  /** Takes a turn for a permit. Rejects with UNAVAILABLE. */
  enter(): Promise<void>;
}

interface ShardWaitsParts {
  caller: Caller;
  timers: Timers;
  monotonicMs(): number;
  observer: Pick<QueueObserver, 'waiting' | 'refused'>;
  /** Default: that of `INTERNAL_LIMITS`. */
  perAccountMax?: number;
}

interface Wait {
  /** What the request that began it met. */
  error: ProvecError;
  ready: Promise<unknown>;
}

export class ShardWaits {
  readonly #parts: ShardWaitsParts;
  /** By account and collection, then by the shards that are waited for. */
  readonly #waits = new Map<string, Map<string, Wait>>();
  readonly #waiting = new Map<string, number>();
  readonly #refusals = new Set<(error: Error | null) => void>();
  #closed = false;

  constructor(parts: ShardWaitsParts) {
    this.#parts = parts;
  }

  /**
   * What `attempt` gives, made again whenever a shard that was away is back. `needsAll`: the
   * request needs every shard of its collection. `leftMs`: null at first, then what is left of its
   * time. Rejects as `attempt` does, or with ClientGoneError.
   */
  async run<T>(waiter: Waiter, needsAll: boolean, attempt: (leftMs: number | null) => Promise<T>): Promise<T> {
    let leftMs: number | null = null;
    let wait = needsAll ? this.#anyWait(waiter) : null;
    for (let waits = 0; ; waits++, wait = null) {
      try {
        if (wait === null) return await attempt(leftMs);
      } catch (error) {
        if (!isShardAway(error) || !error.shards?.length) throw error;
        wait = this.#waitFor(waiter, error, error.shards);
      }
      waiter.leave();
      const pauseMs = waits === 0 ? 0 : backoffMs(waits - 1, ATTEMPTS_APART);
      await this.#wait(waiter, wait, pauseMs);
      await waiter.enter();
      leftMs = this.#left(waiter);
      if (leftMs < ATTEMPT_MIN_MS) throw wait.error;
    }
  }

  /** Refuses all that wait, and whoever still comes. */
  close(): void {
    this.#closed = true;
    for (const refuse of [...this.#refusals]) refuse(null);
  }

  #left({ deadlineMs }: Waiter): number {
    return deadlineMs - this.#parts.monotonicMs();
  }

  #anyWait({ account, collection }: Waiter): Wait | null {
    for (const wait of this.#waits.get(`${account}/${collection}`)?.values() ?? []) return wait;
    return null;
  }

  #waitFor(waiter: Waiter, error: ProvecError, shards: number[]): Wait {
    const { account, collection } = waiter;
    const key = `${account}/${collection}`;
    const waits = this.#waits.get(key) ?? new Map<string, Wait>();
    const known = waits.get(shards.join());
    if (known) return known;
    const params = { accountId: account, name: collection, shards };
    const options = { timeout: INTERNAL_LIMITS.actionTimeoutMs };
    const wait = { error, ready: call(this.#parts.caller, 'collections.whenReady', params, options) };
    this.#waits.set(key, waits.set(shards.join(), wait));
    const forget = (): void => {
      waits.delete(shards.join());
      if (waits.size === 0) this.#waits.delete(key);
    };
    wait.ready.then(forget, forget);
    return wait;
  }

  /** Takes `minMs` at least, unless the request ends before. */
  async #wait(waiter: Waiter, { error, ready }: Wait, minMs: number): Promise<void> {
    const { timers, observer, perAccountMax = INTERNAL_LIMITS.awayPerAccountMaxRequests } = this.#parts;
    const begunMs = this.#parts.monotonicMs();
    const leftMs = this.#left(waiter);
    const isFull = (this.#waiting.get(waiter.account) ?? 0) >= perAccountMax;
    if (isFull) observer.refused('account full');
    if (this.#closed || isFull || leftMs < ATTEMPT_MIN_MS) throw error;
    this.#count(waiter.account, 1);
    try {
      await new Promise<void>((resolve, reject) => {
        const over = (settle: () => void): void => {
          cancel();
          stopWatching();
          this.#refusals.delete(end);
          settle();
        };
        const end = (reason: Error | null): void => over(() => reject(reason ?? error));
        this.#refusals.add(end);
        const cancel = timers.after(leftMs, () => end(null));
        const stopWatching = waiter.whenGone(() => end(new ClientGoneError()));
        const goOn = (): void => over(resolve);
        // Whoever asked may be gone, and nobody knows then: each that has time left finds out for
        // itself.
        const after = (ms: number): void => void (ms > 0 ? timers.after(ms, goOn) : goOn());
        ready.then(
          () => after(begunMs + minMs - this.#parts.monotonicMs()),
          () => after(AGAIN_AFTER_MS),
        );
      });
    } finally {
      this.#count(waiter.account, -1);
    }
  }

  #count(account: string, change: number): void {
    const waiting = (this.#waiting.get(account) ?? 0) + change;
    if (waiting === 0) this.#waiting.delete(account);
    else this.#waiting.set(account, waiting);
    this.#parts.observer.waiting([...this.#waiting.values()].reduce((sum, count) => sum + count, 0));
  }
}
