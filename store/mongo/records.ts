/**
 * The materialised records, one row per record, without transactions or snapshots.
 *
 * Guarantees: all changes through the applied seq are stored; rows may be ahead of it. A row is
 * only ever replaced by one with a higher seq, so a late write of a node that no longer owns the
 * shard changes nothing. Within a process, applies of one shard run one at a time; those of
 * different processes may overlap and write the same rows. See docs/internals/store.md.
 */

import { lastOf } from '../../lib/checked-access.ts';
import type { CollectionId } from '../../lib/ids.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import type { RecordChange, RecordScan, RecordStore, StoredRecord } from '../records.ts';
import type { Connection } from './connection.ts';
import { idPart, isRecordUnder, joined, lastRecordId, recordPart, shardPart, under } from './document-id.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { RecordCompaction } from './record-compaction.ts';
import { encodeRecord, type RecordDocument, RecordRows } from './record-rows.ts';
import { scanRecords } from './record-scan.ts';
import { generationPart, RecordShards } from './record-shards.ts';
import { deleteRange, idsIn } from './slices.ts';

const PAGE_ROWS = 1_000;

export class MongoRecords implements RecordStore {
  readonly #connection: Connection;
  readonly #shards: RecordShards;
  readonly #rows: RecordRows;
  readonly #turns = new KeyedMutex();
  readonly #compaction: RecordCompaction;

  /** `compactionMinTombstones`: minimum number of tombstones per shard for a compaction. */
  constructor(connection: Connection, compactionMinTombstones: number) {
    this.#connection = connection;
    this.#shards = new RecordShards(connection);
    this.#rows = new RecordRows(connection);
    this.#compaction = new RecordCompaction(connection, this.#turns, compactionMinTombstones);
  }

  async apply(shard: ShardKey, fromSeq: number, throughSeq: number, changes: RecordChange[]): Promise<void> {
    const part = shardPart(shard);
    // Only the last change of an id counts. A delete has no seq of its own. It gets `throughSeq`,
    // which is safe because no change through that seq comes after the delete.
    const last = new Map(changes.map(({ id, record }) => [recordPart(id), record]));
    await this.#turns.inTurn(part, () => this.#apply(part, fromSeq, throughSeq, last));
  }

  async appliedSeq(shard: ShardKey): Promise<number> {
    const part = shardPart(shard);
    return (await this.#shards.read(part)).appliedSeq;
  }

  async scan(shard: ShardKey): Promise<RecordScan> {
    const part = shardPart(shard);
    return scanRecords(this.#connection, this.#shards, this.#rows, part);
  }

  async removeForeign(shard: ShardKey, isOwn: (id: string) => boolean): Promise<void> {
    const part = shardPart(shard);
    await this.#turns.inTurn(part, () => this.#removeForeign(part, isOwn));
  }

  async remove(collectionId: CollectionId): Promise<void> {
    const shards = under(idPart(collectionId));
    this.#compaction.stop(shards.$gte);
    await this.#turns.settled(shards.$gte);
    await deleteRange(this.#connection, this.#rows.collection, shards);
    await this.#shards.remove(collectionId);
  }

  /** Resolves when no compaction is running. */
  waitForCompaction(): Promise<void> {
    return this.#compaction.whenIdle();
  }

  async #removeForeign(shard: string, isOwn: (id: string) => boolean): Promise<void> {
    // A new generation being written may already contain them.
    this.#compaction.stop(shard);
    const { generation } = await this.#shards.read(shard);
    const prefix = generationPart(shard, generation);
    const end = under(prefix).$lt;
    for (let after = under(prefix).$gte; ; ) {
      this.#connection.assertOpen();
      const filter = { _id: { $gt: after, $lt: end }, gone: { $exists: false } };
      const ids = await idsIn(this.#rows.collection, filter, PAGE_ROWS);
      const foreign = ids.filter((id) => !isRecordUnder(prefix, id) || !isOwn(lastRecordId(id)));
      if (foreign.length > 0) await this.#rows.collection.deleteMany({ _id: { $in: foreign } });
      if (ids.length < PAGE_ROWS) return;
      after = lastOf(ids);
    }
  }

  async #apply(
    shard: string,
    fromSeq: number,
    throughSeq: number,
    last: Map<string, StoredRecord | null>,
  ): Promise<void> {
    for (;;) {
      const state = await this.#shards.raiseReach(shard, fromSeq, throughSeq);
      if (state === null) return;
      const prefix = generationPart(shard, state.generation);
      const rows = [...last].map(([id, record]): RecordDocument => {
        const _id = joined(prefix, id);
        return record ? encodeRecord(_id, record) : { _id, seq: throughSeq, gone: prefix };
      });
      this.#compaction.beforeChange(shard, state.appliedSeq, [...last.keys()]);
      await this.#rows.write(rows);
      if (await this.#shards.raiseApplied(state, throughSeq)) break;
    }
    let deletes = 0;
    for (const record of last.values()) if (record === null) deletes++;
    this.#compaction.afterChange(shard, throughSeq, deletes);
  }
}
