/**
 * Stores values of wrong types in documents, at any depth, and removes values. Provec must report
 * every value that it refuses as damage, and fail in no other way.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Binary, type Document } from 'mongodb';
import { DEFAULT_PLANS, planLimitsText } from '../../../../lib/plans.ts';
import { emptyAnchorRow } from '../../../../store/anchors.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import {
  at,
  collect,
  entry,
  head,
  newAccount,
  newBlock,
  newCollection,
  newKey,
  put,
  readAll,
} from '../../../contract/store-rows.ts';
import { anyMongoServer, isMongoThere } from '../../../support/mongo-server.ts';
import { type MongoDatabase, mongoDatabase } from './database.ts';

const MONTH = '2026-11';
const ABSENT = Symbol('absent');
const VALUES: unknown[] = [new Binary(Buffer.from('bytes')), 'a text', 1.5, { a: { b: 1 } }, [1], null, ABSENT];

const account = newAccount();
const collection = newCollection({ accountId: account.id, shards: 2, tags: '{"a":"b"}' });
const sound = newCollection({ accountId: account.id, name: 'sound' });
const key = newKey({ accountId: account.id, lastUsedAt: at(1) });
const shard = `${collection.id}.0`;
const incarnation = randomUUID();
const cut = [head(1), head(2)];
const history = { merkleRoot: '0'.repeat(64), version: 1, vectorCount: 0, signature: 's', confirmedAt: at(0) };
const anchor = {
  ...emptyAnchorRow(collection.id, 'address', 1),
  wanted: cut,
  wantedAt: at(0),
  inFlight: { step: 'update', signature: 's', wire: 'w', lastValidBlockHeight: '1', cut, decisions: 1 } as const,
  confirmed: { ...history, cut, decisions: 1 },
};
const holds = { id: randomUUID(), writes: 1, vectors: 1, baseline: null, beat: 1 };

const PLAN = { name: 'gold', limits: planLimitsText(DEFAULT_PLANS.pro) };

async function fill({
  catalog,
  keys,
  aliases,
  plans,
  log,
  records,
  checkpoints,
  usage,
  ...store
}: Store): Promise<void> {
  await catalog.createAccount(account);
  for (const row of [collection, sound]) await catalog.createCollection(row, 5);
  await keys.create(key, null);
  await plans.put(PLAN);
  await aliases.put({ accountId: account.id, alias: 'alias', collectionId: collection.id, createdAt: at(0) }, 10);
  const tally = { accountId: account.id, month: MONTH, writes: 1, vectors: 1 };
  for (const seq of [1, 2, 3]) await log.append(entry(shard, seq, { tally }));
  await log.trim(shard, 1);
  await records.apply(shard, 0, 1, [put('a', 1), put('b', 1)]);
  const folder = await checkpoints.stage(shard);
  writeFileSync(join(folder, 'index'), 'x');
  await checkpoints.put(shard, 1, folder);
  await usage.openBlock(account.id, MONTH, newBlock(), 10, null);
  await usage.replaceHolds(account.id, { revision: 1, holds: [holds], alone: holds.id, line: [] });
  await store.anchors.add(anchor);
  await store.anchors.put({ ...anchor, revision: 2 }, history);
  await store.anchors.put({ ...anchor, revision: 3 }, { ...history, version: 2 });
  await store.anchors.beat({ instance: 'i', beat: 1, confirmed: 0, failures: 0 });
  await store.contradictions.record(shard, { seq: 1, reason: 'a reason', at: at(0) });
  await store.owners.claim({ shard, epoch: 1, holder: { node: 'n', incarnation } });
  await store.leases.begin({
    node: 'n',
    incarnation,
    beat: 1,
    process: { pid: 1, startedAt: '1', place: 'here' },
    draining: false,
  });
}

/** Operations on the documents of each collection: reads, then writes. */
function operationsOn(store: Store): Record<string, [name: string, work: () => Promise<unknown>][]> {
  const log: [string, () => Promise<unknown>][] = [
    ['read', () => store.log.read(shard, 0, 1_000_000)],
    ['head', () => store.log.head(shard)],
    ['heads', async () => [...(await store.log.heads(collection.id)).values()]],
    ['audit', async () => (await store.log.audit(shard, 3)) ?? 0],
    ['firstSeq', () => store.log.firstSeq(shard)],
    ['usage', () => store.usage.read(account.id, MONTH)],
    ['append', () => store.log.append(entry(shard, 4))],
    ['trim', () => store.log.trim(shard, 2)],
  ];
  const records: [string, () => Promise<unknown>][] = [
    ['appliedSeq', () => store.records.appliedSeq(shard)],
    ['scan', async () => [...(await readAll(await store.records.scan(shard))).values()]],
    ['apply', () => store.records.apply(shard, 1, 2, [put('a', 2)])],
    ['removeForeign', () => store.records.removeForeign(shard, () => true)],
  ];
  const usage: [string, () => Promise<unknown>][] = [
    ['read', () => store.usage.read(account.id, MONTH)],
    ['queries', () => store.usage.readQueries(account.id, MONTH)],
    ['holds', () => store.usage.readHolds(account.id)],
    ['openBlock', () => store.usage.openBlock(account.id, MONTH, newBlock(), 10, 100)],
    ['replaceHolds', () => store.usage.replaceHolds(account.id, { revision: 2, holds: [], alone: null, line: [] })],
    ['dropCollectionData', () => store.dropCollectionData(collection.id)],
  ];
  return {
    accounts: [
      ['get', () => store.catalog.getAccount(account.id)],
      ['list', () => store.catalog.listAccounts()],
      ['hasPlan', () => store.catalog.hasAccountOfPlan(account.plan)],
      ['setPlan', () => store.catalog.setPlan(account.id, 'pro')],
    ],
    plans: [
      ['find', () => store.plans.find(PLAN.name)],
      ['list', () => store.plans.list()],
      ['put', () => store.plans.put(PLAN)],
      ['remove', () => store.plans.remove(PLAN.name)],
    ],
    collections: [
      ['find', () => store.catalog.findCollection(account.id, collection.name)],
      ['get', () => store.catalog.getCollection(collection.id)],
      ['list', () => store.catalog.listCollections(account.id)],
      ['all', () => collect(store.catalog.allCollections())],
      ['count', () => store.catalog.countCollections(account.id)],
      ['dropped', () => store.catalog.listDropped()],
      ['alias', () => store.aliases.find(account.id, 'alias')],
      ['aliases', () => store.aliases.page(account.id, null, 10)],
      ['standing', () => store.aliases.findByCollection(account.id, collection.id)],
      ['change', () => store.catalog.changeCollection(collection.id, (row) => ({ ...row, deletionProtection: true }))],
      ['create', () => store.catalog.createCollection(newCollection({ accountId: account.id, name: 'new' }), 9)],
      ['removeAlias', () => store.aliases.remove(account.id, 'alias')],
      ['drop', () => store.catalog.dropCollection(collection.id, false)],
    ],
    'account-keys': [
      ['find', () => store.keys.findByHash(key.hash)],
      ['list', () => store.keys.list(account.id)],
      ['count', () => store.keys.count(account.id)],
      ['touch', () => store.keys.touch(key.id, at(9))],
      ['create', () => store.keys.create(newKey({ accountId: account.id }), 2)],
      ['revoke', () => store.keys.revoke(account.id, key.id, at(0))],
    ],
    anchors: [
      ['get', () => store.anchors.get(collection.id)],
      ['many', () => store.anchors.getMany([collection.id])],
      ['all', () => collect(store.anchors.all())],
      ['due', () => collect(store.anchors.open('due'))],
      ['history', () => store.anchors.history(collection.id, 10, null)],
      ['put', () => store.anchors.put({ ...anchor, revision: 4 }, { ...history, version: 3 })],
      ['remove', () => store.anchors.remove(collection.id, 3)],
    ],
    'anchor-history': [
      ['history', () => store.anchors.history(collection.id, 10, null)],
      ['put', () => store.anchors.put({ ...anchor, revision: 4 }, { ...history, version: 3 })],
    ],
    'anchoring-instances': [['instances', () => store.anchors.instances()]],
    contradictions: [['list', () => store.contradictions.list(collection.id)]],
    owners: [
      ['get', () => store.owners.get(shard)],
      ['list', () => store.owners.list(collection.id)],
      ['claim', () => store.owners.claim({ shard, epoch: 2, holder: null })],
      ['release', () => store.owners.release(shard, 1)],
    ],
    leases: [
      ['list', () => store.leases.list()],
      ['get', () => store.leases.get([incarnation])],
      ['renew', () => store.leases.renew(incarnation, 2, false)],
    ],
    log,
    'log-shards': [...log, ['dropCollectionData', () => store.dropCollectionData(collection.id)]],
    records,
    'record-shards': records,
    usage,
    checkpoints: [
      ['list', () => store.checkpoints.list(shard)],
      ['fetch', () => store.checkpoints.fetch(shard, 1)],
      ['prune', () => store.checkpoints.prune(shard, 2)],
      ['dropCollectionData', () => store.dropCollectionData(collection.id)],
    ],
  };
}

