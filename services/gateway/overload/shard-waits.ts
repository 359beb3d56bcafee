/**
 * Requests waiting for an unavailable shard, with one shared wait per account, collection and set
 * of shards.
 *
 * A request whose shard is unavailable releases its permit, waits for the shard, and then queues
 * again. A query that needs all shards joins a wait of its collection without trying first. Retries
 * back off if a shard is reported ready but is not. Rejects with the SHARD_UNAVAILABLE error of the
 * request that began the wait: at the deadline, if `perAccountMax` requests of the account already
 * wait, or when the service stops.
 */
import { type Caller, call } from '../../../contracts/actions/call.ts';
import { Cancelled } from '../../../contracts/actions/cancelled.ts';
import type { ProvecError } from '../../../lib/errors.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { isShardUnavailable } from '../../../lib/shard/shard-unavailable.ts';
import { type Backoff, backoffMs } from '../../../lib/time/backoff.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';
import type { QueueObserver } from './fair-queue.ts';

/** Time in ms that a call waits for a shard before the request waits here. */
export const SHARD_WAIT_MS = 300;
/** Delay in ms before a retry if the readiness check failed. */
const AGAIN_AFTER_MS = 500;
/** Delay between retries when shards are reported ready at once. */
const RETRY_BACKOFF: Backoff = { minMs: 20, maxMs: AGAIN_AFTER_MS };
/** Minimum remaining time in ms that is worth another attempt. */
const ATTEMPT_MIN_MS = 100;

/** Request that may wait for a shard. */
export interface Waiter {
  account: string;
  /** Name of the collection, or an alias. */
  collection: string;
  /** Known once the name has been looked up; by then the name may belong to another collection. */
  collectionId?: CollectionId | undefined;
  /** Deadline in monotonic milliseconds, by `ShardWaitsParts.monotonicMs`. */
  deadlineMs: number;
  whenGone(leave: () => void): () => void;
  /** Releases the request's permit and reserved memory. */
  leave(): void;
  /** Queues for a permit. Rejects with UNAVAILABLE. */
  enter(): Promise<void>;
}

interface ShardWaitsParts {
  caller: Caller;
  timers: Timers;
  monotonicMs(): number;
  observer: Pick<QueueObserver, 'waiting' | 'refused'>;
  /** Default: the one of `INTERNAL_LIMITS`. */
  perAccountMax?: number;
}

interface Wait {
  /** Error of the request that began the wait. */
  error: ProvecError;
  ready: Promise<unknown>;
  /** Number of waiting requests. */
  waiters: number;
  /** Ends the readiness check. */
  abandon(): void;
}

export class ShardWaits {
  readonly #parts: ShardWaitsParts;
  /** By account and collection, then by the awaited shards. */
  readonly #waits = new Map<string, Map<string, Wait>>();
  /** Number of waiting requests, by account and in total. */
  readonly #waiting = new Map<string, number>();
  #waitingTotal = 0;
  readonly #refusals = new Set<(error: Error | null) => void>();
  #closed = false;

  constructor(parts: ShardWaitsParts) {
    this.#parts = parts;
  }

  /**
   * Runs `attempt` until it no longer fails for an unavailable shard, and returns its result.
   * `needsAll`: the request needs every shard of its collection. `leftMs`: null for the first
   * attempt, then the remaining time in ms. Rejects with the error of `attempt`, or with
   * ClientGoneError.
   */
  async run<T>(waiter: Waiter, needsAll: boolean, attempt: (leftMs: number | null) => Promise<T>): Promise<T> {
    let leftMs: number | null = null;
    let wait = needsAll ? this.#anyWait(waiter) : null;
    for (let waits = 0; ; waits++, wait = null) {
      try {
        if (wait === null) return await attempt(leftMs);
      } catch (error) {
        if (!isShardUnavailable(error) || !error.shards?.length) throw error;
        wait = this.#waitFor(waiter, error, error.shards);
      }
      waiter.leave();
      const pauseMs = waits === 0 ? 0 : backoffMs(waits - 1, RETRY_BACKOFF);
      await this.#wait(waiter, wait, pauseMs);
      await waiter.enter();
      leftMs = this.#left(waiter);
      if (leftMs < ATTEMPT_MIN_MS) throw wait.error;
    }
  }

  /** Refuses all waiting and later requests. */
  close(): void {
    this.#closed = true;
    for (const refuse of [...this.#refusals]) refuse(null);
  }

  #left({ deadlineMs }: Waiter): number {
    return deadlineMs - this.#parts.monotonicMs();
  }

  #anyWait(waiter: Waiter): Wait | null {
    for (const wait of this.#waits.get(keyOf(waiter))?.values() ?? []) return wait;
    return null;
  }

  #waitFor(waiter: Waiter, error: ProvecError, shards: number[]): Wait {
    const { account, collection, collectionId } = waiter;
    const key = keyOf(waiter);
    const waits = this.#waits.get(key) ?? new Map<string, Wait>();
    const known = waits.get(shards.join());
    if (known) return known;
    const params = { accountId: account, name: collection, collectionId, shards };
    const check = new AbortController();
    const options = { timeout: INTERNAL_LIMITS.actionTimeoutMs, signal: check.signal };
    const forget = (): void => {
      if (waits.get(shards.join()) !== wait) return;
      waits.delete(shards.join());
      if (waits.size === 0) this.#waits.delete(key);
    };
    const abandon = (): void => {
      forget();
      check.abort(new Cancelled(false));
    };
    const ready = call(this.#parts.caller, 'collections.whenReady', params, options);
    const wait: Wait = { error, ready, waiters: 0, abandon };
    this.#waits.set(key, waits.set(shards.join(), wait));
    ready.then(forget, forget);
    return wait;
  }

  /** Waits for the shards like `#untilReady`. The last request that leaves ends their check. */
  async #wait(waiter: Waiter, wait: Wait, minMs: number): Promise<void> {
    wait.waiters++;
    try {
      await this.#untilReady(waiter, wait, minMs);
    } finally {
      wait.waiters--;
      if (wait.waiters === 0) wait.abandon();
    }
  }

  /** Waits for the shards, at least `minMs`. Rejects at the request's deadline. */
  async #untilReady(waiter: Waiter, { error, ready }: Wait, minMs: number): Promise<void> {
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
        // The check may fail although the shards are ready, for example if its node stops. The
        // requests then try again without it.
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
    this.#waitingTotal += change;
    this.#parts.observer.waiting(this.#waitingTotal);
  }
}

/** Collections are told apart by id, which contains no slash, or else by name. */
function keyOf({ account, collection, collectionId }: Waiter): string {
  return collectionId === undefined ? `${account}/name/${collection}` : `${account}/id/${collectionId}`;
}
