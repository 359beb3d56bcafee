import type { Collection } from 'mongodb';
import type { Connection } from './connection.ts';
import { count, fields, ofForm } from './document-form.ts';
import { idPart, joined, numberPart, under } from './document-id.ts';
import { unlessTaken } from './store-failure.ts';

/** How far a shard's records are. */
export interface RecordShard {
  _id: string;
  /** The last seq applied. */
  mark: number;
  /**
   * No row holds a change after this one; raised before the rows are written, as the mark is after.
   */
  reach: number;
  /** Part of the `_id` of every row that counts. */
  generation: number;
  /** Generations that were begun; each attempt has a number of its own. */
  attempts: number;
}

const FORM = fields({ mark: count, reach: count, generation: count, attempts: count });

const shardIn = (document: RecordShard): RecordShard => ofForm(document, FORM, "What is stored of a shard's records");

const ABSENT = { mark: 0, reach: 0, generation: 0, attempts: 0 };

/** One document per shard that says which of its rows count. */
export class RecordShards {
  readonly #shards: Collection<RecordShard>;

  constructor(connection: Connection) {
    this.#shards = connection.collection('record-shards');
  }

  async read(shard: string): Promise<RecordShard> {
    const found = await this.#shards.findOne({ _id: shard });
    return found === null ? { _id: shard, ...ABSENT } : shardIn(found);
  }

  /**
   * Announces rows through `throughSeq`; null when the mark is there already, or not yet at
   * `fromSeq`.
   */
  async announce(shard: string, fromSeq: number, throughSeq: number): Promise<RecordShard | null> {
    const { reach: _, ...$setOnInsert } = ABSENT;
    const state = await unlessTaken(
      this.#shards.findOneAndUpdate(
        { _id: shard, mark: { $gte: fromSeq, $lt: throughSeq } },
        { $max: { reach: throughSeq }, $setOnInsert },
        { upsert: fromSeq === 0, returnDocument: 'after' },
      ),
    );
    // Where the answer shows a later state, the rows may be through by then, and deleted records
    // forgotten.
    return state === null || shardIn(state).mark >= throughSeq ? null : state;
  }

  /**
   * Raises the mark after the rows were written; false when they were written into a generation
   * that counts no more.
   */
  async complete({ _id, generation }: RecordShard, throughSeq: number): Promise<boolean> {
    return (await this.#shards.updateOne({ _id, generation }, { $max: { mark: throughSeq } })).matchedCount > 0;
  }

  /**
   * The shard's state with the number of a new generation, nobody else's, in `attempts`; null when
   * it has no records.
   */
  async beginGeneration(shard: string): Promise<RecordShard | null> {
    for (;;) {
      const state = await this.#shards.findOne({ _id: shard });
      if (state === null) return null;
      shardIn(state);
      // Not by a findOneAndUpdate: there are servers whose answer to it shows what came after the
      // update too.
      const attempts = state.attempts + 1;
      const taken = await this.#shards.updateOne({ _id: shard, attempts: state.attempts }, { $set: { attempts } });
      if (taken.matchedCount > 0) return { ...state, attempts };
    }
  }

  /** Makes `next` the generation that counts, unless generation or mark are not these any more. */
  async flip({ _id, generation, mark }: RecordShard, next: number): Promise<boolean> {
    const flipped = await this.#shards.updateOne({ _id, generation, mark }, { $set: { generation: next } });
    return flipped.matchedCount > 0;
  }

  async remove(collectionId: string): Promise<void> {
    await this.#shards.deleteMany({ _id: under(idPart(collectionId)) });
  }
}

/** What the `_id`s of a generation's rows begin with. */
export function generationPart(shard: string, generation: number): string {
  return joined(shard, numberPart(generation));
}
