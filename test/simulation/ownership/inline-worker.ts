import { ProvecError } from '../../../lib/errors.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { memoryEngine } from '../../../services/shards/engine/memory-engine.ts';
import type { ShardWorker } from '../../../services/shards/worker/pool.ts';
import { WorkerLost } from '../../../services/shards/worker/pool.ts';
import type {
  WorkerOp,
  WorkerOps,
  WorkerReply,
  WorkerRequest,
  WorkerRequests,
} from '../../../services/shards/worker/protocol.ts';
import { ShardHost } from '../../../services/shards/worker/shard-host.ts';

/** Changes a worker's result before it is delivered. */
export type Distortion = (op: WorkerOp, result: unknown) => unknown;

interface Waiting {
  op: WorkerOp;
  params: unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** State of a shard at the moment of a response. */
export interface Instant {
  head: ShardHead;
  /** The same object while the shard stays in memory and is not rebuilt. */
  life: object;
}

const MAKES = new Set<WorkerOp>(['create', 'load']);
const PROBE_ID = 0;

/**
 * The real engine behind the worker threads' protocol, without a thread. It answers after a delay,
 * in order.
 */
export class InlineWorker implements WorkerRequests {
  load = 0;
  placed = 0;
  readonly busyMs = new Map<ShardKey, number>();
  /** Shards in memory; each object identifies one life of a shard. */
  readonly lives = new Map<ShardKey, ShardSpec>();
  /** Shards changed by other operations than writes, until a check removes them. */
  readonly replayed = new Set<ShardKey>();
  readonly #later: (run: () => void) => void;
  readonly #distort: Distortion;
  #waiting = new Map<number, Waiting>();
  #instants = new WeakMap<object, Instant>();
  #probed: ShardHead | null = null;
  #nextId = PROBE_ID + 1;
  #ended = false;
  #host = new ShardHost(
    memoryEngine({ monotonicMs: () => 0 }),
    (message) => {
      if (message.id === PROBE_ID)
        this.#probed = 'result' in message ? (message.result as { head: ShardHead }).head : null;
      else if (message.id !== null) this.#settle(message);
    },
    // No other work shares an event loop with it.
    queueMicrotask,
    // The real duration of work must not affect the order of events.
    { monotonicMs: () => 0 },
  );

  /** `later` delays a request to the thread. */
  constructor(later: (run: () => void) => void, distort: Distortion) {
    this.#later = later;
    this.#distort = distort;
  }

  /** The worker as the pool's type; the missing members only matter for threads. */
  asShardWorker(): ShardWorker {
    return this as unknown as ShardWorker;
  }

  get isGone(): boolean {
    return this.#ended;
  }

  /** Memory is not tracked here. */
  watchSize(): void {}

  request<O extends WorkerOp>(op: O, params: WorkerOps[O]['params']): Promise<WorkerOps[O]['result']> {
    if (this.#ended) return Promise.reject(new WorkerLost('the worker has ended'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { op, params, resolve: resolve as (result: unknown) => void, reject });
      this.#later(() => {
        if (!this.#ended) this.#receive(id, op, params);
      });
    });
  }

  /** Committed head of a shard, as the engine reports it; null when the shard is not here. */
  headOf(key: ShardKey): ShardHead | null {
    this.#probed = null;
    const pageMaxBytes = Number.MAX_VALUE;
    if (this.lives.has(key)) this.#host.receive({ id: PROBE_ID, op: 'export', params: { key, pageMaxBytes } });
    return this.#probed;
  }

  /** State of the shard when it returned `page`, the result of a fetch. */
  instantOf(page: object): Instant | null {
    return this.#instants.get(page) ?? null;
  }

  /** Ends like a crashed thread: pending requests stay unanswered. */
  end(): void {
    this.#ended = true;
    for (const { reject } of this.#waiting.values()) reject(new WorkerLost('the worker ended'));
    this.#waiting.clear();
    this.lives.clear();
    this.replayed.clear();
  }

  #receive(id: number, op: WorkerOp, params: WorkerOps[WorkerOp]['params']): void {
    const { key } = params as { key: ShardKey };
    this.#host.receive({ id, op, params } as WorkerRequest);
    if (op === 'close') this.lives.delete(key);
    else if (MAKES.has(op)) this.lives.set(key, { ...(params as WorkerOps['create']['params']).spec });
    if (op === 'replay' || op === 'endRestore' || op === 'load') this.replayed.add(key);
  }

  #settle(reply: WorkerReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (!waiting) return;
    if ('result' in reply) {
      const { op, params } = waiting;
      const result = this.#distort(op, reply.result);
      if (op === 'fetch') this.#note((params as WorkerOps['fetch']['params']).key, result as object);
      waiting.resolve(result);
    } else if (reply.fault.code === null) waiting.reject(new Error(reply.fault.message));
    else waiting.reject(new ProvecError(reply.fault.code, reply.fault.message));
  }

  #note(key: ShardKey, page: object): void {
    const head = this.headOf(key);
    const life = this.lives.get(key);
    if (head && life) this.#instants.set(page, { head, life });
  }
}
