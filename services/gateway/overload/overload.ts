import type { Caller } from '../../../contracts/actions/call.ts';
import { answerBudget, textBudget } from '../../../lib/admission/answer-size.ts';
import { type MemoryBounds, MemoryBudget, type MemoryObserver } from '../../../lib/admission/memory-budget.ts';
import { unavailable } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../../lib/time/timers.ts';
import type { Metrics } from '../../../mixins/metrics.ts';
import { GarbageAfterRelease } from '../../../process/garbage.ts';
import { FairQueue, type QueueBounds } from './fair-queue.ts';
import { LoopPressure } from './loop-pressure.ts';
import { OverloadMetrics } from './overload-metrics.ts';
import { type QueueName, queueBounds } from './queues.ts';
import { ShardWaits } from './shard-waits.ts';

/** Overrides of the bounds in `INTERNAL_LIMITS`. */
export interface OverloadBounds {
  queues?: { readonly [name in QueueName]?: Partial<QueueBounds> };
  bodies?: MemoryBounds;
  arrivalsMax?: number;
  drainWaitMaxMs?: number;
}

interface OverloadParts {
  metrics: Metrics;
  clock: Clock;
  /** Maximum number of shard searches that run at once. */
  queryPermits: number;
  /** Number of threads for large bodies. */
  parsePermits: number;
  bounds: OverloadBounds;
  caller: Caller;
}

/** Queues whose label in metrics differs from their name. */
const LABELS: { readonly [name in QueueName]?: string } = { perAccount: 'unshared' };

const BODIES: MemoryBounds = {
  maxBytes: INTERNAL_LIMITS.bodiesInFlightMaxBytes,
  smallReserveBytes: INTERNAL_LIMITS.bodiesSmallReserveBytes,
  smallMaxBytes: INTERNAL_LIMITS.bodySmallMaxBytes,
};
const TOO_LARGE_BODIES = 'The service is receiving too many large requests; send this one again later.';

/** Returns an observer that also has the garbage of large answers collected. */
function collecting(observer: MemoryObserver): MemoryObserver {
  const garbage = new GarbageAfterRelease();
  const held = (bytes: number): void => {
    observer.held(bytes);
    garbage.reportHeld(bytes);
  };
  return { ...observer, held };
}

/** Limits how much work the gateway accepts at once. Every limit refuses with UNAVAILABLE. */
export class Overload {
  readonly queues: Readonly<Record<QueueName, FairQueue>>;
  /** Requests waiting for an unavailable shard. */
  readonly shardWaits: ShardWaits;
  readonly bodies: MemoryBudget;
  /** Memory budget of action results that responses are built from. */
  readonly answers: MemoryBudget;
  /** Memory budget of responses that are sent as a single text. */
  readonly texts: MemoryBudget;
  readonly #arrivalsMax: number;
  readonly #metrics: OverloadMetrics;
  readonly #pressure: LoopPressure;
  #arrivals = 0;

  constructor({ metrics, clock, queryPermits, parsePermits, bounds, caller }: OverloadParts) {
    const seen = new OverloadMetrics(metrics.registry);
    const monotonicMs = (): number => clock.monotonicMs();
    this.#metrics = seen;
    this.#arrivalsMax = bounds.arrivalsMax ?? INTERNAL_LIMITS.arrivalsMaxRequests;
    const timers = SYSTEM_TIMERS;
    this.#pressure = new LoopPressure(monotonicMs, () => {
      for (const queue of Object.values(this.queues)) queue.beginWaiting();
    });
    const queueOf = ([name, own]: [string, QueueBounds]): [string, FairQueue] => {
      const changes = bounds.queues?.[name as QueueName];
      const observer = seen.observerOf(LABELS[name as QueueName] ?? name);
      const parts = { timers, monotonicMs, observer, pressure: this.#pressure };
      return [name, new FairQueue({ ...own, ...changes }, parts)];
    };
    const queues = Object.entries(queueBounds(queryPermits, parsePermits)).map(queueOf);
    this.queues = Object.fromEntries(queues) as Record<QueueName, FairQueue>;
    this.shardWaits = new ShardWaits({ caller, timers, monotonicMs, observer: seen.observerOf('away') });
    const bodiesObserver = seen.memoryObserverOf('bodies', metrics.bodyBytes);
    this.bodies = new MemoryBudget(bounds.bodies ?? BODIES, TOO_LARGE_BODIES, bodiesObserver);
    this.answers = answerBudget(collecting(seen.memoryObserverOf('answers', metrics.answerBytes)));
    this.texts = textBudget(seen.memoryObserverOf('texts', metrics.textBytes));
  }

  /**
   * Runs `identify` for a request whose account is not known yet. Throws UNAVAILABLE if too many of
   * these run and the request is `refusable`.
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

  /** Refuses all waiting and later requests. */
  close(): void {
    for (const queue of Object.values(this.queues)) queue.close();
    this.shardWaits.close();
    this.#pressure.close();
  }
}
