import { randomUUID } from 'node:crypto';
import type { ShardHead } from '../../lib/shard/head.ts';
import type { AccountRow, CollectionRow } from '../../store/catalog.ts';
import type { KeyRow } from '../../store/keys.ts';
import type { LogEntry } from '../../store/log.ts';
import type { RowPage } from '../../store/page.ts';
import type { RecordChange, RecordScan, RecordStore, StoredRecord } from '../../store/records.ts';
import type { QueryBlock } from '../../store/usage.ts';

/** Rows and entries for tests of the storage port. Every call creates new ids. */

/** Strings that break code which uses ids as keys, operators, paths or property names. */
export const WEIRD_IDS = [
  '__proto__',
  'constructor',
  '../x',
  '/etc/passwd',
  '\u0000',
  'a\u0000',
  'a',
  '\ufeffa',
  'a\ufeff',
  'a ',
  'A',
  '.',
  '$where',
  '{"$gt":""}',
  "'; drop table--",
  '%2e%2e',
  'é',
  'e\u0301',
  '👩‍🚀',
  '\uffff',
  'x'.repeat(512),
  `\0${'n'.repeat(512)}\0${'x'.repeat(512)}`,
  '😀'.repeat(128),
];

/** An instant `seconds` after a fixed one, in ISO 8601 UTC. */
export function at(seconds: number): string {
  return new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
}

export function newAccount(change: Partial<AccountRow> = {}): AccountRow {
  return { id: randomUUID(), name: 'an account', plan: 'free', createdAt: at(0), ...change };
}

/** A block of queries of a node whose name needs quoting. */
export function newBlock(): Pick<QueryBlock, 'id' | 'node'> {
  return { id: randomUUID(), node: 'a.node$ of any name' };
}

export function newCollection(change: Partial<CollectionRow> = {}): CollectionRow {
  return {
    id: randomUUID(),
    accountId: randomUUID(),
    name: 'a-collection',
    dimensions: 3,
    metric: 'cosine',
    shards: 4,
    replicas: 0,
    quantization: 'bf16',
    deletionProtection: false,
    createdAt: at(0),
    ...change,
  };
}

export function newKey(change: Partial<KeyRow> = {}): KeyRow {
  return {
    id: randomUUID(),
    accountId: 'an account',
    name: 'a key',
    hash: randomUUID().replaceAll('-', '').repeat(2),
    prefix: 'pv_live_abcd',
    scopes: ['read', 'write', 'manage'],
    createdAt: at(0),
    expiresAt: null,
    lastUsedAt: null,
    ...change,
  };
}

export function head(seq: number): ShardHead {
  return { seq, version: seq, type: 'inner', hash: new Uint8Array(32).fill(seq % 251), count: seq * 2 };
}

export function entry(shard: string, seq: number, change: Partial<LogEntry> = {}): LogEntry {
  const body = new TextEncoder().encode(`body of ${shard} at ${seq}`);
  return { shard, seq, epoch: 1, entryId: randomUUID(), kind: 'write', head: head(seq), tally: null, body, ...change };
}

/** A record whose values are unique to its id and seq. */
export function record(id: string, seq: number, dimensions = 3): StoredRecord {
  const vector = Float32Array.from({ length: dimensions }, (_, i) => seq + i / 8);
  const metadata = new TextEncoder().encode(JSON.stringify({ id, seq }));
  return { id, seq, vector, metadata, leaf: new Uint8Array(32).fill(seq % 251) };
}

export function put(id: string, seq: number, dimensions = 3): RecordChange {
  return { id, record: record(id, seq, dimensions) };
}

export function remove(id: string): RecordChange {
  return { id, record: null };
}

/** All records of a scan, by id. */
export async function readAll(scan: RecordScan): Promise<Map<string, StoredRecord>> {
  const records = new Map<string, StoredRecord>();
  for await (const batch of scan.batches) {
    for (const found of batch) {
      if (records.has(found.id)) throw new Error(`${found.id} was scanned twice`);
      records.set(found.id, found);
    }
  }
  return records;
}

/** Existing records, in the order of `ids`. */
export async function recordsOf(records: RecordStore, shard: string, ids: string[]): Promise<StoredRecord[]> {
  const all = await readAll(await records.scan(shard));
  return ids.flatMap((id) => all.get(id) ?? []);
}

/** All pages of a list, each with at most `limit` rows. */
export async function pagesOf<Row, P>(
  read: (after: P | null, limit: number) => Promise<RowPage<Row, P>>,
  limit: number,
): Promise<Row[][]> {
  const pages: Row[][] = [];
  for (let after: P | null = null; ; ) {
    const page: RowPage<Row, P> = await read(after, limit);
    pages.push(page.rows);
    if (page.next === null) return pages;
    after = page.next;
  }
}

export async function collect<T>(pages: AsyncIterable<T[]>): Promise<T[]> {
  const rows: T[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}
