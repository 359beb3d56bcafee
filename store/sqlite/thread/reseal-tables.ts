import type { Keyring } from '../../../lib/secret/keyring.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import { parseShardKey, type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { AliasRow } from '../../aliases.ts';
import type { AuditRow } from '../../audit.ts';
import type { AuditLinkRow } from '../../audit-links.ts';
import type { AccountRow } from '../../catalog.ts';
import { type LogFindings, LogResealing, type StoredEntry } from '../../log-resealing.ts';
import { isSameLink } from '../../log-seals.ts';
import type { PlanRow } from '../../plans.ts';
import type { StoredRow } from '../../resealing.ts';
import type { Sealed } from '../../sealed.ts';
import { headOf } from '../row-codec.ts';
import { hasAliases } from './alias-table.ts';
import { hasAuditLinks } from './audit-link-table.ts';
import { hasAudit } from './audit-table.ts';
import { type CollectionColumns, collectionOf } from './collection-table.ts';
import type { Database } from './database.ts';
import { type KeyColumns, listedKeyOf } from './key-table.ts';
import { bodyDigest, ENTRY, type EntryRow, entryOf, SHARD, type StoredShard } from './log-tables.ts';
import { hasPlans } from './plan-table.ts';
import { collectionsWithTags } from './tag-table.ts';

/** A row of a page with its row id, which is the order of the pages. */
export type RowWithNumber<Row> = { number: number; row: Row };
export type RowKind = Exclude<StoredRow['kind'], 'checkpoint'>;

const TABLES = {
  account: 'accounts',
  alias: 'aliases',
  'audit entry': 'audit',
  'audit link': 'audit_links',
  collection: 'collections',
  'API key': 'keys',
  plan: 'plans',
} as const;
const PAGE_ROWS = 500;

/**
 * Every seal in `log.db`, synchronous. A log and its head are resealed in one transaction. Exists
 * only in a store opened for resealing.
 */
export class ResealTables {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(database: Database, keyring: Keyring) {
    this.#database = database;
    this.#keyring = keyring;
  }

  rowsAfter(kind: RowKind, number: number): RowWithNumber<StoredRow>[] {
    if (kind === 'alias' && !hasAliases(this.#database)) return [];
    if (kind === 'plan' && !hasPlans(this.#database)) return [];
    if (kind === 'audit entry' && !hasAudit(this.#database)) return [];
    if (kind === 'audit link' && !hasAuditLinks(this.#database)) return [];
    // The rowid of a collection is its place.
    const [rowid, from] =
      kind === 'collection' ? ['place', collectionsWithTags(this.#database)] : ['rowid', TABLES[kind]];
    const sql = `SELECT ${rowid} AS number, * FROM ${from} WHERE ${rowid} > ? ORDER BY ${rowid} LIMIT ${PAGE_ROWS}`;
    const rows = this.#database.allUntyped<{ number: number }>(sql, number);
    return rows.map((row) => ({ number: row.number, row: storedRow(kind, row) }));
  }

  shardsAfter(number: number): RowWithNumber<ShardKey>[] {
    const sql = `SELECT number, collection, shard FROM shards WHERE number > ? ORDER BY number LIMIT ${PAGE_ROWS}`;
    const rows = this.#database.all<{ number: number; collection: string; shard: number }>(sql, number);
    return rows.map((row) => ({ number: row.number, row: shardKey(row.collection, row.shard) }));
  }

  replaceSeal(kind: Exclude<RowKind, 'audit entry' | 'plan'>, id: string, before: string, seal: string): boolean {
    const sql = `UPDATE ${TABLES[kind]} SET seal = ? WHERE id = ? AND seal = ?`;
    return this.#database.run(sql, seal, id, before) > 0;
  }

  replacePlanSeal({ name, seal: before }: Sealed<PlanRow>, seal: string): boolean {
    return this.#database.run('UPDATE plans SET seal = ? WHERE name = ? AND seal = ?', seal, name, before) > 0;
  }

  replaceAuditSeal({ trail, seq, seal: before }: Sealed<AuditRow>, seal: string): boolean {
    const sql = 'UPDATE audit SET seal = ? WHERE trail = ? AND seq = ? AND seal = ?';
    return this.#database.run(sql, seal, trail, seq, before) > 0;
  }

  lookAtLog(shard: ShardKey, trustsLog: boolean): LogFindings {
    return this.#log(shard, trustsLog, false);
  }

  resealLog(shard: ShardKey, trustsLog: boolean): LogFindings {
    return this.#log(shard, trustsLog, true);
  }

  #log(shard: ShardKey, trustsLog: boolean, writes: boolean): LogFindings {
    const resealing = new LogResealing(this.#keyring, trustsLog);
    const { collectionId, index } = parseShardKey(shard);
    const row = this.#database.getUntyped<StoredShard>(
      `SELECT ${SHARD} FROM shards WHERE collection = ? AND shard = ?`,
      collectionId,
      index,
    );
    if (row === undefined) return resealing.found;
    const { number } = row;
    // Entries past the head were not written by the service, so they are never trusted.
    const throughSeq = trustsLog ? row.seq : Number.MAX_SAFE_INTEGER;
    const next = `SELECT ${ENTRY} FROM entries WHERE shard = ? AND seq > ? AND seq <= ? ORDER BY entries.seq LIMIT 1`;
    for (let after = 0; ; ) {
      const entry = this.#database.getUntyped<EntryRow>(next, number, after, throughSeq);
      if (entry === undefined) break;
      after = entry.seq;
      const relinked = resealing.entry(storedEntry(shard, entry));
      if (relinked === null || !writes) continue;
      const sql = 'UPDATE entries SET before = ?, link = ? WHERE shard = ? AND seq = ?';
      this.#database.run(sql, relinked.before, relinked.link, number, after);
    }
    const head = resealing.head({ shard, head: headIn(row), link: row.link, seal: row.seal });
    if (head !== null && writes)
      this.#database.run('UPDATE shards SET link = ?, seal = ? WHERE number = ?', head.link, head.seal, number);
    return resealing.found;
  }
}

/** Every row counts as in place, because the row itself says where it belongs. */
function storedRow(kind: RowKind, columns: object): StoredRow {
  const isInPlace = true;
  switch (kind) {
    case 'account':
      return { kind, isInPlace, state: 'live', row: columns as Sealed<AccountRow> };
    case 'alias':
      return { kind, isInPlace, row: columns as Sealed<AliasRow> };
    case 'collection': {
      const row = columns as CollectionColumns & { dropped: number };
      return { kind, isInPlace, state: row.dropped === 0 ? 'live' : 'dropped', row: collectionOf(row) };
    }
    case 'plan':
      return { kind, isInPlace, row: columns as Sealed<PlanRow> };
    case 'audit entry':
      return { kind, isInPlace, row: columns as Sealed<AuditRow> };
    case 'audit link':
      return { kind, isInPlace, row: columns as Sealed<AuditLinkRow> };
    case 'API key':
      return { kind, isInPlace, row: listedKeyOf(columns as KeyColumns) };
  }
}

function storedEntry(shard: ShardKey, row: EntryRow): StoredEntry {
  const { seq, body, bodyHash, before, link } = row;
  const isWhole = isSameLink(bodyDigest(body), bodyHash);
  try {
    return { seq, linked: { entry: entryOf(shard, row), bodyHash, before, link }, link, isWhole };
  } catch {
    return { seq, linked: null, link, isWhole };
  }
}

function headIn(row: StoredShard): ShardHead | null {
  try {
    return headOf(row);
  } catch {
    return null;
  }
}
