import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KeyView } from '../../../contracts/actions/keys.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { EmbeddedLedger } from '../../support/embedded-ledger.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const ADMIN_TOKEN = 'operator-token-for-this-test';
/** Less than the rent of an account with a root, but far more than all fees of this test. */
const RENT_MIN_LAMPORTS = 3_000_000n;

let service: TestService;
let ledger: EmbeddedLedger;
beforeAll(async () => {
  service = await startService({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_ANCHOR_WAIT_MS: '60000' });
  ledger = new EmbeddedLedger(service);
});
afterAll(() => service.stop());

async function anchoredCollection(api: Api, name: string): Promise<string> {
  const { body } = await api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 2 });
  const records = [{ id: 'a', values: [1, 2], metadata: {} }];
  expect(await api('POST', `/collections/${name}/upsert`, { records })).toMatchObject({
    body: { anchor: { status: 'confirmed' } },
  });
  return body.collection.id;
}
const isClosed = async (id: string) => (await (await ledger.client()).read(id)).status === 'absent';
const balance = async () => (await ledger.client()).balance();

test('deleting a collection closes its account and returns the rent', async () => {
  const start = await balance();
  const id = await anchoredCollection(service.api, 'demo');
  const full = await balance();
  expect(start - full).toBeGreaterThan(RENT_MIN_LAMPORTS);
  expect(await service.api('DELETE', '/collections/demo')).toMatchObject({ status: 200, body: { deleted: true } });
  await until('the account is closed', () => isClosed(id));
  expect((await balance()) - full).toBeGreaterThan(RENT_MIN_LAMPORTS);
  await until('its row is forgotten', async () => (await service.provec.store.anchors.get(id)) === null);
});

test('a new collection with that name has its own account', async () => {
  const id = await anchoredCollection(service.api, 'demo');
  expect(await isClosed(id)).toBe(false);
  expect((await service.api('GET', '/collections/demo/verify')).body).toMatchObject({ state: 'match', vectorCount: 1 });
  const { body } = await service.api<{ anchors: object[] }>('GET', '/collections/demo/anchors');
  expect(body.anchors).toHaveLength(1);
});

test('the account of one deleted while the ledger is down is closed when it is back, even after a restart', async () => {
  const first = await anchoredCollection(service.api, 'first');
  const second = await anchoredCollection(service.api, 'second');
  await ledger.stayDown();
  expect(await service.api('DELETE', '/collections/first')).toMatchObject({ status: 200 });
  await ledger.comeBack();
  await until('the account is closed', () => isClosed(first));

  await ledger.stayDown();
  expect(await service.api('DELETE', '/collections/second')).toMatchObject({ status: 200 });
  await service.provec.stop();
  ledger.restore();
  await service.restart();
  await until('the account is closed', () => isClosed(second));
});

test('deleting an account closes all accounts that it owned on the ledger', async () => {
  const admin = apiClient(service.provec.url!, ADMIN_TOKEN);
  const { body } = await admin<{ account: { id: string }; key: KeyView }>('POST', '/admin/accounts', {
    name: 'tenant',
    plan: 'pro',
  });
  const api = apiClient(service.provec.url!, body.key.secret!);
  const ids = [await anchoredCollection(api, 'one'), await anchoredCollection(api, 'two')];
  expect(await admin('DELETE', `/admin/accounts/${body.account.id}`)).toMatchObject({ status: 200 });
  for (const id of ids) await until('its account is closed', () => isClosed(id));
});
