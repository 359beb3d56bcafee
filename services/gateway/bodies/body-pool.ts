import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ProvecError } from '../../../lib/errors.ts';
import { memoryLimitMiB } from '../../../lib/process/memory-limit.ts';
import type { RequestName } from '../../../lib/requests/requests.ts';
import type { Permit, QueueRequest } from '../overload/fair-queue.ts';
import type { BodyJob, BodyOutcome } from './body-protocol.ts';
import { type Bodies, type BodyContext, decodeBody } from './decoders.ts';

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

interface Waiting {
  job: BodyJob;
  resolve(body: unknown): void;
  reject(error: unknown): void;
}

/**
 * Decodes bodies: small ones at once, large ones and those with many escapes in worker threads that
 * are started when first needed, each account's in turn. A worker that dies fails the body it had
 * and is replaced.
 */
export class BodyPool {
  readonly #offThreadMinBytes: number;
  readonly #workersMax: number;
  readonly #heapMaxMiB: number;
  readonly #turn: Turn;
  readonly #idle: Worker[] = [];
  readonly #endings = new Map<Worker, NodeJS.Timeout>();
  readonly #busy = new Map<Worker, Waiting>();
  readonly #queue: Waiting[] = [];
  #closed = false;

  /**
   * `turn` says whose body is next; not more than `workers` at once, in heaps of `heapMiB` each.
   */
  constructor(offThreadMinBytes: number, { workers, heapMiB }: ReturnType<typeof bodyWorkers>, turn: Turn) {
    this.#offThreadMinBytes = offThreadMinBytes;
    this.#workersMax = workers;
    this.#heapMaxMiB = heapMiB;
    this.#turn = turn;
  }

  /** Takes `bytes` over. Rejects with the ProvecError for the client, or with ClientGoneError. */
  async decode<K extends RequestName>(
    kind: K,
    bytes: Uint8Array<ArrayBuffer>,
    context: BodyContext,
    request: QueueRequest,
  ): Promise<Bodies[K]> {
    if (bytes.byteLength < this.#offThreadMinBytes && !hasManyEscapes(bytes)) return decodeBody(kind, bytes, context);
    const permit = await this.#turn(request);
    try {
      if (this.#closed) throw new ProvecError('UNAVAILABLE', 'The service is stopping.', { retryAfterSeconds: 1 });
      const body = await new Promise<unknown>((resolve, reject) => {
        this.#queue.push({ job: { kind, bytes, context }, resolve, reject });
        this.#next();
      });
      return body as Bodies[K];
    } finally {
      permit.release();
    }
  }

  /** Ends the workers; what they had or what waits is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#queue.splice(0))
      waiting.reject(new ProvecError('UNAVAILABLE', 'The service is stopping.'));
    await Promise.all([...this.#idle.splice(0), ...this.#busy.keys()].map((worker) => worker.terminate()));
  }

  #next(): void {
    while (this.#queue.length > 0) {
      const worker = this.#rested() ?? (this.#busy.size < this.#workersMax ? this.#start() : null);
      if (worker === null) return;
      const waiting = this.#queue.shift()!;
      this.#busy.set(worker, waiting);
      worker.ref();
      worker.postMessage(waiting.job, [waiting.job.bytes.buffer]);
    }
  }

  /** Takes the worker that rested shortest, so that the others may end. */
  #rested(): Worker | null {
    const worker = this.#idle.pop() ?? null;
    if (worker !== null) clearTimeout(this.#endings.get(worker));
    return worker;
  }

  #rest(worker: Worker): void {
    worker.unref();
    this.#idle.push(worker);
    const ending = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(worker), 1);
      void worker.terminate();
    }, IDLE_MS);
    this.#endings.set(worker, ending.unref());
  }

  #start(): Worker {
    const worker = new Worker(new URL('./body-worker.ts', import.meta.url), {
      name: 'provec-body',
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMaxMiB },
    });
    worker.on('message', (outcome: BodyOutcome) => {
      const waiting = this.#busy.get(worker);
      this.#busy.delete(worker);
      this.#rest(worker);
      if (waiting !== undefined) settle(waiting, outcome);
      this.#next();
    });
    let cause: unknown = null;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      const waiting = this.#busy.get(worker);
      this.#busy.delete(worker);
      clearTimeout(this.#endings.get(worker));
      this.#endings.delete(worker);
      const idle = this.#idle.indexOf(worker);
      if (idle >= 0) this.#idle.splice(idle, 1);
      waiting?.reject(this.#closed ? new ProvecError('UNAVAILABLE', 'The service is stopping.') : deathOf(cause));
      if (!this.#closed) this.#next();
    });
    return worker;
  }
}

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

function settle(waiting: Waiting, outcome: BodyOutcome): void {
  if (outcome.status === 'decoded') waiting.resolve(outcome.body);
  else if (outcome.status === 'fault') waiting.reject(new Error(`a body worker failed: ${outcome.message}`));
  else waiting.reject(new ProvecError(outcome.code, outcome.message, { details: outcome.details ?? [] }));
}

/**
 * A body that needs more memory than any body within the limits is too large, whatever its length.
 */
function deathOf(cause: unknown): Error {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ProvecError('BODY_TOO_LARGE', 'The body holds too many values; send it in several requests.');
  }
  return new Error('a body worker ended', { cause });
}
