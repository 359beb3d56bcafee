import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { itemAt } from '../../../lib/checked-access.ts';
import { type ErrorCode, ProvecError } from '../../../lib/errors.ts';
import { moduleBeside } from '../../../lib/module-beside.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { AnswerPage } from '../../../lib/shard/match.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
// V8 shares the code of a WebAssembly module among threads and frees it with the last one. Threads
// that exit during that have crashed the process (nodejs/node#64500). Loading it in this thread
// keeps it alive as long as the process.
import '../engine/kernel/similarity-kernel.ts';
import {
  type CancelRequest,
  END,
  type IndexNotice,
  type ShardSize,
  type SizeNotice,
  type WorkerOp,
  type WorkerOps,
  type WorkerReply,
  type WorkerRequests,
} from './protocol.ts';

/** Requests leave only short-lived objects; a shard's data is stored outside the heap. */
const YOUNG_GENERATION_MIB = 16;
const OLD_GENERATION_MIB = 4_096;

/**
 * A thread that ends sooner than this after its start, in ms, failed to start. The next start is
 * delayed.
 */
const BEGUN_AFTER_MS = 5_000;
const START_PAUSE = { minMs: 100, maxMs: 10_000 };

/**
 * Extra weight of each shard placed on a worker, in bytes, so that small shards opening at once
 * spread over the threads.
 */
const PLACED_BYTES = 1024 * 1024;

interface Pending {
  op: WorkerOp;
  key: ShardKey | null;
  /** Whether its caller no longer waits for the answer. */
  isCancelled: boolean;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Called on each change of a shard's size in memory. */
type OnSize = (size: ShardSize) => void;

/**
 * The thread ended before it answered. Whether the request ran is unknown, and the thread's shards
 * are gone from memory.
 */
export class WorkerLost extends Error {
  override name = 'WorkerLost';
}

/** An assertion failed in a worker: what it has of the shard is not to be trusted any more. */
export class AssertionFailed extends Error {
  override name = 'AssertionFailed';
}

/** One shard worker thread, as seen from the main thread. */
export class ShardWorker implements WorkerRequests {
  /** Bytes and number of the shards placed here. Maintained by ShardCache for placement. */
  load = 0;
  placed = 0;
  /** Worker time, in ms, spent on each shard's queries since the shard was last loaded. */
  readonly busyMs = new Map<ShardKey, number>();
  searches = 0;
  searchMs = 0;
  isGone = false;
  readonly lost: Promise<void>;
  readonly #sizes = new Map<ShardKey, OnSize>();
  #thread: Worker;
  #pending = new Map<number, Pending>();
  #nextId = 1;

