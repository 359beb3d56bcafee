import { type Contradiction, type ContradictionStore, decodeContradiction } from '../contradictions.ts';
import type { Connection } from './connection.ts';
import { idPart, shardPart, under } from './document-id.ts';
import { nullOnDuplicate } from './store-failure.ts';

/** Stores one document per shard: its first contradiction. */
export function mongoContradictions(connection: Connection): ContradictionStore {
  const rows = connection.collection<Contradiction & { _id: string }>('contradictions');
  return {
    async record(shard, { seq, reason, at }) {
      await nullOnDuplicate(rows.insertOne({ _id: shardPart(shard), seq, reason, at }));
    },

    async list(collectionId) {
      const found = await rows
        .find({ _id: under(idPart(collectionId)) })
        .sort({ _id: 1 })
        .toArray();
      return found.map(decodeContradiction);
    },

    async clear(collectionId) {
      await rows.deleteMany({ _id: under(idPart(collectionId)) });
    },
  };
}
