import type { CollectionId } from '../../../lib/ids.ts';
import { parseShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { OwnerRow, OwnerStore } from '../../owners.ts';
import { damagedValue } from '../store-failure.ts';
import type { Database, Sync } from './database.ts';

export const OWNERS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS owners (
    collection TEXT NOT NULL, shard INTEGER NOT NULL, epoch INTEGER NOT NULL, node TEXT, incarnation TEXT,
    PRIMARY KEY (collection, shard)
  ) STRICT, WITHOUT ROWID;
`;

interface Row {
  collection: string;
  shard: number;
  epoch: number;
  node: string | null;
  incarnation: string | null;
}

export interface OwnerTable extends Sync<OwnerStore> {
  drop(collectionId: CollectionId): void;
}

export const ownerTable = (database: Database): OwnerTable => ({
  get(shard) {
    const { collectionId, index } = parseShardKey(shard);
    const row = database.get<Row>('SELECT * FROM owners WHERE collection = ? AND shard = ?', collectionId, index);
    return row === undefined ? null : ownerOf(row);
  },

  list(collectionId) {
    return database.all<Row>('SELECT * FROM owners WHERE collection = ? ORDER BY shard', collectionId).map(ownerOf);
  },

  claim({ shard, epoch, holder }) {
    if ((this.get(shard)?.epoch ?? 0) !== epoch - 1) return false;
    const { collectionId, index } = parseShardKey(shard);
    const sql = 'INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)';
    database.run(sql, collectionId, index, epoch, holder?.node ?? null, holder?.incarnation ?? null);
    return true;
  },

  release(shard, epoch, to) {
    const { collectionId, index } = parseShardKey(shard);
    const sql = 'UPDATE owners SET node = ?, incarnation = ? WHERE collection = ? AND shard = ? AND epoch = ?';
    database.run(sql, to?.node ?? null, to?.incarnation ?? null, collectionId, index, epoch);
  },

  drop(collectionId) {
    database.run('DELETE FROM owners WHERE collection = ?', collectionId);
  },
});

function ownerOf({ collection, shard, epoch, node, incarnation }: Row): OwnerRow {
  if (!Number.isSafeInteger(epoch)) throw damagedValue('An owner of a shard');
  const holder = node === null || incarnation === null ? null : { node, incarnation };
  return { shard: shardKey(collection, shard), epoch, holder };
}
