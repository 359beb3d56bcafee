import type { Caller } from '../../../lib/actions/call.ts';
import { answerBudget, textBudget } from '../../../lib/admission/answer-size.ts';
import { type MemoryBounds, MemoryBudget } from '../../../lib/admission/memory-budget.ts';
import { unavailable } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../../lib/time/timers.ts';
import type { Metrics } from '../../../mixins/metrics.ts';
import { FairQueue, type QueueBounds } from './fair-queue.ts';
import { OverloadMetrics } from './overload-metrics.ts';
import { type QueueName, queueBounds } from './queues.ts';
import { ShardWaits } from './shard-waits.ts';

/** Where they differ from those of `INTERNAL_LIMITS`. */
export interface OverloadBounds {
  queues?: { readonly [name in QueueName]?: Partial<QueueBounds> };
  bodies?: MemoryBounds;
  arrivalsMax?: number;
  drainWaitMaxMs?: number;
}

interface OverloadParts {
  metrics: Metrics;
  clock: Clock;
  /** Searches of shards that are under way at once. */
  queryPermits: number;
  /** Threads for large bodies. */
  parsePermits: number;
  bounds: OverloadBounds;
  caller: Caller;
}

const BODIES: MemoryBounds = {
  maxBytes: INTERNAL_LIMITS.bodiesInFlightMaxBytes,
  smallReserveBytes: INTERNAL_LIMITS.bodiesSmallReserveBytes,
  smallMaxBytes: INTERNAL_LIMITS.bodySmallMaxBytes,
};
const TOO_LARGE_BODIES = 'Too many large requests are on their way; send this one again.';

/** All that bounds how much the gateway takes on at once; each refuses with UNAVAILABLE. */
export class Overload {
  /** Turns of requests, by kind. */
  readonly queues: Readonly<Record<QueueName, FairQueue>>;
  /** Where requests wait for a shard that is away. */
  readonly away: ShardWaits;
  /** Memory of bodies. */
  readonly bodies: MemoryBudget;
  /** Memory of what answers are made from. */
  readonly answers: MemoryBudget;
  /** Memory of answers that are sent as one text. */
  readonly texts: MemoryBudget;
  readonly #arrivalsMax: number;
  readonly #metrics: OverloadMetrics;
  #arrivals = 0;

  constructor({ metrics, clock, queryPermits, parsePermits, bounds, caller }: OverloadParts) {
    const seen = new OverloadMetrics(metrics.registry);
    const monotonicMs = (): number => clock.monotonicMs();
    this.#metrics = seen;
    this.#arrivalsMax = bounds.arrivalsMax ?? INTERNAL_LIMITS.arrivalsMaxRequests;
    const timers = SYSTEM_TIMERS;
    const queueOf = ([name, own]: [string, QueueBounds]): [string, FairQueue] => {
      const changes = bounds.queues?.[name as QueueName];
      return [name, new FairQueue({ ...own, ...changes }, { timers, monotonicMs, observer: seen.observerOf(name) })];
    };
    const queues = Object.entries(queueBounds(queryPermits, parsePermits)).map(queueOf);
    this.queues = Object.fromEntries(queues) as Record<QueueName, FairQueue>;
    this.away = new ShardWaits({ caller, timers, monotonicMs, observer: seen.observerOf('away') });
    const bodiesObserver = seen.memoryObserverOf('bodies', metrics.bodyBytes);
    this.bodies = new MemoryBudget(bounds.bodies ?? BODIES, TOO_LARGE_BODIES, bodiesObserver);
    this.answers = answerBudget(seen.memoryObserverOf('answers', metrics.answerBytes));
    this.texts = textBudget(seen.memoryObserverOf('texts', metrics.textBytes));
  }

  /**
   * Runs `identify` for a request of which nobody knows yet whose it is. Throws UNAVAILABLE where
   * there are too many such, unless it is not `refusable`.
   */
  async arrive(refusable: boolean, identify: () => Promise<void>): Promise<void> {
    if (refusable && this.#arrivals >= this.#arrivalsMax) {
      this.#metrics.refused('arrivals', 'all full');
      throw unavailable('The service is overloaded; send the request again later.');
    }
    this.#arrivals++;
    try {
      await identify();
    } finally {
      this.#arrivals--;
    }
  }

  /** Refuses all that wait, and whoever still comes. */
  close(): void {
    for (const queue of Object.values(this.queues)) queue.close();
    this.away.close();
  }
}
