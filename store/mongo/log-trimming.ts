import type { Collection } from 'mongodb';
import { lastOf } from '../../lib/checked-access.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import type { Connection } from './connection.ts';
import { type IdRange, joined, lastNumber, numbered, numberPart, shardPart, under } from './document-id.ts';
import type { EntryDocument } from './log-entry-codec.ts';
import type { LogShards } from './log-shards.ts';
import { deleteRange, idsIn, newestIn } from './slices.ts';
import { SplitBodies } from './split-bodies.ts';
import type { TallyFolding } from './tally-folding.ts';

const SLICE_ENTRIES = 1_000;
const FENCES = ['open', 'void'];

/**
 * Removes entries that are no longer read, except those that a fenced owner's append must collide
 * with (see log.ts). The order makes it safe to interrupt: fold the tallies, raise
 * `trimmedThrough`, remove entries, then the bodies of the entries that stay, then parts of split
 * bodies, including parts without an entry.
 */
export class LogTrimming {
  readonly #connection: Connection;
  readonly #entries: Collection<EntryDocument>;
  readonly #shards: LogShards;
  readonly #bodies: SplitBodies;
  readonly #folding: TallyFolding;

  constructor(connection: Connection, shards: LogShards, folding: TallyFolding) {
    this.#connection = connection;
    this.#shards = shards;
    this.#folding = folding;
    this.#entries = connection.collection('log');
    this.#bodies = new SplitBodies(connection);
  }

  async trim(shard: ShardKey, throughSeq: number): Promise<void> {
    const part = shardPart(shard);
    const newest = await newestIn(this.#entries, under(part), { _id: 1 });
    if (newest === null) return;
    const newestSeq = lastNumber(newest._id);
    const through = Math.min(throughSeq, newestSeq);
    if (through < 1) return;
    await this.#folding.fold(part, through);
    await this.#shards.raiseTrimmed(part, through);
    await this.#removeEntries(part, Math.min(through, newestSeq - 1));
    const trimmed = numbered(part, 0, through);
    await this.#entries.updateMany({ _id: trimmed, body: { $exists: true } }, { $unset: { body: '' } });
    await deleteRange(this.#connection, this.#bodies.collection, trimmed);
  }

  async removeAll(shards: IdRange): Promise<void> {
    await deleteRange(this.#connection, this.#entries, shards);
    await deleteRange(this.#connection, this.#bodies.collection, shards);
  }

  async #removeEntries(part: string, through: number): Promise<void> {
    if (through < 1) return;
    const fences = await this.#entries
      .find({ _id: numbered(part, 1, through + 1), kind: { $in: FENCES as EntryDocument['kind'][] } })
      .project<{ _id: string }>({ _id: 1 })
      .toArray();
    const kept = fences.flatMap(({ _id }) => [_id, joined(part, numberPart(lastNumber(_id) - 1))]);
    const removable = { _id: { ...numbered(part, 1, through), $nin: kept } };
    for (;;) {
      const ids = await idsIn(this.#entries, removable, SLICE_ENTRIES);
      if (ids.length > 0) await this.#entries.deleteMany({ _id: { $gte: ids[0], $lte: lastOf(ids), $nin: kept } });
      if (ids.length < SLICE_ENTRIES) return;
      this.#connection.assertOpen();
    }
  }
}
