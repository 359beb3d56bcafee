import { parseShardKey } from '../../../lib/shard/key.ts';
import { type Contradiction, type ContradictionStore, decodeContradiction } from '../../contradictions.ts';
import type { Database, Sync } from './database.ts';

export const CONTRADICTIONS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS contradictions (
    collection TEXT NOT NULL, shard INTEGER NOT NULL, seq INTEGER NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (collection, shard)
  ) STRICT, WITHOUT ROWID;
`;

export const contradictionTable = (database: Database): Sync<ContradictionStore> => ({
  record(shard, { seq, reason, at }) {
    const { collectionId, index } = parseShardKey(shard);
    const sql = 'INSERT INTO contradictions VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
    database.run(sql, collectionId, index, seq, reason, at);
  },

  list(collectionId) {
    const sql = 'SELECT seq, reason, at FROM contradictions WHERE collection = ? ORDER BY shard';
    return database.allUntyped<Contradiction>(sql, collectionId).map(decodeContradiction);
  },

  clear(collectionId) {
    database.run('DELETE FROM contradictions WHERE collection = ?', collectionId);
  },
});
