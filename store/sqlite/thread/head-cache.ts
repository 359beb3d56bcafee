import { LRUCache } from 'lru-cache';
import type { CollectionId } from '../../../lib/ids.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import type { Database } from './database.ts';

/** Maximum number of heads, a few megabytes. */
const HEADS_MAX = 16_384;

interface Cached {
  heads: Map<number, ShardHead>;
  /** Shards whose rows may have changed since. */
  stale: Set<number>;
}

/**
 * Verified heads of whole collections.
 *
 * Guarantees: cached heads match the file. Writes of this connection mark a head as stale before
 * they commit; after a rollback that costs one extra read. A commit of any other connection
 * invalidates the whole cache.
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

  /** Returns the heads of a collection. `readOne` and `readAll` read those that are not cached. */
  get(
    collectionId: CollectionId,
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
    // Set again to update the size of the entry.
    this.#collections.set(collectionId, cached);
    return cached.heads;
  }

  /** Must be called before a shard's row changes. */
  forget(shard: ShardKey): void {
    const { collectionId, index } = parseShardKey(shard);
    this.#collections.peek(collectionId)?.stale.add(index);
  }

  /** Must be called before all rows of a collection change. */
  drop(collectionId: CollectionId): void {
    this.#collections.delete(collectionId);
  }
}
