/**
 * A disk that is tampered with or full. Seen in earlier systems: a single record that cannot be
 * decoded makes the whole collection answer 500. The records of one service are changed while it
 * runs, then while it is stopped; finally its store cannot grow.
 */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import type { Overrides } from '../../../provec.ts';
import { tamperOnDisk } from '../../support/intruder.ts';
import { invariant } from '../../support/invariant.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const VALUES = [0.25, 0.5, -0.75];
const SHARDS = [1, 4];

const overrides: Overrides = {};
let service: TestService;
/** Verify results before any change, by collection name. */
const before = new Map<string, VerifyResult>();

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
async function create(name: string, shards = 1): Promise<string> {
  const request = { name, dimensions: 3, shards };
  return (await service.api<{ collection: { id: string } }>('POST', '/collections', request)).body.collection.id;
}
const pay = async (name: string, id: string) => {
  const records = [{ id, values: VALUES, metadata: { text: `paid to ${id}` } }];
  return (await service.api('POST', `/collections/${name}/upsert`, { records })).body;
};

beforeAll(async () => {
  // Silent, because the service logs what it finds as errors.
  service = await startService({ PROVEC_LOG_LEVEL: 'silent' }, overrides);
  for (const shards of SHARDS) {
    const name = `payments-${shards}`;
    await create(name, shards);
    for (const id of ['alice', 'bob', 'carol']) await pay(name, id);
    before.set(name, await verify(name));
    expect(before.get(name)).toMatchObject({ state: 'match', vectorCount: 3 });
  }
});
afterAll(() => service.stop());

/** Truncates a record's stored vector by one byte; returns the number of changed records. */
function garble(dataDir: string, id: string): number {
  const records = new DatabaseSync(join(dataDir, 'records.db'), { timeout: 5_000 });
  const sql = 'UPDATE records SET vector = substr(vector, 1, length(vector) - 1) WHERE id = CAST(? AS BLOB)';
  const { changes } = records.prepare(sql).run(id);
  records.close();
  return Number(changes);
}

describe.each(['while the service runs', 'while it is stopped'])('a stored record garbled %s', (when) => {
  const isStopped = when === 'while it is stopped';
  const name = isStopped ? 'vault-stopped' : 'vault-running';
  const victim = `victim of ${name}`;
  const post = (path: string, body: object) => service.api('POST', `/collections/${name}/${path}`, body);

  beforeAll(async () => {
    const key = shardKey(await create(name), 0);
    const records = ['first', victim, 'last'].map((id) => ({ id, values: VALUES, metadata: {} }));
    await post('upsert', { records });
    const { store } = service.provec;
    await until('the records are materialised', async () => (await store.records.appliedSeq(key)) === 1);
    expect((await verify(name)).state).toBe('match');
    if (isStopped) await service.provec.stop();
    expect(garble(service.dataDir, victim)).toBe(1);
    if (!isStopped) return;
    expect(tamperOnDisk(service.dataDir, 'paid to bob', 'paid to eve', /\.db$/)).toBeGreaterThan(0);
    await service.restart();
  });

  test('verify names it, and the others are served and written', async () => {
    const unreadable = { state: 'mismatch', verified: false, differences: [{ id: victim, what: 'unreadable' }] };
    expect(await verify(name)).toMatchObject(unreadable);
    expect(await post('fetch', { ids: ['first', 'last'] })).toMatchObject({
      status: 200,
      body: { vectors: { first: { values: VALUES }, last: { values: VALUES } } },
    });
    expect(await post('query', { vector: VALUES, topK: 2 })).toMatchObject({ status: 200 });
    expect(await post('delete', { ids: ['first'] })).toMatchObject({ status: 200, body: { deletedCount: 1 } });
    expect(await verify(name)).toMatchObject(unreadable);
  });

  test('is sound after it is rewritten and the operator has decided', async () => {
    await post('upsert', { records: [{ id: victim, values: VALUES, metadata: {} }] });
    if (isStopped) {
      const after = await verify(name);
      expect(after).toMatchObject({ state: 'mismatch', reason: expect.stringContaining('operator') });
      expect(after.differences).toBeUndefined();
      const [account] = await service.provec.store.catalog.listAccounts();
      const row = await service.provec.store.catalog.findCollection(account!.id, name);
      await service.provec.broker.call('anchoring.resume', { collectionId: row!.id });
    }
    expect(await verify(name)).toMatchObject({ state: 'match', verified: true, vectorCount: 2 });
  });
});

