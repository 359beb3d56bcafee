import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';
import { ProvecError, unavailable } from '../../../lib/errors.ts';
import { memoryLimitMiB } from '../../../process/memory-limit.ts';
import type { Permit, QueueRequest } from '../overload/fair-queue.ts';
import type { BodyJob, BodyOutcome } from './body-worker.ts';
import { type Bodies, type BodyContext, type BodyName, decodeBytes } from './decoders.ts';

/** Heap that the largest body within the limits needs, and the most heap that one worker gets. */
const WORKER_HEAP_MIN_MIB = 768;
const WORKER_HEAP_MAX_MIB = 1_536;
const WORKERS_MAX = 4;
/** Share of the machine's memory that all worker heaps may use. */
const HEAPS_SHARE = 0.5;
/** Idle time before a thread ends, which frees the garbage of the bodies it parsed. */
const IDLE_MS = 5_000;
const BACKSLASH = 0x5c;
const ESCAPES_MAX = 1_000;

/**
 * Number of worker threads that decode large bodies, and the heap limit of each in MiB. Leaves one
 * processor and half the memory to the process itself.
 */
export function bodyWorkers(processors = availableParallelism(), memoryMiB = memoryLimitMiB()) {
  const heapsMiB = memoryMiB * HEAPS_SHARE;
  const most = Math.min(WORKERS_MAX, processors - 1, Math.floor(heapsMiB / WORKER_HEAP_MIN_MIB));
  const workers = Math.max(1, most);
  const heapMiB = Math.floor(Math.min(WORKER_HEAP_MAX_MIB, heapsMiB / workers));
  return { workers, heapMiB };
}

type AcquirePermit = (request: QueueRequest) => Promise<Permit>;

/**
 * Decodes bodies. Small bodies are decoded at once on the main thread. Large bodies, and bodies
 * with many escapes, are decoded in worker threads that start on demand; accounts take turns. A
 * worker that runs out of memory fails its body and is replaced.
 */
export class BodyPool {
  readonly #offThreadMinBytes: number;
  readonly #acquirePermit: AcquirePermit;
  readonly #threads: Tinypool;
  #closed = false;

  /**
   * `thread` is the module of the threads. At most `workers` of them run, with `heapMiB` of heap
   * each. Each decoding waits for a permit.
   */
  constructor(
    offThreadMinBytes: number,
    thread: URL,
    { workers, heapMiB }: ReturnType<typeof bodyWorkers>,
    acquirePermit: AcquirePermit,
  ) {
    this.#offThreadMinBytes = offThreadMinBytes;
    this.#acquirePermit = acquirePermit;
    this.#threads = new Tinypool({
      filename: thread.href,
      minThreads: 0,
      maxThreads: workers,
      idleTimeout: IDLE_MS,
      useAtomics: false,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    });
    // A thread that dies while idle needs no handling: the pool starts a new one on demand.
    this.#threads.on('error', () => undefined);
  }

  /** Takes over `bytes`. Rejects with the client's ProvecError or with ClientGoneError. */
  async decode<K extends BodyName>(
    kind: K,
    bytes: Uint8Array<ArrayBuffer>,
    context: BodyContext,
    request: QueueRequest,
  ): Promise<Bodies[K]> {
    if (bytes.byteLength < this.#offThreadMinBytes && !hasManyEscapes(bytes)) return decodeBytes(kind, bytes, context);
    const permit = await this.#acquirePermit({ ...request, width: 1 });
    try {
      return bodyOf(await this.#run({ kind, bytes, context })) as Bodies[K];
    } finally {
      permit.release();
    }
  }

  /** Ends the threads. Bodies being decoded, and later ones, are rejected with `UNAVAILABLE`. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#threads.destroy();
  }

  async #run(job: BodyJob): Promise<BodyOutcome> {
    if (this.#closed) throw stopping();
    try {
      return (await this.#threads.run(job, { transferList: [job.bytes.buffer] })) as BodyOutcome;
    } catch (error) {
      throw this.#closed ? stopping() : workerErrorOf(error);
    }
  }
}

const stopping = (): ProvecError => unavailable('The service is stopping.');

/**
 * Returns true above 1,000 escapes. Keys with escapes parse several times slower than others; up to
 * that number the cost is at most a few milliseconds.
 */
function hasManyEscapes(bytes: Uint8Array): boolean {
  let count = 0;
  for (let at = bytes.indexOf(BACKSLASH); at >= 0 && count <= ESCAPES_MAX; count++)
    at = bytes.indexOf(BACKSLASH, at + 1);
  return count > ESCAPES_MAX;
}

function bodyOf(outcome: BodyOutcome): unknown {
  if (outcome.status === 'decoded') return outcome.body;
  throw new ProvecError(outcome.code, outcome.message, { details: outcome.details ?? [] });
}

/**
 * Maps the death of a worker to an error. A body that needs more memory than any valid body is
 * reported as too large, whatever its length.
 */
function workerErrorOf(cause: unknown): Error {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ProvecError('BODY_TOO_LARGE', 'The body holds too many values; send it in several requests.');
  }
  return new Error('a body worker failed', { cause });
}
