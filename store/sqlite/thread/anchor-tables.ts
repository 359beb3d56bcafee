import type { CollectionId } from '../../../lib/ids.ts';
import {
  type AnchorHistoryItem,
  type AnchoringInstance,
  type AnchorRow,
  historyPositionOf,
  type OpenAnchor,
  type OutboxState,
} from '../../anchors.ts';
import { decodeAnchor, type EncodedAnchor, type StoredAnchor } from '../anchor-codec.ts';
import { decodeRow } from '../row-codec.ts';
import type { Database } from './database.ts';

/** The column `version` of `anchor_history` holds positions; earlier versions used the version. */
export const ANCHORS_SCHEMA = `
  CREATE TABLE IF NOT EXISTS anchors (
    collection TEXT PRIMARY KEY, revision INTEGER NOT NULL, standing TEXT NOT NULL, wantedAt TEXT, row TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS anchors_by_standing ON anchors (standing, collection, wantedAt);
  CREATE TABLE IF NOT EXISTS anchor_history (
    collection TEXT NOT NULL, version INTEGER NOT NULL, item TEXT NOT NULL, PRIMARY KEY (collection, version)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS anchoring_instances (instance TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT;
`;

/**
 * Revision for compare-and-set; 0 if the stored one is impossible. Numbers that are not safe
 * integers could compare equal although they differ.
 */
const REVISION = `iif(typeof(revision) = 'integer' AND revision BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}, revision, 0) AS revision`;

export interface StoredItem {
  position: number;
  item: string;
}

/** The outbox of anchors, synchronous. */
export class AnchorTables {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  get(collectionId: CollectionId): AnchorRow | null {
    const sql = `SELECT collection, ${REVISION}, row FROM anchors WHERE collection = ?`;
    const row = this.#database.getUntyped<StoredAnchor>(sql, collectionId);
    return row === undefined ? null : decodeAnchor(row);
  }

  getMany(collectionIds: CollectionId[]): AnchorRow[] {
    return collectionIds.map((id) => this.get(id)).filter((row) => row !== null);
  }

  add(anchor: EncodedAnchor): boolean {
    if (this.#revision(anchor.collectionId) !== null) return false;
    this.#write(anchor);
    return true;
  }

  put(anchor: EncodedAnchor, history?: AnchorHistoryItem): boolean {
    const { collectionId, revision } = anchor;
    if (this.#revision(collectionId) !== revision - 1) return false;
    this.#write(anchor);
    if (history) {
      const sql = 'INSERT OR REPLACE INTO anchor_history VALUES (?, ?, ?)';
      this.#database.run(sql, collectionId, historyPositionOf(history), JSON.stringify(history));
    }
    return true;
  }

  rowsAfter(collectionId: CollectionId, limit: number): AnchorRow[] {
    const sql = `SELECT collection, ${REVISION}, row FROM anchors WHERE collection > ? ORDER BY collection LIMIT ?`;
    return this.#database.allUntyped<StoredAnchor>(sql, collectionId, limit).map(decodeAnchor);
  }

  openAfter(standing: OutboxState, collectionId: CollectionId, limit: number): OpenAnchor[] {
    const sql = `SELECT collection AS collectionId, wantedAt FROM anchors
      WHERE standing = ? AND collection > ? ORDER BY collection LIMIT ?`;
    const rows = this.#database.allUntyped<OpenAnchor>(sql, standing, collectionId, limit);
    // `wantedAt` is not sealed, so it may be anything.
    return rows.map((row) => ({ ...row, wantedAt: typeof row.wantedAt === 'string' ? row.wantedAt : null }));
  }

  history(collectionId: CollectionId, limit: number, before: number | null): StoredItem[] {
    const sql = `SELECT version AS position, item FROM anchor_history
      WHERE collection = ? AND version < ifnull(?, 9007199254740992) ORDER BY version DESC LIMIT ?`;
    return this.#database.allUntyped<StoredItem>(sql, collectionId, before, limit);
  }

  /** Returns the number of items removed. */
  trimHistorySlice(collectionId: CollectionId, before: number, limit: number): number {
    const sql = `DELETE FROM anchor_history WHERE collection = ?1 AND version IN
      (SELECT version FROM anchor_history WHERE collection = ?1 AND version < ?2 ORDER BY version LIMIT ?3)`;
    return this.#database.run(sql, collectionId, before, limit);
  }

  /** Returns the number of items removed; null if the row has another revision. */
  removeHistorySlice(collectionId: CollectionId, revision: number, limit: number): number | null {
    if (this.#isOther(collectionId, revision)) return null;
    const sql = `DELETE FROM anchor_history WHERE collection = ?1
      AND version IN (SELECT version FROM anchor_history WHERE collection = ?1 LIMIT ?2)`;
    return this.#database.run(sql, collectionId, limit);
  }

  remove(collectionId: CollectionId, revision: number): boolean {
    if (this.#isOther(collectionId, revision)) return false;
    this.#database.run('DELETE FROM anchors WHERE collection = ?', collectionId);
    return true;
  }

  beat(instance: AnchoringInstance): void {
    const sql = 'INSERT OR REPLACE INTO anchoring_instances VALUES (?, ?)';
    this.#database.run(sql, instance.instance, JSON.stringify(instance));
  }

  instances(): AnchoringInstance[] {
    return this.#database
      .allUntyped<{ instance: unknown; row: string }>('SELECT instance, row FROM anchoring_instances ORDER BY instance')
      .flatMap(({ instance, row }) => (typeof instance === 'string' ? [instanceOf(instance, row)] : []));
  }

  endInstance(instance: string): void {
    this.#database.run('DELETE FROM anchoring_instances WHERE instance = ?', instance);
  }

  #write({ collectionId, revision, standing, wantedAt, row }: EncodedAnchor): void {
    const sql = 'INSERT OR REPLACE INTO anchors VALUES (?, ?, ?, ?, ?)';
    this.#database.run(sql, collectionId, revision, standing, wantedAt, row);
  }

  #revision(collectionId: CollectionId): number | null {
    const sql = `SELECT ${REVISION} FROM anchors WHERE collection = ?`;
    return this.#database.get<{ revision: number }>(sql, collectionId)?.revision ?? null;
  }

  #isOther(collectionId: CollectionId, revision: number): boolean {
    const stored = this.#revision(collectionId);
    return stored !== null && stored !== revision;
  }
}

/**
 * Decodes a row. The instance of one that does not decode counts as dead, because its beat stands
 * still.
 */
function instanceOf(instance: string, row: string): AnchoringInstance {
  try {
    const decoded = decodeRow<AnchoringInstance>(row, 'An instance');
    if (decoded.instance === instance) return decoded;
  } catch {
    // The caller sees the instance as dead.
  }
  return { instance, beat: 0, confirmed: 0, failures: 0 };
}
