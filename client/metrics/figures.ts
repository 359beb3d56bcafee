import type { MetricsPage } from './metrics-page.ts';
import { quantileBetween } from './metrics-page.ts';

/** Rate and durations of one kind of request; the durations are null if there was none. */
interface RequestFigures {
  perSecond: number;
  p50Ms: number | null;
  p99Ms: number | null;
}

/** What a gateway did between two reads of its metrics, and what it shows now. */
export interface Figures {
  /** Null on the first read of a gateway: rates need two. */
  rates: {
    seconds: number;
    queries: RequestFigures;
    upserts: RequestFigures;
    requests: { perSecond: number; errorsPerSecond: number };
  } | null;
  /** Null while the service that anchors does not answer. */
  anchors: { pending: number; oldestPendingSeconds: number; halted: number } | null;
  gateway: { memoryBytes: number | null; eventLoopLagP99Ms: number | null };
}

interface Read {
  page: MetricsPage;
  atMs: number;
}

const DURATION = 'provec_http_request_duration_seconds';
const REQUESTS = 'provec_http_requests_total';
type Labels = Readonly<Record<string, string>>;
const isQuery = ({ route = '' }: Labels): boolean => /\/(query|queries)$/.test(route);
const isUpsert = ({ route = '' }: Labels): boolean => /\/(upsert|import)$/.test(route);
const isError = ({ status = '' }: Labels): boolean => status.startsWith('5');
/**
 * Number of gateways whose last read is kept. Behind a load balancer, each read may reach another.
 */
const GATEWAYS_MAX = 64;

/** Compares each read of a gateway's metrics with the last one of the same process. */
export class FigureReader {
  readonly #reads = new Map<number, Read>();

  /** `atMs`: when the page was read, by a clock that only moves forward. */
  next(page: MetricsPage, atMs: number): Figures {
    const started = page.sum('process_start_time_seconds') ?? 0;
    const before = this.#reads.get(started);
    if (this.#reads.size >= GATEWAYS_MAX) this.#reads.clear();
    this.#reads.set(started, { page, atMs });
    const lag = page.sum('nodejs_eventloop_lag_p99_seconds');
    return {
      rates: before === undefined ? null : ratesBetween(before, { page, atMs }),
      anchors: anchorsIn(page),
      gateway: {
        memoryBytes: page.sum('process_resident_memory_bytes'),
        eventLoopLagP99Ms: lag === null ? null : lag * 1_000,
      },
    };
  }
}

function ratesBetween(before: Read, after: Read): Figures['rates'] {
  const seconds = Math.max((after.atMs - before.atMs) / 1_000, 0.001);
  const perSecond = (name: string, isMeant?: (labels: Labels) => boolean): number =>
    ((after.page.sum(name, isMeant) ?? 0) - (before.page.sum(name, isMeant) ?? 0)) / seconds;
  const figuresOf = (isMeant: (labels: Labels) => boolean): RequestFigures => {
    const quantile = (part: number): number | null => {
      const value = quantileBetween(
        before.page.buckets(DURATION, isMeant),
        after.page.buckets(DURATION, isMeant),
        part,
      );
      return value === null ? null : value * 1_000;
    };
    return { perSecond: perSecond(`${DURATION}_count`, isMeant), p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
  };
  return {
    seconds,
    queries: figuresOf(isQuery),
    upserts: figuresOf(isUpsert),
    requests: { perSecond: perSecond(REQUESTS), errorsPerSecond: perSecond(REQUESTS, isError) },
  };
}

function anchorsIn(page: MetricsPage): Figures['anchors'] {
  const pending = page.sum('provec_anchors_pending');
  if (pending === null) return null;
  const oldestPendingSeconds = page.sum('provec_anchors_oldest_pending_seconds') ?? 0;
  return { pending, oldestPendingSeconds, halted: page.sum('provec_anchors_halted') ?? 0 };
}
