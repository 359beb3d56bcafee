import { LRUCache } from 'lru-cache';
import type { ShardHead } from '../../../shard/head.ts';
import { parseShardKey, type ShardKey } from '../../../shard/key.ts';
import type { Database } from './database.ts';

/** Some megabytes. */
const HEADS_MAX = 16_384;

interface Cached {
  heads: Map<number, ShardHead>;
  /** Shards whose rows may have changed since. */
  stale: Set<number>;
}

/**
 * Heads of whole collections whose seals were verified.
 *
 * Promises: they are as the file has them. This connection's own writes make a head stale before
 * they are committed, and one that is rolled back costs a reading; after a commit of any other
 * connection nothing counts that was read before it.
 */
export class HeadCache {
  readonly #database: Pick<Database, 'dataVersion'>;
  readonly #collections = new LRUCache<string, Cached>({
    maxSize: HEADS_MAX,
    sizeCalculation: ({ heads }) => Math.max(1, heads.size),
  });
  #dataVersion = 0;

  constructor(database: Pick<Database, 'dataVersion'>) {
    this.#database = database;
  }

  /** The heads of a collection; `readOne` and `readAll` read what is not known. */
  get(
    collectionId: string,
    readOne: (index: number) => ShardHead | null,
    readAll: () => Map<number, ShardHead>,
  ): Map<number, ShardHead> {
    const { dataVersion } = this.#database;
    if (dataVersion !== this.#dataVersion) this.#collections.clear();
    this.#dataVersion = dataVersion;
    const cached = this.#collections.get(collectionId);
    if (cached === undefined) {
      const heads = readAll();
      this.#collections.set(collectionId, { heads, stale: new Set() });
      return heads;
    }
    for (const index of cached.stale) {
      const head = readOne(index);
      if (head === null) cached.heads.delete(index);
      else cached.heads.set(index, head);
    }
    cached.stale.clear();
    // Anew, for its size.
    this.#collections.set(collectionId, cached);
    return cached.heads;
  }

  /** The shard's row is about to change. */
  forget(shard: ShardKey): void {
    const { collectionId, index } = parseShardKey(shard);
    this.#collections.peek(collectionId)?.stale.add(index);
  }

  /** All rows of the collection are about to change. */
  drop(collectionId: string): void {
    this.#collections.delete(collectionId);
  }
}
