/**
 * A MongoDB client. A store has one for its leases and one for everything else.
 *
 * Guarantees: every write is acknowledged by a majority and journaled. Every read goes to the
 * primary and sees only majority-committed data. Every call ends: `callTimeoutMs` bounds each of
 * its waits. `close` refuses new work and waits for running work. On failure: StoreError. The
 * driver retries nothing; after a write with an unknown outcome the caller decides what to do. See
 * docs/internals/store.md.
 */
import { type Collection, type Db, type Document, MongoClient, ReadConcern } from 'mongodb';
import { StoreError } from '../port.ts';
import { type Effect, mongoFailure } from './store-failure.ts';

const MAX_CONNECTIONS = 50;
const DATABASE = 'provec';

export interface ConnectionOptions {
  /** `mongodb://` or `mongodb+srv://`. */
  url: string;
  callTimeoutMs: number;
  /** Default: 50. Further calls wait in a queue for a free connection. */
  maxConnections?: number;
}

export class Connection {
  readonly db: Db;
  readonly #client: MongoClient;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  /** Throws MongoParseError on an invalid URL. Connects on first use. */
  constructor({ url, callTimeoutMs, maxConnections = MAX_CONNECTIONS }: ConnectionOptions) {
    this.#client = new MongoClient(url, {
      appName: 'provec',
      retryWrites: false,
      retryReads: false,
      maxPoolSize: maxConnections,
      serverSelectionTimeoutMS: callTimeoutMs,
      connectTimeoutMS: callTimeoutMs,
      socketTimeoutMS: callTimeoutMs,
      waitQueueTimeoutMS: callTimeoutMs,
    });
    // Set on the database, because options in the URL override those of the client.
    this.db = this.#client.db(databaseIn(url) ?? DATABASE, {
      writeConcern: { w: 'majority', journal: true },
      readConcern: new ReadConcern('majority'),
      readPreference: 'primary',
    });
  }

  collection<T extends Document>(name: string): Collection<T> {
    return this.db.collection<T>(name);
  }

  /**
   * Runs a method of the port. Refuses it once the store is closed; otherwise `close` waits for it.
   * Converts its errors to StoreErrors.
   */
  run<T>(effect: Effect, doing: string, work: () => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(closed());
    const running = attempt(effect, doing, work);
    this.#running.add(running);
    const ended = (): void => void this.#running.delete(running);
    running.then(ended, ended);
    return running;
  }

  /**
   * Runs a part of a writing method that only reads, so that its failure is not an unknown outcome.
   */
  reading<T>(doing: string, work: () => Promise<T>): Promise<T> {
    return attempt('read', doing, work);
  }

  /** Throws StoreError 'closed' once `close` was called. */
  assertOpen(): void {
    if (this.#closing) throw closed();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // Running work may start more of its own.
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#client.close();
  }
}

async function attempt<T>(effect: Effect, doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw mongoFailure(error, effect, doing);
  }
}

function closed(): StoreError {
  return new StoreError('closed', 'The store is closed.');
}

function databaseIn(url: string): string | null {
  return /^mongodb(?:\+srv)?:\/\/[^/]+\/([^/?]+)/.exec(url)?.[1] ?? null;
}
