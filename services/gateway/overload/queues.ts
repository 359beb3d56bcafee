import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { FairQueue, type QueueBounds, type Seat, type Visitor } from './fair-queue.ts';
import type { OverloadMetrics } from './overload-metrics.ts';

/** An account may hold twice the seats that it leaves to others. */
const SHARE_FACTOR = 2;

/**
 * The queues that requests wait in before their action is called, each with seats of its own, so
 * that work of one kind never waits behind another: queries, which take a seat for each shard that
 * they search; upserts, which may wait for the ledger; verifies, which take long; deletes, which
 * make room, and what operators do, which wait behind no other account; and everything else.
 * `parse` is for large bodies, within the seat of their request.
 */
export const QUEUES = ['query', 'write', 'verify', 'unshared', 'other', 'parse'] as const;
export type QueueName = (typeof QUEUES)[number];

/** Bounds by queue, where they differ from those of `INTERNAL_LIMITS`. */
export type QueueChanges = { readonly [name in QueueName]?: Partial<QueueBounds> };

export interface QueuesParts {
  /** Searches of shards that are under way at once. */
  querySeats: number;
  /** Threads for large bodies. */
  parseSeats: number;
  changes: QueueChanges;
  timers: Timers;
  nowMs(): number;
  metrics: OverloadMetrics;
}

function boundsOf({ parseSeats, querySeats }: QueuesParts): Record<QueueName, QueueBounds> {
  const shared = (seats: number, shareFactor = SHARE_FACTOR): QueueBounds => ({
    seats,
    shareFactor,
    seatsPerAccount: false,
    waitingMax: INTERNAL_LIMITS.waitingMaxRequests,
    waitingPerAccountMax: INTERNAL_LIMITS.waitingPerAccountMaxRequests,
    waitMaxMs: INTERNAL_LIMITS.waitMaxMs,
  });
  return {
    query: shared(querySeats),
    write: shared(INTERNAL_LIMITS.writeSeats),
    verify: shared(INTERNAL_LIMITS.verifySeats),
    unshared: { ...shared(INTERNAL_LIMITS.unsharedSeatsPerAccount), seatsPerAccount: true },
    other: shared(INTERNAL_LIMITS.otherSeats),
    // They are few and soon free again: what one leaves to others would stand idle.
    parse: shared(parseSeats, Number.POSITIVE_INFINITY),
  };
}

export class Queues {
  readonly #queues: Readonly<Record<QueueName, FairQueue>>;

  constructor(parts: QueuesParts) {
    const { changes, metrics, nowMs, timers } = parts;
    const bounds = boundsOf(parts);
    this.#queues = Object.fromEntries(
      QUEUES.map((name) => [
        name,
        new FairQueue({ ...bounds[name], ...changes[name] }, { timers, nowMs, observer: metrics.observerOf(name) }),
      ]),
    ) as Record<QueueName, FairQueue>;
  }

  /** Resolves when the request may begin. Rejects with UNAVAILABLE, or with ClientGoneError. */
  enter(name: QueueName, visitor: Visitor): Promise<Seat> {
    return this.#queues[name].enter(visitor);
  }

  /** Refuses all that wait, and whoever still comes. */
  close(): void {
    for (const queue of Object.values(this.#queues)) queue.close();
  }
}
