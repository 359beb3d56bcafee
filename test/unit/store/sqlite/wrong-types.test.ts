/**
 * Stores values of wrong types in the rows of a running store. Provec must report every value that
 * it refuses as damage, and fail in no other way, whatever the column.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DEFAULT_PLANS, planLimitsText } from '../../../../lib/plans.ts';
import { emptyAnchorRow } from '../../../../store/anchors.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import {
  at,
  collect,
  entry,
  newAccount,
  newBlock,
  newCollection,
  newKey,
  put,
  readAll,
} from '../../../contract/store-rows.ts';
import { isThorough } from '../../../support/effort.ts';
import { columnsOf, putAnywhere, putRowsBack, rowsOf } from '../../../support/loosened-file.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

const VALUES: SQLInputValue[] = [Buffer.from('{"a":1}'), 'a text', 1.5, 2n ** 60n + 1n, null];
/** Columns in which SQLite itself accepts only integers. */
const ROWIDS = [
  'collections.place',
  'accounts.place',
  'query_blocks.place',
  'shards.number',
  'entries.place',
  'records.place',
];
const MONTH = '2026-11';
const FILES = ['log.db', 'records.db', 'leases.db'] as const;

let folder: string;
let store: Store;
const account = newAccount();
const collection = newCollection({ accountId: account.id, shards: 2, tags: '{"a":"b"}' });
const sound = newCollection({ accountId: account.id, name: 'sound' });
const key = newKey({ accountId: account.id, lastUsedAt: at(1) });
const shard = `${collection.id}.0`;
const incarnation = randomUUID();
const PLAN = { name: 'gold', limits: planLimitsText(DEFAULT_PLANS.pro) };

async function fill(filled: Store) {
  const { catalog, keys, aliases, plans, log, records, usage, anchors, contradictions, owners, leases } = filled;
  await catalog.createAccount(account);
  for (const row of [collection, sound]) await catalog.createCollection(row, null);
  await keys.create(key, null);
  await plans.put(PLAN);
  await aliases.put({ accountId: account.id, alias: 'alias', collectionId: collection.id, createdAt: at(0) }, 10);
  const tally = { accountId: account.id, month: MONTH, writes: 1, vectors: 1 };
  for (const seq of [1, 2]) await log.append(entry(shard, seq, { tally }));
  await records.apply(shard, 0, 1, [put('a', 1), put('b', 1)]);
  await usage.openBlock(account.id, MONTH, newBlock(), 10, null);
  await usage.replaceHolds(account.id, { revision: 1, holds: [], alone: null, line: [] });
  const row = { ...emptyAnchorRow(collection.id, 'address', 1), wanted: [], wantedAt: at(0) };
  await anchors.add(row);
  const history = { merkleRoot: '0'.repeat(64), version: 1, vectorCount: 0, signature: 's', confirmedAt: at(0) };
  await anchors.put({ ...row, revision: 2 }, history);
  await anchors.beat({ instance: 'i', beat: 1, confirmed: 0, failures: 0 });
  await contradictions.record(shard, { seq: 1, reason: 'a reason', at: at(0) });
  await owners.claim({ shard, epoch: 1, holder: { node: 'n', incarnation } });
  await leases.begin({ node: 'n', incarnation, beat: 1, process: {} as never, draining: false });
}

