import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { MemoryObserver } from '../../../lib/admission/memory-budget.ts';
import type { QueueObserver } from './fair-queue.ts';

const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What waits and what is refused at the gateway, by queue and reason: never by whom. */
export class OverloadMetrics {
  readonly #waiting: Gauge<'queue'>;
  readonly #taken: Gauge<'queue'>;
  readonly #waits: Histogram<'queue'>;
  readonly #refusals: Counter<'queue' | 'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['queue'] as const;
    this.#waiting = new Gauge({
      name: 'provec_gateway_waiting_requests',
      help: 'Requests that wait for their turn.',
      labelNames,
      registers,
    });
    this.#taken = new Gauge({
      name: 'provec_gateway_seats_taken',
      help: 'Permits of requests that are under way.',
      labelNames,
      registers,
    });
    this.#waits = new Histogram({
      name: 'provec_gateway_wait_seconds',
      help: 'Time that requests waited for their turn.',
      labelNames,
      buckets: SECONDS,
      registers,
    });
    this.#refusals = new Counter({
      name: 'provec_gateway_refusals_total',
      help: 'Requests refused with 503 for overload before anything was done for them, by reason.',
      labelNames: ['queue', 'reason'],
      registers,
    });
  }

  observerOf(queue: string): QueueObserver {
    const waiting = this.#waiting.labels(queue);
    const taken = this.#taken.labels(queue);
    const waits = this.#waits.labels(queue);
    return {
      waiting: (count) => waiting.set(count),
      taken: (permits) => taken.set(permits),
      waited: (seconds) => waits.observe(seconds),
      refused: (reason) => this.refused(queue, reason),
    };
  }

  /** `held` is told how many bytes are held. */
  memoryObserverOf(what: 'bodies' | 'answers', held: (bytes: number) => void): MemoryObserver {
    return { held, refused: () => this.refused(what, 'memory') };
  }

  refused(queue: string, reason: string): void {
    this.#refusals.inc({ queue, reason });
  }
}