/** Paths of every value in a document, except `_id`. */
function pathsIn(document: object, prefix = ''): string[] {
  return Object.entries(document).flatMap(([name, value]) => {
    if (prefix === '' && name === '_id') return [];
    const path = `${prefix}${name}`;
    const isNested =
      typeof value === 'object' && value !== null && !(value instanceof Binary) && !('_bsontype' in value);
    return [path, ...(isNested ? pathsIn(value as object, `${path}.`) : [])];
  });
}

function withValue(document: Document, path: string, value: unknown): Document {
  const [name, ...rest] = path.split('.');
  const copy = Array.isArray(document) ? [...document] : { ...document };
  const fields = copy as Record<string, unknown>;
  if (rest.length > 0) fields[name!] = withValue(fields[name!] as Document, rest.join('.'), value);
  else if (value === ABSENT) delete fields[name!];
  else fields[name!] = value;
  return copy;
}

/** Types by place in a result; a list has the types of all its items. */
function typesIn(value: unknown, place = ''): string[] {
  if (value === null || value === undefined) return [];
  if (ArrayBuffer.isView(value)) return [`${place} ${value instanceof Float32Array ? 'vector' : 'bytes'}`];
  if (Array.isArray(value)) return value.flatMap((item) => typesIn(item, `${place}[]`));
  if (value instanceof Binary) return [`${place} Binary`];
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([name, item]) => typesIn(item, `${place}.${name}`));
  return [`${place} ${Number.isNaN(value) ? 'NaN' : typeof value}`];
}