const READS: Record<string, () => Promise<unknown>> = {
  findCollection: () => store.catalog.findCollection(account.id, collection.name),
  getCollection: () => store.catalog.getCollection(collection.id),
  listCollections: () => store.catalog.listCollections(account.id),
  allCollections: () => collect(store.catalog.allCollections()),
  countCollections: () => store.catalog.countCollections(account.id),
  listDropped: () => store.catalog.listDropped(),
  getAccount: () => store.catalog.getAccount(account.id),
  listAccounts: () => store.catalog.listAccounts(),
  findByHash: () => store.keys.findByHash(key.hash),
  listKeys: () => store.keys.list(account.id),
  countKeys: () => store.keys.count(account.id),
  findAlias: () => store.aliases.find(account.id, 'alias'),
  listAliases: () => store.aliases.page(account.id, null, 10),
  standingFor: () => store.aliases.findByCollection(account.id, collection.id),
  findPlan: () => store.plans.find(PLAN.name),
  listPlans: () => store.plans.list(),
  hasAccountOfPlan: () => store.catalog.hasAccountOfPlan(account.plan),
  readLog: () => store.log.read(shard, 0, 1_000_000),
  head: () => store.log.head(shard),
  heads: () => store.log.heads(collection.id),
  audit: async () => (await store.log.audit(shard, 2)) ?? 0,
  firstSeq: () => store.log.firstSeq(shard),
  appliedSeq: () => store.records.appliedSeq(shard),
  scan: async () => readAll(await store.records.scan(shard)),
  readUsage: () => store.usage.read(account.id, MONTH),
  readQueries: () => store.usage.readQueries(account.id, MONTH),
  readHolds: () => store.usage.readHolds(account.id),
  getAnchor: () => store.anchors.get(collection.id),
  allAnchors: () => collect(store.anchors.all()),
  dueAnchors: () => collect(store.anchors.open('due')),
  history: () => store.anchors.history(collection.id, 10, null),
  instances: () => store.anchors.instances(),
  contradictions: () => store.contradictions.list(collection.id),
  getOwner: () => store.owners.get(shard),
  listOwners: () => store.owners.list(collection.id),
  listLeases: () => store.leases.list(),
  firstKey: () => store.firstKey.due(),
  reach: () => store.reach(),
};
/** Writes by the table that they change. */
const WRITES: Record<string, (() => Promise<unknown>)[]> = {
  collections: [
    () => store.catalog.changeCollection(collection.id, (row) => ({ ...row, deletionProtection: true })),
    () => store.catalog.createCollection(newCollection({ accountId: account.id, name: 'new' }), 9),
    () => store.catalog.dropCollection(collection.id, true),
  ],
  accounts: [() => store.catalog.setPlan(account.id, 'pro')],
  keys: [
    () => store.keys.touch(key.id, at(9)),
    () => store.keys.create(newKey({ accountId: account.id }), 2),
    () => store.keys.revoke(account.id, key.id, at(0)),
  ],
  aliases: [() => store.aliases.remove(account.id, 'alias')],
  plans: [() => store.plans.put(PLAN), () => store.plans.remove(PLAN.name)],
  usage_months: [() => store.usage.openBlock(account.id, MONTH, newBlock(), 10, 100)],
  write_holds: [() => store.usage.replaceHolds(account.id, { revision: 2, holds: [], alone: null, line: [] })],
  stored_vectors: [() => store.dropCollectionData(collection.id)],
  collection_shares: [() => store.dropCollectionData(collection.id)],
  entries: [() => store.log.append(entry(shard, 3)), () => store.log.trim(shard, 1)],
  anchors: [() => store.anchors.put({ ...emptyAnchorRow(collection.id, 'address', 1), revision: 3 })],
  owners: [() => store.owners.claim({ shard, epoch: 2, holder: null })],
  records: [
    () => store.records.apply(shard, 1, 2, [put('a', 2)]),
    () => store.records.removeForeign(shard, () => true),
  ],
  leases: [() => store.leases.renew(incarnation, 2, false)],
};

/** Types by place in a result; a list has the types of all its items. */
function typesIn(value: unknown, place = ''): string[] {
  if (value === null || value === undefined) return [];
  if (ArrayBuffer.isView(value)) return [`${place} ${value instanceof Float32Array ? 'vector' : 'bytes'}`];
  if (value instanceof Map) return [...value.values()].flatMap((item) => typesIn(item, `${place}[]`));
  if (Array.isArray(value)) return value.flatMap((item) => typesIn(item, `${place}[]`));
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([name, item]) => typesIn(item, `${place}.${name}`));
  return [`${place} ${Number.isNaN(value) ? 'NaN' : typeof value}`];
}

/** Returns any error other than StoreError 'damaged'. */
async function unnamed(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return null;
  } catch (error) {
    return error instanceof StoreError && error.kind === 'damaged' ? null : error;
  }
}

const known = new Map<string, Set<string>>();
const rows = new Map<string, ReturnType<typeof rowsOf>>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
  await fill(store);
  for (const [name, read] of Object.entries(READS)) known.set(name, new Set(typesIn(await read())));
  for (const file of FILES) rows.set(file, rowsOf(folder, file));
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

