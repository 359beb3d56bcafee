/**
 * An attacker with write access to the store edits API keys, plans and collections, and later
 * restores them. While the service trusted such rows, this opened a way around the ledger.
 */

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { secretHash, secretPrefix } from '../../../services/keys/secret.ts';
import { apiClient } from '../../support/api-client.ts';
import { firstAccountIn } from '../../support/first-account.ts';
import { openStoreAsForger } from '../../support/forger.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { until } from '../../support/until.ts';

const RECORD = { id: 'a', values: [1, 0, 0], metadata: {} };
const FORGED_SECRET = `pv_live_${'f'.repeat(43)}`;

let relay: LedgerRelay;
let service: TestService;
const ids = new Map<string, string>();

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const upsert = (name: string, id: string) =>
  service.api<{ anchor: { status: string } }>('POST', `/collections/${name}/upsert`, { records: [{ ...RECORD, id }] });
const onChain = async (name: string) => (await relay.client('authority')).read(ids.get(name)!);

const edit = (sql: string) => inStoreFile(service.dataDir, 'log.db', (file) => file.exec(sql));
const halted = (count: number) =>
  until(`${count} collections are halted`, async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return text.includes(`\nprovec_anchors_halted ${count}\n`);
  });

let firstAccount: string;
beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '200', PROVEC_LOG_LEVEL: 'error' });
  firstAccount = firstAccountIn(service.dataDir);
  for (const name of ['planned', 'dropped', 'removed', 'moved']) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
    ids.set(name, body.collection.id);
    await upsert(name, RECORD.id);
    await until('it is anchored', async () => (await verify(name)).state === 'match');
  }
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

test('an inserted API key opens nothing, and the operator is told', async () => {
  const store = await openStoreAsForger(service.dataDir);
  await store.keys.create(
    {
      id: '01234567-89ab-4cde-8f01-23456789abcd',
      accountId: firstAccount,
      name: 'mine',
      hash: secretHash(FORGED_SECRET),
      prefix: secretPrefix(FORGED_SECRET),
      scopes: ['read', 'write', 'manage'],
      createdAt: new Date().toISOString(),
      expiresAt: null,
      lastUsedAt: null,
    },
    null,
  );
  await store.close();
  const { status } = await apiClient(service.url, FORGED_SECRET)('GET', '/collections');
  expect(status).toBe(401);
  expect(service.logged).toContain('"row":"API key 01234567-89ab-4cde-8f01-23456789abcd"');
});

test('a key whose scopes or expiry were changed opens nothing any more', async () => {
  const made = async (scopes: string[]) =>
    (await service.api<{ key: { id: string; secret: string } }>('POST', '/keys', { name: 'another', scopes })).body.key;
  const keys = [await made(['read']), await made(['write'])];
  edit(`UPDATE keys SET scopes = '["read","write","manage"]' WHERE id = '${keys[0]!.id}'`);
  edit(`UPDATE keys SET expiresAt = '2999-01-01T00:00:00.000Z' WHERE id = '${keys[1]!.id}'`);
  for (const { secret } of keys) expect((await apiClient(service.url, secret)('GET', '/collections')).status).toBe(401);
});

test('under an edited plan nothing is served, and nothing leaves anchoring', async () => {
  edit(`UPDATE accounts SET plan = 'free'`);
  await service.restart();
  expect(await upsert('planned', 'b')).toMatchObject({ status: 500, body: { code: 'INTERNAL' } });
  expect(service.logged).toContain(`"row":"account ${firstAccount}"`);
  edit(`UPDATE accounts SET plan = 'enterprise'`);
  await service.restart();
  expect(await verify('planned')).toMatchObject({ state: 'match', anchoredVersion: 1 });
  expect(await upsert('planned', 'b')).toMatchObject({ status: 200 });
  await until('it is anchored', async () => (await verify('planned')).anchoredVersion === 2);
});

test.each([
  ['dropped', 'UPDATE collections SET dropped = 1', 'UPDATE collections SET dropped = 0', 404],
  ['removed', `UPDATE collections SET id = 'x', accountId = 'x'`, null, 404],
  ['moved', `UPDATE collections SET id = '01234567-89ab-4cde-8f01-23456789abcd'`, null, 500],
])('a collection whose row was %s is not closed on the ledger', async (name, there, back, status) => {
  const where = `WHERE name = '${name}'`;
  const before = await onChain(name);
  edit(`${there} ${where}`);
  await service.restart();
  await halted(1);
  expect((await service.api('GET', `/collections/${name}`)).status).toBe(status);
  expect((await service.api('GET', '/collections')).status).toBe(200);
  expect(await onChain(name)).toEqual(before);
  const own = `UPDATE collections SET id = '${ids.get(name)}', accountId = '${firstAccount}'`;
  edit(`${back ?? own} ${where}`);
  await service.restart();
  const reason = expect.stringContaining('missing from the catalog');
  expect(await verify(name)).toMatchObject({ state: 'mismatch', reason });
  expect((await service.api('DELETE', `/collections/${name}`)).status).toBe(200);
  await halted(0);
});

test('a forged alias is refused, blocks no deletion, and can be deleted by name', async () => {
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'aliased',
    dimensions: 3,
  });
  const store = await openStoreAsForger(service.dataDir);
  const row = { accountId: firstAccount, alias: 'forged', collectionId: body.collection.id };
  await store.aliases.put({ ...row, createdAt: new Date().toISOString() }, 10);
  await store.close();
  const query = () => service.api('POST', '/collections/forged/query', { vector: [1, 0, 0] });
  expect(await query()).toMatchObject({ status: 500, body: { code: 'INTERNAL' } });
  expect(service.logged).toMatch(/"row":"alias [0-9a-f-]{36}"/);
  expect((await service.api('GET', '/aliases')).body).toEqual({ aliases: [] });
  expect((await service.api('DELETE', '/collections/aliased')).status).toBe(200);
  expect((await service.api('DELETE', '/aliases/forged')).status).toBe(200);
  expect((await query()).status).toBe(404);
  expect((await service.api('POST', '/collections', { name: 'forged', dimensions: 3 })).status).toBe(201);
});
