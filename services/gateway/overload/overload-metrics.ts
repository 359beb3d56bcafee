import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { MemoryObserver } from '../../../lib/admission/memory-budget.ts';
import type { QueueObserver } from './fair-queue.ts';

const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of waiting and refused requests, by queue and reason, without account names. */
export class OverloadMetrics {
  readonly #waiting: Gauge<'queue'>;
  readonly #taken: Gauge<'queue'>;
  readonly #waits: Histogram<'queue'>;
  readonly #refusals: Counter<'queue' | 'reason'>;

  constructor(registry: Registry) {
    const about = <L extends string>(name: string, help: string, ...labelNames: L[]) => ({
      name,
      help,
      labelNames,
      registers: [registry],
    });
    this.#waiting = new Gauge(about('provec_gateway_waiting_requests', 'Requests waiting for their turn.', 'queue'));
    this.#taken = new Gauge(about('provec_gateway_seats_taken', 'Permits of running requests.', 'queue'));
    const waits = about('provec_gateway_wait_seconds', 'Time that requests waited for their turn.', 'queue');
    this.#waits = new Histogram({ ...waits, buckets: SECONDS });
    const refusals = 'Requests refused with 503 for overload before any work was done for them, by reason.';
    this.#refusals = new Counter(about('provec_gateway_refusals_total', refusals, 'queue', 'reason'));
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

  /** The gauge `held` shows the bytes held. */
  memoryObserverOf(what: 'bodies' | 'answers' | 'texts', held: Gauge): MemoryObserver {
    return { held: (bytes) => held.set(bytes), refused: () => this.refused(what, 'memory') };
  }

  refused(queue: string, reason: string): void {
    this.#refusals.inc({ queue, reason });
  }
}