describe.each(FILES)('in %s', (file) => {
  /**
   * Tries each value in each column (in the gate, every other value), then restores the rows of
   * `files`.
   */
  async function everywhere(
    files: readonly (typeof FILES)[number][],
    look: (table: string, where: string) => Promise<void>,
  ): Promise<void> {
    let count = 0;
    for (const [column, place] of columnsOf(folder, file).entries()) {
      if (place.table === 'commits') continue;
      for (const value of VALUES.filter((_, at) => isThorough || (at + column) % 2 === 0)) {
        const where = `${place.table}.${place.column} of ${String(value)}`;
        if (!putAnywhere(folder, file, place, value)) {
          expect(ROWIDS).toContain(`${place.table}.${place.column}`);
          continue;
        }
        count++;
        await look(place.table, where);
        for (const each of files) putRowsBack(folder, each, rows.get(each)!);
      }
    }
    expect(count).toBeGreaterThan(VALUES.length);
  }

  test('a value of another type is read as absent, or as damage that is named', async () => {
    await everywhere([file], async (_, where) => {
      for (const [name, read] of Object.entries(READS)) {
        const answer: { value?: unknown } = {};
        const error = await unnamed(async () => {
          answer.value = await read();
        });
        expect({ where, name, error }).toEqual({ where, name, error: null });
        const others = typesIn(answer.value).filter((type) => !known.get(name)!.has(type));
        expect({ where, name, others }).toEqual({ where, name, others: [] });
      }
    });
    for (const [name, read] of Object.entries(READS)) expect(new Set(typesIn(await read()))).toEqual(known.get(name));
  });

  test('and no write fails because of it except with named damage, or runs forever', async () => {
    await everywhere(FILES, async (table, where) => {
      for (const write of WRITES[table] ?? []) {
        expect({ where, error: await unnamed(write) }).toEqual({ where, error: null });
      }
    });
  });
});

/** Keys by which rows without a seal are found: one of another type stops the opening. */
const KEYS = new RegExp(
  [
    '^(shards|contradictions|owners)\\.(collection|shard)$',
    '^(anchors|anchor_history|collection_shares)\\.collection$',
    '^anchor_history\\.version$',
    '^(usage_months|query_blocks|query_batches|stored_vectors|write_holds)\\.(account|month)$',
    '^(query_blocks\\.id|query_batches\\.counter)$',
  ].join('|'),
);

describe.each(['log.db', 'records.db'] as const)('the next opening of %s', (file) => {
  beforeAll(() => store.close());
  afterAll(async () => {
    store = await openSqliteStore(folder, { keys: TEST_KEYS });
  });

  test('names each value of another type by its row, and is refused only if its owner is unknown', async () => {
    const columns = columnsOf(folder, file).filter((_, at) => isThorough || at % 4 === 0);
    for (const place of columns) {
      const where = `${place.table}.${place.column}`;
      const [row] = rows.get(file)!.get(place.table) ?? [];
      const value = row?.[place.column] instanceof Uint8Array ? 1.5 : Buffer.from('x');
      if (row === undefined || !putAnywhere(folder, file, place, value)) continue;
      const named = new RegExp(
        `^${file} .*has a value of type (REAL|BLOB) in ${where} instead of .*, in the rows? whose .+ is .+`,
      );
      const logged: unknown[] = [];
      const log = { error: (fields: { difference: string }) => void logged.push(fields.difference) };
      const opened = await openSqliteStore(folder, { keys: TEST_KEYS, log: log as never }).catch(
        (error: Error) => error,
      );
      const isOpen = !(opened instanceof Error);
      if (isOpen) await opened.close();
      const said = isOpen ? logged.join() : opened.message;
      expect({ where, isOpen, said }).toEqual({ where, isOpen: !KEYS.test(where), said: expect.stringMatching(named) });
      putRowsBack(folder, file, rows.get(file)!);
    }
  });

  test('is refused if its commit count is not an integer', async () => {
    const place = { table: 'commits', column: 'count' };
    putAnywhere(folder, file, place, 1e300);
    const refusal = new RegExp(`^${file} in the data directory has no whole number in commits.count`);
    await expect(openSqliteStore(folder, { keys: TEST_KEYS })).rejects.toThrow(refusal);
    putAnywhere(folder, file, place, 1_000_000n);
  });
});
