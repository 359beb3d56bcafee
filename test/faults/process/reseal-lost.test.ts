/**
 * A lost secret of a store that was tampered with before anyone noticed: without the secret, no
 * seal can reveal it.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { storeKeys } from '../../../lib/secret/keyring.ts';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { secretHash } from '../../../services/keys/secret.ts';
import { encodeEntryBody } from '../../../services/shards/entry.ts';
import { LogSeals } from '../../../store/log-seals.ts';
import type { Store } from '../../../store/port.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { newCollection, newKey } from '../../contract/store-rows.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { firstAccountIn } from '../../support/first-account.ts';
import { openStoreAsForger } from '../../support/forger.ts';
import { float32Bytes } from '../../support/intruder.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { type ResealRun, reseal, storeBytes } from '../../support/reseal-run.ts';
import { startService, type TestService } from '../../support/service.ts';
import { FORGED_KEYS } from '../../support/store-keys.ts';
import { TamperedRows } from '../../support/tampered-rows.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const LOST = 'the-secret-that-this-installation-had';
const NEXT = 'the-secret-that-this-installation-has';
const ADMIN_TOKEN = 'the-token-of-the-operator-of-this-service';
const FORGED_KEY = `pv_live_${'f'.repeat(43)}`;

const TRUE = { id: 'true', values: [1, 0, 0], metadata: {} };
const FORGED = { id: 'forged', values: [0, 1, 0], metadata: {} };
const LATER = { id: 'later', values: [0, 0, 1], metadata: {} };
const leafOf = ({ id, values, metadata }: typeof TRUE) => referenceLeaf(id, values, metadata);

const NAMES = ['held', 'written', 'changed', 'appended', 'taken-out', 'of-other-shards'] as const;

let relay: LedgerRelay;
let service: TestService;
let copy: string;
let unanchored: string;
let demoted: string;
let dropped: string;
const ids = new Map<string, string>();

const environment = () => ({ ...relay.environment, PROVEC_SECRET: NEXT, PROVEC_DATA_DIR: service.dataDir });
let api: Api;
const verify = async (name: string) => (await api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const upsert = (name: string, ...records: object[]) =>
  api<{ anchor: { status: string } }>('POST', `/collections/${name}/upsert`, { records });
const matches = (name: string) => until(`${name} matches`, async () => (await verify(name)).state === 'match');
async function onChain(name: string): Promise<unknown> {
  const account = await (await relay.client('authority')).read(ids.get(name)!);
  return account.status === 'found' && account.fields;
}
async function create(name: string, as: Api = api): Promise<string> {
  const { body } = await as<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
  return body.collection.id;
}
/** The report's line about a collection. */
const lineOf = ({ stdout }: ResealRun, name: string) =>
  stdout.split('\n').find((line) => line.includes(` name ${name} `));

