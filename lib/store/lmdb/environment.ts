/**
 * One LMDB environment (a file with several tables) and its group commit.
 *
 * Promises: operations given to `write` run one after the other, each sees the effects of those before it, and all that wait while a commit is in flight
 * share the next one; a promise resolves after fsync. If the commit fails, or LMDB refuses a step, none of the batch is there, every one of them rejects and
 * the next batch finds the environment as it was. An operation that throws on its own account (it must do so before its first put) rejects alone.
 * Fails: when not even the meta page could be written, LMDB refuses everything until it is opened again; the outcome of that batch is 'unknown', all
 * that follows is 'unavailable'.
 *
 * Why so, of what lmdb offers:
 * - One child transaction per batch, since a callback of a plain one that throws half way is committed nevertheless.
 * - `overlappingSync` off: with it a promise resolves before fsync.
 * - `eventTurnBatching` off: its start marker makes a promise that nobody can catch, so a full disk would end the process as an unhandled rejection.
 * - Never a write after MDB_PANIC: lmdb's writer returns with its lock held, and that promise and `close` wait for ever.
 */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { StoreError } from '../port.ts';
import { storeFailure } from './store-failure.ts';

export type Table = Database<Uint8Array, Uint8Array>;
/** Each row has a version beside its value, which lmdb's writer thread can compare. */
export type VersionedTable = Table & { readonly versioned: true };
/** One holder's share of a read transaction: lmdb hands out one and the same transaction as long as nothing is committed. */
export interface Snapshot {
  readonly transaction: ReturnType<RootDatabase['useReadTransaction']>;
}

/** A row to put, or to remove where `value` is null. */
export interface RowChange {
  key: Uint8Array;
  value: Uint8Array | null;
}

/** A move of a versioned row to its next version with all the changes that go with it. */
export interface Swap {
  versions: VersionedTable;
  key: Uint8Array;
  /** The next version, given the present one (0 when there is no row); null to change nothing. */
  next(present: number): number | null;
  table: Table;
  changes: RowChange[];
}

interface Pending {
  /** Either runs inside the batch's transaction, or makes up a batch of its own. */
  work: (() => void) | Swap;
  bytes: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Bounds on one commit: what its callback may hold the event loop for. */
const BATCH_MAX_OPERATIONS = 1_024;
const BATCH_MAX_BYTES = 8 * 1024 * 1024;
const BATCH_MAX_MS = 10;

/** LMDB reports a write cut short by a full disk as EIO; it was that if less than this is free beyond what the batch needs. */
const FULL_MAX_FREE_BYTES = 4 * 1024 * 1024;
const EIO = 5;

const TABLE_OPTIONS = { keyEncoding: 'binary', encoding: 'binary' } as const;

export class Environment {
  readonly #name: string;
  readonly #folder: string;
  readonly #root: RootDatabase<Uint8Array, Uint8Array>;
  readonly #snapshots = new Set<Snapshot>();
  #queue: Pending[] = [];
  #draining: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #broken: StoreError | null = null;

