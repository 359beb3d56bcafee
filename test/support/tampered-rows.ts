import type { DatabaseSync } from 'node:sqlite';
import { type ShardKey, shardKey } from '../../lib/shard/key.ts';
import { inStoreFile, type StoreFile } from './store-file.ts';

/**
 * Rows of one collection of one shard in the files of a SQLite store, as an attacker with the disk
 * in hand sees and changes them.
 */
export class TamperedRows {
  readonly #folder: string;
  readonly #collectionId: string;

  constructor(folder: string, collectionId: string) {
    this.#folder = folder;
    this.#collectionId = collectionId;
  }

  /** Key of the collection's first shard. */
  get shardKey(): ShardKey {
    return shardKey(this.#collectionId, 0);
  }

  /** The seq up to which records are materialised, and the seq of the newest log entry. */
  seqs(): { mark: number; newest: number } {
    const sql = 'SELECT seq FROM shards WHERE collection = ?';
    const of = (name: StoreFile) =>
      this.#in(name, (file) => Number(file.prepare(sql).get(this.#collectionId)?.seq ?? 0));
    return { mark: of('records.db'), newest: of('log.db') };
  }

  /**
   * Runs a statement on `records.db`, with `:shard` bound to the number of the collection's shard
   * there. Returns the number of changed rows.
   */
  records(sql: string, values: Record<string, string | number | Uint8Array> = {}): number {
    return this.#run('records.db', sql, values);
  }

  /** Runs a statement on `log.db`, like `records`. */
  log(sql: string, values: Record<string, string | number | Uint8Array> = {}): number {
    return this.#run('log.db', sql, values);
  }

  /** Rows that a statement selects in `log.db`. */
  inLog<Row>(sql: string): Row[] {
    return this.#in('log.db', (file) => file.prepare(sql).all({ ':shard': this.#number(file) }) as Row[]);
  }

  /** Changes the collection's outbox row, given as JSON; null removes it. */
  anchors(change: ((row: Record<string, unknown>) => Record<string, unknown>) | null): void {
    this.#in('log.db', (file) => {
      const where = 'WHERE collection = ?';
      if (change === null) return file.prepare(`DELETE FROM anchors ${where}`).run(this.#collectionId);
      const { row } = file.prepare(`SELECT row FROM anchors ${where}`).get(this.#collectionId)!;
      const changed = JSON.stringify(change(JSON.parse(String(row))));
      return file.prepare(`UPDATE anchors SET row = ?, standing = 'due' ${where}`).run(changed, this.#collectionId);
    });
  }

  #run(name: StoreFile, sql: string, values: Record<string, string | number | Uint8Array>): number {
    return this.#in(name, (file) => {
      const bound = Object.fromEntries(Object.entries(values).map(([key, value]) => [`:${key}`, value]));
      if (sql.includes(':shard')) bound[':shard'] = this.#number(file);
      return Number(file.prepare(sql).run(bound).changes);
    });
  }

  #number(file: DatabaseSync): number {
    return Number(file.prepare('SELECT number FROM shards WHERE collection = ?').get(this.#collectionId)!.number);
  }

  #in<T>(name: StoreFile, work: (file: DatabaseSync) => T): T {
    return inStoreFile(this.#folder, name, work);
  }
}
