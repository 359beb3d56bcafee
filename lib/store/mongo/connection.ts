/**
 * A MongoDB client of a store, which has one for its leases and one for everything else.
 *
 * Promises: every write is acknowledged by a majority and journaled. Every read is from the primary
 * and sees only what a majority has. Every call ends: each of its waits is bounded by
 * `callTimeoutMs`. `close` lets in no new work and waits for what it let in.
 * How it fails: with StoreError. The driver retries nothing; a write with an unknown outcome is its
 * caller's to look after.
 * See docs/internals/store.md.
 */
import { type Collection, type Db, type Document, MongoClient, ReadConcern } from 'mongodb';
import { StoreError } from '../port.ts';
import { type Effect, storeFailure } from './store-failure.ts';

const MAX_CONNECTIONS = 50;
const DATABASE = 'provec';

export interface ConnectionOptions {
  /** `mongodb://` or `mongodb+srv://`. */
  url: string;
  callTimeoutMs: number;
  /** Default: 50. What finds them all at work waits for one, in turn. */
  maxConnections?: number;
}

export class Connection {
  readonly db: Db;
  readonly #client: MongoClient;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  /** Throws MongoParseError on a URL that is none. Connects on first use. */
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
    // Said here, since what the URL says of them would come before the client's options.
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
   * Work of a method of the port: refused once the store is closed, else ended before the client
   * is; its failures become StoreErrors.
   */
  run<T>(effect: Effect, doing: string, work: () => Promise<T>): Promise<T> {
    if (this.#closing) return Promise.reject(closed());
    const running = attempt(effect, doing, work);
    this.#running.add(running);
    const ended = (): void => void this.#running.delete(running);
    running.then(ended, ended);
    return running;
  }

  /** A part of such work that only reads, so that its failure leaves no doubt. */
  reading<T>(doing: string, work: () => Promise<T>): Promise<T> {
    return attempt('read', doing, work);
  }

  /** Throws StoreError 'closed' once the store is to be closed. */
  assertOpen(): void {
    if (this.#closing) throw closed();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // What runs may let in more of its own.
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#client.close();
  }
}

async function attempt<T>(effect: Effect, doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeFailure(error, effect, doing);
  }
}

function closed(): StoreError {
  return new StoreError('closed', 'The store is closed.');
}

function databaseIn(url: string): string | null {
  return /^mongodb(?:\+srv)?:\/\/[^/]+\/([^/?]+)/.exec(url)?.[1] ?? null;
}
