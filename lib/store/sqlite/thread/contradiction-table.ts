import { parseShardKey, type ShardKey } from '../../../shard/key.ts';
import type { Contradiction } from '../../contradictions.ts';
import type { Database } from './database.ts';

export const CONTRADICTIONS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS contradictions (
    collection TEXT NOT NULL, shard INTEGER NOT NULL, seq INTEGER NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (collection, shard)
  ) STRICT, WITHOUT ROWID;
`;

/** The first contradiction of each shard, synchronously. */
export class ContradictionTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  record(shard: ShardKey, { seq, reason, at }: Contradiction): void {
    const { collectionId, index } = parseShardKey(shard);
    const sql = 'INSERT INTO contradictions VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
    this.#database.run(sql, collectionId, index, seq, reason, at);
  }

  list(collectionId: string): Contradiction[] {
    const sql = 'SELECT seq, reason, at FROM contradictions WHERE collection = ? ORDER BY shard';
    return this.#database.all<Contradiction>(sql, collectionId).map((row) => ({ ...row }));
  }

  clear(collectionId: string): void {
    this.#database.run('DELETE FROM contradictions WHERE collection = ?', collectionId);
  }
}
