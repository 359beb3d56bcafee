import { LRUCache } from 'lru-cache';
import type { Collection } from 'mongodb';
import type { CollectionId } from '../../lib/ids.ts';
import type { Connection } from './connection.ts';
import { count, fields, listOf, optional, text, validated } from './document-form.ts';
import { type IdPart, idPart, under } from './document-id.ts';

export interface LogShardDocument {
  _id: string;
  index: number;
  /** Entries up to this seq are trimmed, even if some are still stored. */
  trimmedThrough: number;
  /** Accounts whose usage documents include tallies of the shard. */
  accounts: string[];
}

const WHAT = "The state of a shard's log";
const FORM = fields({ index: count, trimmedThrough: count, accounts: optional(listOf(text)) });
const KNOWN_MAX = 10_000;

/**
 * Data about each shard's log beside its entries: that it exists, the seq it is trimmed through,
 * and the accounts it was charged to.
 */
export class LogShards {
  readonly #shards: Collection<LogShardDocument>;
  readonly #charged = new LRUCache<string, true>({ max: KNOWN_MAX });

  constructor(connection: Connection) {
    this.#shards = connection.collection('log-shards');
  }

  /** Must be called before a shard's first entry is stored. */
  async register(shard: string): Promise<void> {
    const $setOnInsert = { index: indexOf(shard), trimmedThrough: 0, accounts: [] };
    await this.#shards.updateOne({ _id: shard }, { $setOnInsert }, { upsert: true });
  }

  /** Must be called before a tally of the shard is folded into the account's usage document. */
  async charge(shard: string, account: IdPart): Promise<void> {
    const key = `${shard} ${account}`;
    if (this.#charged.has(key)) return;
    const $setOnInsert = { index: indexOf(shard), trimmedThrough: 0 };
    await this.#shards.updateOne({ _id: shard }, { $setOnInsert, $addToSet: { accounts: account } }, { upsert: true });
    this.#charged.set(key, true);
  }

  async ofCollection(collectionId: CollectionId): Promise<LogShardDocument[]> {
    const found = await this.#shards
      .find({ _id: under(idPart(collectionId)) })
      .sort({ _id: 1 })
      .toArray();
    return found.map((shard) => validated(shard, FORM, WHAT));
  }

  async trimmedThrough(shard: string): Promise<number> {
    const found = await this.#shards.findOne({ _id: shard });
    return found === null ? 0 : validated(found, FORM, WHAT).trimmedThrough;
  }

  async raiseTrimmed(shard: string, throughSeq: number): Promise<void> {
    await this.#shards.updateOne({ _id: shard }, { $max: { trimmedThrough: throughSeq } });
  }

  async remove(collectionId: CollectionId): Promise<void> {
    const shards = under(idPart(collectionId));
    for (const key of [...this.#charged.keys()]) if (key.startsWith(shards.$gte)) this.#charged.delete(key);
    await this.#shards.deleteMany({ _id: shards });
  }
}

function indexOf(shard: string): number {
  return Number(shard.slice(shard.lastIndexOf('.') + 1));
}
