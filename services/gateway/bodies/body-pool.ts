import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';
import { ProvecError, unavailable } from '../../../lib/errors.ts';
import { memoryLimitMiB } from '../../../lib/process/memory-limit.ts';
import type { Permit, QueueRequest } from '../overload/fair-queue.ts';
import type { BodyJob, BodyOutcome } from './body-worker.ts';
import { type Bodies, type BodyContext, type BodyName, decodeBody } from './decoders.ts';

/** What the largest body within the limits takes, and what is the most that one may. */
const WORKER_HEAP_MIN_MIB = 768;
const WORKER_HEAP_MAX_MIB = 1_536;
const WORKERS_MAX = 4;
/** Of the memory that there is. */
const HEAPS_SHARE = 0.5;
/**
 * A thread that parsed large bodies keeps their garbage; ending it is what gives the memory back.
 */
const IDLE_MS = 5_000;
const BACKSLASH = 0x5c;
const ESCAPES_MAX = 1_000;

/**
 * Threads that large bodies are decoded in, and how large the heap of each may grow: of the
 * processors and the memory that are left by the process's own.
 */
export function bodyWorkers(processors = availableParallelism(), memoryMiB = memoryLimitMiB()) {
  const heapsMiB = memoryMiB * HEAPS_SHARE;
  const most = Math.min(WORKERS_MAX, processors - 1, Math.floor(heapsMiB / WORKER_HEAP_MIN_MIB));
  const workers = Math.max(1, most);
  const heapMiB = Math.floor(Math.min(WORKER_HEAP_MAX_MIB, heapsMiB / workers));
  return { workers, heapMiB };
}

type Turn = (request: QueueRequest) => Promise<Permit>;

/**
 * Decodes bodies: small ones at once, large ones and those with many escapes in worker threads that
 * are started when first needed, each account's in turn. A worker that runs out of memory fails the
 * body it had and is replaced.
 */
export class BodyPool {
  readonly #offThreadMinBytes: number;
  readonly #turn: Turn;
  readonly #threads: Tinypool;
  #closed = false;

  /**
   * `turn` says whose body is next; not more than `workers` at once, in heaps of `heapMiB` each.
   */
  constructor(offThreadMinBytes: number, { workers, heapMiB }: ReturnType<typeof bodyWorkers>, turn: Turn) {
    this.#offThreadMinBytes = offThreadMinBytes;
    this.#turn = turn;
    this.#threads = new Tinypool({
      filename: new URL('./body-worker.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: workers,
      idleTimeout: IDLE_MS,
      useAtomics: false,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    });
    // One that ends while it rests is replaced when it is needed.
    this.#threads.on('error', () => undefined);
  }

  /** Takes `bytes` over. Rejects with the ProvecError for the client, or with ClientGoneError. */
  async decode<K extends BodyName>(
    kind: K,
    bytes: Uint8Array<ArrayBuffer>,
    context: BodyContext,
    request: QueueRequest,
  ): Promise<Bodies[K]> {
    if (bytes.byteLength < this.#offThreadMinBytes && !hasManyEscapes(bytes)) return decodeBody(kind, bytes, context);
    const permit = await this.#turn(request);
    try {
      return bodyOf(await this.#run({ kind, bytes, context })) as Bodies[K];
    } finally {
      permit.release();
    }
  }

  /** Ends the threads; what they had is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#threads.destroy();
  }

  async #run(job: BodyJob): Promise<BodyOutcome> {
    if (this.#closed) throw stopping();
    try {
      return (await this.#threads.run(job, { transferList: [job.bytes.buffer] })) as BodyOutcome;
    } catch (error) {
      throw this.#closed ? stopping() : deathOf(error);
    }
  }
}

const stopping = (): ProvecError => unavailable('The service is stopping.');

/**
 * Keys with escapes take several times as long as others: as many as this, up to a few
 * milliseconds.
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
 * A body that needs more memory than any body within the limits is too large, whatever its length.
 */
function deathOf(cause: unknown): Error {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ProvecError('BODY_TOO_LARGE', 'The body holds too many values; send it in several requests.');
  }
  return new Error('a body worker failed', { cause });
}
