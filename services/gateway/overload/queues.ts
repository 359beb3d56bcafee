import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { FairQueue, type Permit, type QueueBounds, type QueueRequest } from './fair-queue.ts';
import type { OverloadMetrics } from './overload-metrics.ts';

/** An account may hold twice the permits that it leaves to others. */
const SHARE_FACTOR = 2;

/**
 * The queues that requests wait in before their action is called, each with permits of its own, so
 * that work of one kind never waits behind another: queries, which take a permit for each shard
 * that they search; upserts, which may wait for the ledger; verifies, which take long; deletes,
 * which make room, and what operators do, which wait behind no other account; and everything else.
 * `parse` is for large bodies, within the permit of their request.
 */
export const QUEUES = ['query', 'write', 'verify', 'unshared', 'other', 'parse'] as const;
export type QueueName = (typeof QUEUES)[number];

/** Bounds by queue, where they differ from those of `INTERNAL_LIMITS`. */
export type QueueChanges = { readonly [name in QueueName]?: Partial<QueueBounds> };

export interface QueuesParts {
  /** Searches of shards that are under way at once. */
  queryPermits: number;
  /** Threads for large bodies. */
  parsePermits: number;
  changes: QueueChanges;
  timers: Timers;
  monotonicMs(): number;
  metrics: OverloadMetrics;
}

function boundsOf({ parsePermits, queryPermits }: QueuesParts): Record<QueueName, QueueBounds> {
  const shared = (permits: number, shareFactor = SHARE_FACTOR): QueueBounds => ({
    permits,
    shareFactor,
    permitsPerAccount: false,
    waitingMax: INTERNAL_LIMITS.waitingMaxRequests,
    waitingPerAccountMax: INTERNAL_LIMITS.waitingPerAccountMaxRequests,
    waitMaxMs: INTERNAL_LIMITS.waitMaxMs,
  });
  return {
    query: shared(queryPermits),
    write: shared(INTERNAL_LIMITS.writePermits),
    verify: shared(INTERNAL_LIMITS.verifyPermits),
    unshared: { ...shared(INTERNAL_LIMITS.unsharedPermitsPerAccount), permitsPerAccount: true },
    other: shared(INTERNAL_LIMITS.otherPermits),
    // They are few and soon free again: what one leaves to others would stand idle.
    parse: shared(parsePermits, Number.POSITIVE_INFINITY),
  };
}

export class Queues {
  readonly #queues: Readonly<Record<QueueName, FairQueue>>;

  constructor(parts: QueuesParts) {
    const { changes, metrics, monotonicMs, timers } = parts;
    const bounds = boundsOf(parts);
    this.#queues = Object.fromEntries(
      QUEUES.map((name) => [
        name,
        new FairQueue(
          { ...bounds[name], ...changes[name] },
          { timers, monotonicMs, observer: metrics.observerOf(name) },
        ),
      ]),
    ) as Record<QueueName, FairQueue>;
  }

  /** Resolves when the request may begin. Rejects with UNAVAILABLE, or with ClientGoneError. */
  enter(name: QueueName, request: QueueRequest): Promise<Permit> {
    return this.#queues[name].enter(request);
  }

  /** Refuses all that wait, and whoever still comes. */
  close(): void {
    for (const queue of Object.values(this.#queues)) queue.close();
  }
}
