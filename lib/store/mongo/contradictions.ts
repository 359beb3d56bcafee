import type { Collection } from 'mongodb';
import type { ShardKey } from '../../shard/key.ts';
import type { Contradiction, ContradictionStore } from '../contradictions.ts';
import type { Connection } from './connection.ts';
import { idPart, shardPart, under } from './document-id.ts';
import { isDuplicateKey } from './store-failure.ts';

interface ContradictionDocument extends Contradiction {
  _id: string;
}

/** One document per shard: its first contradiction. */
export class MongoContradictions implements ContradictionStore {
  readonly #connection: Connection;
  readonly #rows: Collection<ContradictionDocument>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#rows = connection.collection('contradictions');
  }

  async record(shard: ShardKey, { seq, reason, at }: Contradiction): Promise<void> {
    const _id = shardPart(shard);
    await this.#connection.run('write', 'recording a contradiction', async () => {
      try {
        await this.#rows.insertOne({ _id, seq, reason, at });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    });
  }

  async list(collectionId: string): Promise<Contradiction[]> {
    const shards = under(idPart(collectionId));
    return this.#connection.run('read', 'reading contradictions', async () => {
      const rows = await this.#rows.find({ _id: shards }).sort({ _id: 1 }).toArray();
      return rows.map(({ seq, reason, at }) => ({ seq, reason, at }));
    });
  }

  async clear(collectionId: string): Promise<void> {
    await this.#connection.run('write', 'clearing contradictions', () => this.remove(collectionId));
  }

  /** Part of dropping a collection. */
  async remove(collectionId: string): Promise<void> {
    await this.#rows.deleteMany({ _id: under(idPart(collectionId)) });
  }
}