  /** Opens or creates the file at `path`. Throws StoreError. */
  constructor(path: string, name: string) {
    this.#name = name;
    this.#folder = dirname(path);
    try {
      this.#root = open<Uint8Array, Uint8Array>(path, {
        ...TABLE_OPTIONS,
        overlappingSync: false,
        eventTurnBatching: false,
        maxDbs: 32,
        noSubdir: true,
      });
    } catch (error) {
      throw storeFailure(error, `opening ${path}`);
    }
  }

  table(name: string): Table {
    return this.#root.openDB<Uint8Array, Uint8Array>(name, TABLE_OPTIONS);
  }

  versionedTable(name: string): VersionedTable {
    const table = this.#root.openDB<Uint8Array, Uint8Array>(name, { ...TABLE_OPTIONS, useVersions: true });
    return Object.assign(table, { versioned: true } as const);
  }

  /** Runs a synchronous operation that reads and puts inside the next commit; resolves with its result once that is durable. `bytes` is about what it puts. */
  write<T>(operation: () => T, bytes = 0): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#assertOpen();
      let outcome: { result: T } | { error: unknown };
      this.#queue.push({
        bytes,
        work: () => {
          try {
            outcome = { result: operation() };
          } catch (error) {
            if (isOfLmdb(error)) throw error;
            outcome = { error };
          }
        },
        resolve: () => ('result' in outcome ? resolve(outcome.result) : reject(outcome.error)),
        reject,
      });
      this.#wake();
    });
  }

  /**
   * Moves a row to its next version and makes the changes that go with it, in a commit of its own. The changes are carried out by lmdb's writer thread: however
   * many they are, the event loop only lists them.
   */
  swap(swap: Swap): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#assertOpen();
      const bytes = swap.changes.reduce((sum, { value }) => sum + (value?.byteLength ?? 0), 0);
      this.#queue.push({ work: swap, bytes, resolve, reject });
      this.#wake();
    });
  }

  /** Runs a synchronous read that sees every commit acknowledged so far, by this process or another. */
  read<T>(operation: () => T): T {
    this.#assertOpen();
    try {
      this.#root.resetReadTxn();
      return operation();
    } catch (error) {
      if (error instanceof RangeError) throw error;
      throw storeFailure(error, `reading ${this.#name}`);
    }
  }

  /** The present state, for reads until `release`. */
  snapshot(): Snapshot {
    return this.read(() => {
      const snapshot = { transaction: this.#root.useReadTransaction() };
      this.#snapshots.add(snapshot);
      return snapshot;
    });
  }

  /** Ends a snapshot; nothing happens when it had ended already, as on close. */
  release(snapshot: Snapshot): void {
    if (this.#snapshots.delete(snapshot)) snapshot.transaction.done();
  }

  holds(snapshot: Snapshot): boolean {
    return this.#snapshots.has(snapshot);
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.#draining;
      for (const snapshot of this.#snapshots) this.release(snapshot);
      await this.#root.close();
    })();
    return this.#closing;
  }

  #assertOpen(): void {
    if (this.#closing) throw new StoreError('closed', 'The store is closed.');
    if (this.#broken) throw this.#broken;
  }

  #wake(): void {
    this.#draining ??= Promise.resolve().then(() => this.#drain());
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch: Pending[] = [];
      try {
        if (this.#broken) throw this.#broken;
        const { work } = this.#queue[0];
        if (typeof work === 'function') await this.#root.childTransaction(() => this.#runBatch(batch));
        else {
          this.#take(batch);
          await this.#runSwap(work);
        }
      } catch (error) {
        // When it never came to the first operation, there is no transaction to be had for any of them.
        if (batch.length === 0) batch.push(...this.#queue.splice(0));
        const failure = await this.#explain(await rootCause(error), batch);
        for (const pending of batch) pending.reject(failure);
        continue;
      }
      for (const pending of batch) pending.resolve();
    }
    // In the same turn as the last look at the queue, so that a write that comes next starts a new drain.
    this.#draining = null;
  }

  /** Runs operations from the head of the queue until the batch is full; at least one. */
  #runBatch(batch: Pending[]): void {
    const startMs = performance.now();
    for (let bytes = 0; ; ) {
      const { work } = this.#queue[0];
      if (typeof work !== 'function') return;
      bytes += this.#take(batch).bytes;
      work();
      const next = this.#queue[0];
      if (next === undefined || batch.length === BATCH_MAX_OPERATIONS) return;
      if (bytes + next.bytes > BATCH_MAX_BYTES || performance.now() - startMs > BATCH_MAX_MS) return;
    }
  }

  async #runSwap({ versions, key, next, table, changes }: Swap): Promise<void> {
    for (;;) {
      versions.resetReadTxn();
      const present = versions.getEntry(key)?.version ?? null;
      const version = next(present ?? 0);
      if (version === null) return;
      const list = () => {
        for (const change of changes) {
          if (change.value === null) table.remove(change.key);
          else table.put(change.key, change.value);
        }
        versions.put(key, Buffer.of(1), version);
      };
      // False when another process moved the row in between.
      if (await (present === null ? versions.ifNoExists(key, list) : versions.ifVersion(key, present, list))) return;
    }
  }

  #take(batch: Pending[]): Pending {
    const pending = this.#queue.shift();
    if (pending === undefined) throw new Error('the queue is empty');
    batch.push(pending);
    return pending;
  }

  /** What a failed batch means to its callers, after a look at whether the environment is still sound. */
  async #explain(error: unknown, batch: Pending[]): Promise<StoreError> {
    if (this.#broken) return this.#broken;
    try {
      this.#root.resetReadTxn();
      this.#root.get(Buffer.of(0));
    } catch (probeError) {
      this.#broken = new StoreError(
        'unavailable',
        `The store failed (${this.#name}); restart the service.`,
        probeError,
      );
      return new StoreError('unknown', `The disk failed at the end of a commit (writing ${this.#name}).`, error);
    }
    const neededBytes = batch.reduce((sum, { bytes }) => sum + bytes, 0);
    if ((error as { code?: unknown }).code === EIO && (await this.#freeBytes()) < neededBytes + FULL_MAX_FREE_BYTES)
      return new StoreError('capacity', `The disk of the data directory is full (writing ${this.#name}).`, error);
    return storeFailure(error, `writing ${this.#name}`);
  }

  async #freeBytes(): Promise<number> {
    try {
      const { bavail, bsize } = await statfs(this.#folder);
      return bavail * bsize;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }
}

/** lmdb's errors carry a numeric code; ours and those of the language do not. */
function isOfLmdb(error: unknown): boolean {
  return error instanceof Error && typeof (error as { code?: unknown }).code === 'number';
}

/** A failed commit's error says why in a promise of its own. */
async function rootCause(error: unknown): Promise<unknown> {
  const commitError = (error as { commitError?: Promise<never> }).commitError;
  if (!commitError) return error;
  return commitError.catch((cause: unknown) => cause);
}