/**
 * Rows whose seals are checked above the storage port: they must be returned, and hide no others.
 */
const JUDGED_LATER = ['anchors get', 'anchors many', 'anchors all'];

const start = await anyMongoServer();

if (isMongoThere(start)) {
  describe('MongoDB: values of other types', () => {
    let database: MongoDatabase;
    let store: Store;
    beforeAll(async () => {
      database = await mongoDatabase(await start!());
      store = await database.open();
      await fill(store);
    }, 200_000);
    afterAll(() => database.end());

    async function snapshot(): Promise<Map<string, Document[]>> {
      const names = (await database.db.listCollections().toArray()).map(({ name }) => name);
      const found = names.map(async (name) => [name, await database.db.collection(name).find().toArray()] as const);
      return new Map(await Promise.all(found));
    }
    async function putBack(before: Map<string, Document[]>): Promise<void> {
      for (const [name, documents] of before) {
        const there = database.db.collection(name);
        if (JSON.stringify(await there.find().toArray()) === JSON.stringify(documents)) continue;
        await there.deleteMany({});
        if (documents.length > 0) await there.insertMany(documents);
      }
    }

    test.each(Object.keys(operationsOn(null as unknown as Store)))(
      'in %s',
      async (name) => {
        const before = await snapshot();
        const documents = database.db.collection(name);
        const operations = operationsOn(store)[name]!;
        const known = new Map<string, Set<string>>();
        for (const [operation, work] of operations) known.set(operation, new Set(typesIn(await work())));
        await putBack(before);
        const unnamed: string[] = [];
        for (const document of before.get(name)!) {
          for (const path of pathsIn(document)) {
            for (const value of VALUES) {
              const where = `${path}: ${value === ABSENT ? 'absent' : JSON.stringify(value)}`;
              await documents.replaceOne({ _id: document._id }, withValue(document, path, value));
              for (const [operation, work] of operations) {
                try {
                  const late = new Promise((_, reject) =>
                    setTimeout(() => reject(new Error('goes on for ever')), 5_000).unref(),
                  );
                  const types = typesIn(await Promise.race([work(), late]));
                  const others = types.filter((type) => !known.get(operation)!.has(type));
                  if (others.length > 0 && !JUDGED_LATER.includes(`${name} ${operation}`))
                    unnamed.push(`${where}: ${operation} gives ${others}`);
                } catch (error) {
                  if (!(error instanceof StoreError && error.kind === 'damaged'))
                    unnamed.push(`${where}: ${operation}: ${error}`);
                }
              }
              await putBack(before);
            }
          }
        }
        expect(unnamed).toEqual([]);
      },
      600_000,
    );
  });
}