  constructor(log: Logger, graphThreads = 1) {
    this.#thread = new Worker(moduleBeside('./main', import.meta.url), {
      name: 'provec-shards',
      workerData: { graphThreads },
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB, maxOldGenerationSizeMb: OLD_GENERATION_MIB },
    });
    this.#thread.on('message', (message: WorkerReply | SizeNotice | IndexNotice) => {
      if (message.id !== null) this.#settle(message);
      else if ('size' in message) this.#sizes.get(message.key)?.(message.size);
      else {
        const { key: shard, indexFault: fault } = message;
        log.error({ shard, fault }, "could not build a shard's index; searches scan the shard until a build succeeds");
      }
    });
    this.#thread.on('error', (error) => log.error({ err: error }, 'a shard worker failed'));
    this.lost = new Promise((resolve) => {
      this.#thread.on('exit', () => {
        this.isGone = true;
        const error = new WorkerLost('a shard worker ended');
        for (const { reject } of this.#pending.values()) reject(error);
        this.#pending.clear();
        resolve();
      });
    });
  }

  /**
   * Sets the listener for the shard's size, replacing any earlier one, until the shard is closed.
   */
  watchSize(key: ShardKey, onSize: OnSize): void {
    this.#sizes.set(key, onSize);
  }

  async request<O extends WorkerOp>(
    op: O,
    params: WorkerOps[O]['params'],
    transfer: ArrayBuffer[] = [],
    signal?: AbortSignal,
  ): Promise<WorkerOps[O]['result']> {
    signal?.throwIfAborted();
    if (this.isGone) throw new WorkerLost('the shard worker has ended');
    const key = 'key' in params ? params.key : null;
    if (op === 'close' && key !== null) {
      this.busyMs.delete(key);
      this.#sizes.delete(key);
    }
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<WorkerOps[O]['result']>();
    this.#pending.set(id, { op, key, isCancelled: false, resolve, reject });
    try {
      this.#thread.postMessage({ id, op, params }, transfer);
    } catch (error) {
      this.#pending.delete(id);
      throw error;
    }
    if (signal === undefined) return promise;
    const cancel = (): void => this.#cancel(id, signal.reason);
    signal.addEventListener('abort', cancel);
    return promise.finally(() => signal.removeEventListener('abort', cancel));
  }

  #cancel(id: number, reason: unknown): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    pending.isCancelled = true;
    pending.reject(reason);
    if (pending.key !== null) this.#thread.postMessage({ cancel: id, key: pending.key } satisfies CancelRequest);
  }

  /** Ends the thread between two requests. Pending requests reject with WorkerLost. */
  async end(): Promise<void> {
    this.#thread.postMessage(END);
    await this.lost;
  }

  /** Ends the cursor of a read that was answered before it could be cancelled. */
  #leave({ key }: Pending, result: unknown): void {
    const rest = restOf(result);
    // Fails only if the worker is lost, and the cursor with it.
    if (key !== null && rest !== null) this.request('leave', { key, rest }).catch(() => undefined);
  }

  #settle(reply: WorkerReply): void {
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    this.#pending.delete(reply.id);
    if ('result' in reply) {
      if (pending.isCancelled) this.#leave(pending, reply.result);
      if (pending.op === 'query') {
        this.searches++;
        this.searchMs += reply.tookMs;
        if (pending.key !== null) this.busyMs.set(pending.key, (this.busyMs.get(pending.key) ?? 0) + reply.tookMs);
      }
      pending.resolve(reply.result);
    } else if (reply.fault.code === null) {
      const { message, isFailedAssertion } = reply.fault;
      pending.reject(isFailedAssertion ? new AssertionFailed(message) : new Error(message));
    } else {
      const { code, message, details } = reply.fault;
      pending.reject(new ProvecError(code as ErrorCode, message, details ? { details } : {}));
    }
  }
}

/** Returns the cursor of a paged answer, or null if no pages are left. */
function restOf(result: unknown): string | null {
  const { page = result } = (result ?? {}) as { page?: unknown };
  return (page as AnswerPage<unknown> | null)?.rest ?? null;
}

/**
 * A fixed number of workers. A worker that ends is replaced, at once unless it failed to start; its
 * shards reopen elsewhere.
 */
export class WorkerPool {
  readonly workers: ShardWorker[];
  /**
   * Number of threads that queries keep busy, averaged over minutes. Maintained by the rebalancer.
   */
  busyThreads = 0;
  readonly #start: () => ShardWorker;
  #stopping = false;

  constructor(size: number, log: Logger) {
    // A single worker may also use the main thread's core for its graphs. More threads would exceed
    // what the operator configured.
    const graphThreads = size === 1 ? Math.min(2, availableParallelism()) : 1;
    this.#start = () => new ShardWorker(log, graphThreads);
    this.workers = Array.from({ length: size }, this.#start);
    for (const at of this.workers.keys()) void this.#respawn(at);
  }

  /** Returns the live worker with the least load. */
  leastLoaded(): ShardWorker {
    const living = this.workers.filter(({ isGone }) => !isGone);
    const weight = ({ load, placed }: ShardWorker): number => load + placed * PLACED_BYTES;
    return (living.length > 0 ? living : this.workers).reduce((best, worker) =>
      weight(worker) < weight(best) ? worker : best,
    );
  }

  async end(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.workers.map((worker) => worker.end()));
  }

  async #respawn(at: number): Promise<void> {
    for (let failures = 0; ; ) {
      const startedMs = performance.now();
      await itemAt(this.workers, at).lost;
      if (this.#stopping) return;
      failures = performance.now() - startedMs < BEGUN_AFTER_MS ? failures + 1 : 0;
      if (failures > 1) await delay(backoffMs(failures - 2, START_PAUSE), undefined, { ref: false });
      if (this.#stopping) return;
      this.workers[at] = this.#start();
    }
  }
}