describe('a record changed while the service was stopped', () => {
  const tampered = (name: string) => ({
    state: 'mismatch',
    verified: false,
    match: false,
    onChainRoot: before.get(name)!.onChainRoot,
    differences: [{ id: 'bob', what: expect.stringContaining('metadata') }],
  });

  test.each(SHARDS)('over %i shards: verify names it, and no write hides the change', async (shards) => {
    const name = `payments-${shards}`;
    expect(await verify(name)).toMatchObject(tampered(name));
    expect(await pay(name, 'dave')).toMatchObject({ upsertedCount: 1, anchor: { status: 'pending' } });
    expect(await verify(name)).toMatchObject(tampered(name));
  });

  test('nor does a restart', async () => {
    overrides.storeMaxPages = 600;
    await service.restart({ PROVEC_ANCHOR_WAIT_MS: '0' });
    for (const name of before.keys()) expect(await verify(name)).toMatchObject(tampered(name));
  });
});

/**
 * SQLite refuses a page beyond `max_page_count` just like a page that the disk has no space for.
 */
describe('a store that cannot grow', () => {
  const RECORDS_PER_WRITE = 500;
  const WRITES_MAX = 100;
  /** Ids of acknowledged records. */
  const stored = new Set<string>();
  let writes = 0;

  async function upsert() {
    const number = writes++;
    const records = Array.from({ length: RECORDS_PER_WRITE }, (_, i) => ({
      id: `${number}/${i}`,
      values: Array.from({ length: 64 }, (_, d) => ((number + i * 7 + d) % 9) + 1),
    }));
    const answer = await service.api<{ code?: string }>('POST', '/collections/c/upsert', { records });
    if (answer.status === 200) for (const { id } of records) stored.add(id);
    return answer;
  }

  async function expectExactlyStored(): Promise<void> {
    const ids = Array.from({ length: writes }, (_, number) => [
      `${number}/0`,
      `${number}/${RECORDS_PER_WRITE - 1}`,
    ]).flat();
    const { body } = await service.api<{ vectors: object }>('POST', '/collections/c/fetch', { ids });
    expect(Object.keys(body.vectors).sort()).toEqual(ids.filter((id) => stored.has(id)).sort());
  }

  test('an upsert gets 507, reads continue, and no acknowledged write is lost', () =>
    invariant('a full disk loses nothing', async () => {
      await service.api('POST', '/collections', { name: 'c', dimensions: 64 });
      let refused = await upsert();
      while (refused.status === 200 && writes < WRITES_MAX) refused = await upsert();
      expect(refused).toMatchObject({ status: 507, body: { code: 'OUT_OF_CAPACITY' } });
      expect(stored.size).toBeGreaterThan(0);
      expect((await upsert()).status).toBe(507);
      await expectExactlyStored();
      const query = await service.api<{ matches: unknown[] }>('POST', '/collections/c/query', {
        vector: new Array(64).fill(1),
        topK: 10,
      });
      expect(query).toMatchObject({ status: 200 });
      expect(query.body.matches).toHaveLength(10);

      delete overrides.storeMaxPages;
      await service.restart();
      await expectExactlyStored();
      expect((await upsert()).status).toBe(200);
      await expectExactlyStored();
      await until('it is anchored', async () => (await verify('c')).state !== 'pending');
      expect(await verify('c')).toMatchObject({ state: 'match', vectorCount: stored.size });
    }));
});

describe('a file removed from the store', () => {
  const ready = async () => {
    const response = await fetch(`${service.url}/readyz`);
    const { status: reported } = (await response.json()) as { status: string };
    return { reported, status: response.status };
  };

  test('makes the service unready, not dead, and stops writes; a restart with the file put back loses nothing', async () => {
    const [file, aside] = ['log.db', 'log.db-aside'].map((name) => join(service.dataDir, name));
    expect(await ready()).toMatchObject({ status: 200 });
    await rename(file, aside);
    expect(await ready()).toMatchObject({ status: 503, reported: 'unavailable' });
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    expect(await pay('payments-1', 'erin')).toMatchObject({ code: 'UNAVAILABLE' });
    await rename(aside, file);
    await service.restart();
    await until('its shards are open again', async () => (await ready()).status === 200);
    expect(await service.api('POST', '/collections/payments-1/fetch', { ids: ['carol', 'erin'] })).toMatchObject({
      body: { vectors: { carol: { values: VALUES } } },
    });
  });
});