/** Creates an account as the operator. */
async function account(name: string, plan: string): Promise<{ id: string; api: Api }> {
  const made = await fetch(`${service.url}/api/v1/admin/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, plan }),
  });
  const { account, key } = (await made.json()) as { account: { id: string }; key: { secret: string } };
  return { id: account.id, api: apiClient(service, key.secret) };
}

async function write(): Promise<void> {
  const fill = async (name: string): Promise<void> => {
    ids.set(name, await create(name));
    await upsert(name, TRUE);
    await matches(name);
  };
  await Promise.all(NAMES.map(fill));
  dropped = await create('dropped');
  const paying = await account('of anchors', 'pro');
  demoted = paying.id;
  ids.set('hidden', await create('hidden', paying.api));
  await paying.api('POST', '/collections/hidden/upsert', { records: [TRUE] });
  await until('it is anchored', async () => ((await onChain('hidden')) as { version?: number } | null)?.version === 1);
  const free = await account('of no anchors', 'free');
  unanchored = free.id;
  await create('free', free.api);
  await free.api('POST', '/collections/free/upsert', { records: [TRUE] });
  relay.isDown = true;
  await upsert('written', LATER);
  await upsert('written', FORGED);
  const rows = new TamperedRows(service.dataDir, ids.get('changed')!);
  await until('it is in the records', () => rows.records('UPDATE records SET seq = seq WHERE shard = :shard') === 1);
  await service.provec.stop();
  relay.isDown = false;
}

/**
 * Changes a record with its leaf, the root in the head, and the entries that would reveal it. Their
 * seals no longer mean anything.
 */
function changeRecord(): void {
  const rows = new TamperedRows(service.dataDir, ids.get('changed')!);
  const { leaf } = leafOf({ ...TRUE, values: FORGED.values });
  const vector = float32Bytes(FORGED.values);
  rows.records('UPDATE records SET vector = :vector, leaf = :leaf WHERE shard = :shard', { vector, leaf });
  rows.log('DELETE FROM entries WHERE shard = :shard');
  const [{ link, seq }] = rows.inLog<{ link: Uint8Array; seq: number }>(
    'SELECT link, seq FROM shards WHERE number = :shard',
  );
  const head = { seq, version: 1, count: 1, type: 'leaf', hash: leaf } as const;
  const seal = new LogSeals(FORGED_KEYS.log).head(rows.shardKey, head, link);
  expect(rows.log('UPDATE shards SET hash = :leaf, seal = :seal WHERE number = :shard', { leaf, seal })).toBe(1);
}

async function append(forger: Store, name: string): Promise<void> {
  const shard = shardKey(ids.get(name)!, 0);
  const seq = (await forger.log.head(shard))!.seq + 1;
  const hash = Buffer.from(referenceRoot([TRUE, FORGED].map(leafOf)), 'hex');
  const upserts = [
    { id: FORGED.id, vector: Float32Array.from(FORGED.values), metadata: Buffer.from('{}'), leaf: leafOf(FORGED).leaf },
  ];
  const body = encodeEntryBody({ dimensions: 3, upserts, deletes: [] });
  const entryId = '01234567-89ab-4cde-8f01-23456789abcd';
  const head = { seq, version: 2, type: 'inner', hash, count: 2 } as const;
  const entry = { shard, seq, epoch: 9, entryId, kind: 'write', head, tally: null, body } as const;
  expect(await forger.log.append(entry)).toBe('committed');
}

async function intrude(): Promise<void> {
  changeRecord();
  const forger = await openStoreAsForger(service.dataDir);
  for (const name of ['appended', 'hidden']) await append(forger, name);
  const accountId = firstAccountIn(service.dataDir);
  await forger.keys.create(newKey({ accountId, hash: secretHash(FORGED_KEY), name: 'forged' }), null);
  await forger.catalog.createCollection(newCollection({ accountId, name: 'inserted' }), null);
  await forger.close();
  const file = new DatabaseSync(join(service.dataDir, 'log.db'));
  file.exec(`DELETE FROM collections WHERE name = 'taken-out'`);
  file.exec(`UPDATE collections SET shards = 2 WHERE name = 'of-other-shards'`);
  file.exec(`UPDATE collections SET dropped = 1 WHERE name = 'dropped'`);
  file.exec(`UPDATE accounts SET plan = 'free' WHERE id = '${demoted}'`);
  file.exec(`DELETE FROM anchors WHERE collection = '${ids.get('hidden')}'`);
  file.close();
}

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({
    ...relay.environment,
    PROVEC_SECRET: LOST,
    PROVEC_ANCHOR_WAIT_MS: '200',
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_LOG_LEVEL: 'silent',
  });
  api = apiClient(service, TEST_KEY);
  await write();
  await intrude();
  copy = await mkdtemp(join(tmpdir(), 'provec-lost-'));
  await cp(service.dataDir, copy, { recursive: true });
});
afterAll(async () => {
  await service.stop();
  await relay.close();
  await rm(copy, { recursive: true, force: true });
});

test('a start is refused, and so is a reseal without --lost', async () => {
  await expect(service.restart({ PROVEC_SECRET: NEXT })).rejects.toThrow(/made under another secret/);
  expect(await reseal(environment(), '--apply')).toMatchObject({ code: 1, stderr: expect.stringContaining('--lost') });
});

test('a dry run reports what is held and what is not, and changes no byte', async () => {
  const before = await storeBytes(service.dataDir);
  const run = await reseal(environment(), '--lost');
  expect(run).toMatchObject({ code: 2, stderr: '' });
  expect(lineOf(run, 'held')).toMatch(/: held$/);
  expect(lineOf(run, 'written')).toMatch(/: held up to version 1, 2 writes since$/);
  expect(lineOf(run, 'appended')).toMatch(/: held up to version 1, 1 writes since$/);
  expect(lineOf(run, 'changed')).toMatch(/: contradicts: .* give a different root from the ledger's/);
  expect(lineOf(run, 'of-other-shards')).toMatch(/: contradicts: It has 2 shards/);
  expect(lineOf(run, 'hidden')).toMatch(
    /: contradicts: The ledger holds version 1, which this store never anchored\.$/,
  );
  expect(lineOf(run, 'free')).toMatch(/: not held: The ledger has no root of it\.$/);
  expect(lineOf(run, 'inserted')).toMatch(/^collection /);
  expect(run.stdout).toMatch(new RegExp(`^missing: the collection ${ids.get('taken-out')} `, 'm'));
  expect(run.stdout).toMatch(new RegExp(`^refused: dropped collection ${dropped} `, 'm'));
  expect(run.stdout).toMatch(/^refused: API key .* name forged /m);
  expect(run.stdout).toMatch(/Nothing was written/);
  expect(await storeBytes(service.dataDir)).toEqual(before);
});

test('without the ledger nothing is written, unless --without-ledger is given', async () => {
  const before = await storeBytes(copy);
  relay.isDown = true;
  const onCopy = { ...environment(), PROVEC_DATA_DIR: copy };
  const refused = await reseal(onCopy, '--lost', '--apply');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--without-ledger') });
  expect(await storeBytes(copy)).toEqual(before);
  const run = await reseal(onCopy, '--lost', '--without-ledger', '--apply');
  relay.isDown = false;
  expect(run).toMatchObject({ code: 2, stderr: '' });
  expect(lineOf(run, 'held')).toMatch(/: not held: The ledger was not asked/);
  const store = await openSqliteStore(copy, { keys: storeKeys([NEXT]) });
  const contradictions = await Promise.all(NAMES.map((name) => store.contradictions.list(ids.get(name)!)));
  await store.close();
  expect(contradictions.map(({ length }) => length)).toEqual([1, 1, 1, 1, 0, 1]);
});

describe('resealed', () => {
  beforeAll(async () => {
    expect(await reseal(environment(), '--lost', '--apply')).toMatchObject({ code: 2, stderr: '' });
    const made = await reseal(environment(), '--new-key', firstAccountIn(service.dataDir));
    expect(made).toMatchObject({ code: 0, stderr: '' });
    api = apiClient(service, made.stdout.trim());
    await service.restart({ PROVEC_SECRET: NEXT });
  });

  test('held collections continue', async () => {
    expect(await verify('held')).toMatchObject({ state: 'match', anchoredVersion: 1 });
    await upsert('held', LATER);
    await matches('held');
    expect(await onChain('held')).toMatchObject({ version: 2 });
  });

  test('what came after the last anchor waits for the operator', async () => {
    const reason = expect.stringContaining('held up to version 1, 2 writes since');
    expect(await verify('written')).toMatchObject({ state: 'mismatch', anchoredVersion: 1, reason });
    expect(await upsert('written', LATER)).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
    expect(await onChain('written')).toMatchObject({ version: 1 });
    await service.provec.broker.call('anchoring.resume', { collectionId: ids.get('written')! });
    await matches('written');
    expect(await onChain('written')).toMatchObject({ version: 4 });
  });

  test('what someone else wrote is not anchored, through writes and restarts', async () => {
    const honest = collectionRoot([{ seq: 1, version: 1, count: 1, type: 'leaf', hash: leafOf(TRUE).leaf }]);
    for (let start = 0; start < 2; start++) {
      for (const name of ['changed', 'appended']) {
        expect(await upsert(name, LATER)).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
        expect(await verify(name)).toMatchObject({ state: 'mismatch', anchoredVersion: 1 });
        expect(await onChain(name)).toMatchObject(honest);
      }
      await service.restart();
    }
  });

  test('what was removed, or marked as dropped, keeps its account and its data', async () => {
    expect(await onChain('taken-out')).toMatchObject({ version: 1 });
    expect((await api('GET', '/collections/taken-out')).status).toBe(404);
    const dropping = new DatabaseSync(join(service.dataDir, 'log.db'), { readOnly: true });
    expect(dropping.prepare('SELECT dropped FROM collections WHERE id = ?').get(dropped)).toEqual({ dropped: 1 });
    dropping.close();
  });

  test("only the operator's new key opens anything", async () => {
    expect((await api('GET', '/collections')).status).toBe(200);
    for (const secret of [TEST_KEY, FORGED_KEY])
      expect((await apiClient(service, secret)('GET', '/collections')).status).toBe(401);
  });

  test('unanchored data is served, and compared with nothing', async () => {
    await service.provec.stop();
    const { stdout } = await reseal(environment(), '--new-key', unanchored);
    await service.restart();
    const free = apiClient(service, stdout.trim());
    expect((await free<VerifyResult>('GET', '/collections/free/verify')).body.state).toBe('not_anchored');
  });

  test('data that contradicts the ledger is a mismatch, whatever was done to its plan and its anchors', async () => {
    await service.provec.stop();
    const { stdout } = await reseal(environment(), '--new-key', demoted);
    await service.restart();
    const { body } = await apiClient(service, stdout.trim())<VerifyResult>('GET', '/collections/hidden/verify');
    expect(body).toMatchObject({ state: 'mismatch', reason: expect.stringContaining('never anchored') });
  });

  test('--keep-keys brings the keys back', async () => {
    await service.provec.stop();
    const run = await reseal(environment(), '--lost', '--keep-keys', '--apply');
    expect(run.stdout).toMatch(/^API keys: \d+ under the current secret, \d+ sealed anew, 0 refused$/m);
    await service.restart();
    expect((await apiClient(service, TEST_KEY)('GET', '/collections')).status).toBe(200);
  });
});
