import { Worker } from 'node:worker_threads';
import { moduleBeside } from '../../lib/module-beside.ts';
import { StoreError } from '../port.ts';
import {
  type Fault,
  type FromThread,
  READS,
  type Remote,
  type Reply,
  type Request,
  type StoreThreadOptions,
  type TableName,
  type ToThread,
} from './requests.ts';

/** Heap for short-lived objects. Data read and written is outside the heap. */
const YOUNG_GENERATION_MIB = 16;

interface Pending {
  isWrite: boolean;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * A thread with its SQLite connections, called from the main thread. Writes run in the order of the
 * calls; reads overtake writes that wait for a commit. The thread keeps the process alive only
 * while requests are pending. If it ends before `close`, pending writes fail with 'unknown', and
 * reads and all later requests with 'unavailable'.
 */
export class StoreThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  readonly #ended: Promise<void>;
  #opened: ((outcome: StoreError | { mistyped: string[] }) => void) | null = null;
  #mistyped: readonly string[] = [];
  #nextId = 1;
  #closing: Promise<void> | null = null;
  #lost: StoreError | null = null;

  private constructor(opening: StoreThreadOptions) {
    this.#worker = new Worker(moduleBeside('./thread/main', import.meta.url), {
      name: `provec-store-${opening.role}`,
      workerData: opening,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
    });
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#ended = new Promise((resolve) => {
      this.#worker.on('error', (error) => this.#lose(error));
      this.#worker.on('exit', () => {
        this.#lose(null);
        resolve();
      });
    });
  }

  /** Opens the files of a role. Throws StoreError. */
  static async open(opening: StoreThreadOptions): Promise<StoreThread> {
    const thread = new StoreThread(opening);
    const outcome = await new Promise<StoreError | { mistyped: string[] }>((resolve) => {
      thread.#opened = resolve;
    });
    if (!(outcome instanceof StoreError)) {
      thread.#mistyped = outcome.mistyped;
      thread.#worker.unref();
      return thread;
    }
    await thread.#ended;
    throw outcome;
  }

  /** Describes values of other types that its files held when they were opened. */
  get mistyped(): readonly string[] {
    return this.#mistyped;
  }

  /**
   * Returns the operations of a table. `own` adds methods that run on the main thread, or overrides
   * operations.
   */
  remote<T extends TableName, Own extends object = object>(
    table: T,
    own = {} as Own,
  ): Omit<Remote<T>, keyof Own> & Own {
    const get = (_: Own, name: string | symbol): unknown => {
      // `await` looks for a `then` method.
      if (name in own || typeof name === 'symbol' || name === 'then') return Reflect.get(own, name);
      return (...args: unknown[]) => this.#request(table, name, args, 0, []);
    };
    return new Proxy(own, { get }) as Omit<Remote<T>, keyof Own> & Own;
  }

  /** Calls one operation that writes about `bytes`; `buffers` are transferred to the thread. */
  call<T extends TableName, O extends keyof Remote<T> & string>(
    table: T,
    operation: O,
    args: Parameters<Remote<T>[O]>,
    bytes: number,
    buffers: ArrayBuffer[],
  ): ReturnType<Remote<T>[O]> {
    return this.#request(table, operation, args, bytes, buffers) as ReturnType<Remote<T>[O]>;
  }

  /** Throws StoreError 'closed' once `close` was called. */
  assertOpen(): void {
    if (this.#closing) throw new StoreError('closed', 'The store is closed.');
    if (this.#lost) throw this.#lost;
  }

  /** Ends the thread after all earlier requests. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#worker.ref();
      this.#worker.postMessage('close' satisfies ToThread);
      await this.#ended;
    })();
    return this.#closing;
  }

  #request(table: TableName, operation: string, args: unknown[], bytes: number, buffers: ArrayBuffer[]) {
    return new Promise<unknown>((resolve, reject) => {
      this.assertOpen();
      const id = this.#nextId++;
      const request: Request = { id, table, operation, args, bytes, buffers };
      this.#worker.postMessage(request satisfies ToThread, buffers);
      const isWrite = !(READS[table] as readonly string[]).includes(operation);
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(id, { isWrite, resolve, reject });
    });
  }

  #receive(message: FromThread): void {
    if ('opened' in message) this.#opened?.(message.opened);
    else if ('refused' in message) this.#opened?.(errorOf(message.refused) as StoreError);
    else for (const reply of message.replies) this.#settle(reply);
    if ('replies' in message && this.#pending.size === 0 && !this.#closing) this.#worker.unref();
  }

  #settle(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ('result' in reply) pending?.resolve(reply.result);
    else pending?.reject(errorOf(reply.fault));
  }

  #lose(cause: unknown): void {
    const why = cause instanceof Error ? ` (${cause.message})` : '';
    const ended = `The store's thread ended${why}; restart the service.`;
    this.#lost ??= new StoreError('unavailable', ended, cause);
    this.#opened?.(this.#lost);
    for (const { isWrite, reject } of this.#pending.values())
      reject(isWrite ? new StoreError('unknown', ended, cause) : this.#lost);
    this.#pending.clear();
  }
}

function errorOf({ kind, message }: Fault): Error {
  return kind === 'caller' ? new RangeError(message) : new StoreError(kind, message);
}
