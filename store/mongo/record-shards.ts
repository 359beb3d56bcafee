import type { Collection } from 'mongodb';
import type { CollectionId } from '../../lib/ids.ts';
import type { Connection } from './connection.ts';
import { count, fields, validated } from './document-form.ts';
import { idPart, joined, numberPart, under } from './document-id.ts';
import { nullOnDuplicate } from './store-failure.ts';

interface RecordShardDocument {
  _id: string;
  /** The last seq applied. */
  mark: number;
  /**
   * Upper bound of the seqs in rows. Raised before rows are written, whereas `mark` is raised
   * after.
   */
  reach: number;
  /** Current generation, part of the `_id` of every row that counts. */
  generation: number;
  /** Number of generations begun; each attempt takes a new one. */
  attempts: number;
}

export type RecordShardState = Omit<RecordShardDocument, 'mark'> & { appliedSeq: number };

const FORM = fields({ mark: count, reach: count, generation: count, attempts: count });

function shardIn(document: RecordShardDocument): RecordShardState {
  const { mark: appliedSeq, ...rest } = validated(document, FORM, "The state of a shard's records");
  return { ...rest, appliedSeq };
}

const ABSENT = { mark: 0, reach: 0, generation: 0, attempts: 0 };

/** One document per shard that says which of its rows count. */
export class RecordShards {
  readonly #shards: Collection<RecordShardDocument>;

  constructor(connection: Connection) {
    this.#shards = connection.collection('record-shards');
  }

  async read(shard: string): Promise<RecordShardState> {
    const found = await this.#shards.findOne({ _id: shard });
    return shardIn(found ?? { _id: shard, ...ABSENT });
  }

  /**
   * Raises `reach` to `throughSeq` before rows are written; returns null if `appliedSeq` is
   * already there, or below `fromSeq`.
   */
  async raiseReach(shard: string, fromSeq: number, throughSeq: number): Promise<RecordShardState | null> {
    const { reach: _, ...$setOnInsert } = ABSENT;
    const found = await nullOnDuplicate(
      this.#shards.findOneAndUpdate(
        { _id: shard, mark: { $gte: fromSeq, $lt: throughSeq } },
        { $max: { reach: throughSeq }, $setOnInsert },
        { upsert: fromSeq === 0, returnDocument: 'after' },
      ),
    );
    // If the returned state is newer, another process may already have applied these rows and
    // removed the tombstones.
    const state = found && shardIn(found);
    return state === null || state.appliedSeq >= throughSeq ? null : state;
  }

  /**
   * Raises `appliedSeq` after the rows were written; returns false if their generation is no longer
   * current.
   */
  async raiseApplied({ _id, generation }: RecordShardState, throughSeq: number): Promise<boolean> {
    return (await this.#shards.updateOne({ _id, generation }, { $max: { mark: throughSeq } })).matchedCount > 0;
  }

  /**
   * Returns the shard's state with a new, unique generation number in `attempts`; null if the shard
   * has no records.
   */
  async beginGeneration(shard: string): Promise<RecordShardState | null> {
    for (;;) {
      const found = await this.#shards.findOne({ _id: shard });
      if (found === null) return null;
      const state = shardIn(found);
      // Not findOneAndUpdate: some servers return a document that includes changes made after the
      // update.
      const attempts = state.attempts + 1;
      const taken = await this.#shards.updateOne({ _id: shard, attempts: state.attempts }, { $set: { attempts } });
      if (taken.matchedCount > 0) return { ...state, attempts };
    }
  }

  /** Makes `next` the current generation if generation and `appliedSeq` are unchanged. */
  async makeCurrent({ _id, generation, appliedSeq: mark }: RecordShardState, next: number): Promise<boolean> {
    const flipped = await this.#shards.updateOne({ _id, generation, mark }, { $set: { generation: next } });
    return flipped.matchedCount > 0;
  }

  async remove(collectionId: CollectionId): Promise<void> {
    await this.#shards.deleteMany({ _id: under(idPart(collectionId)) });
  }
}

export function generationPart(shard: string, generation: number): string {
  return joined(shard, numberPart(generation));
}
