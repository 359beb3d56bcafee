/** Checks what docs/errors.md says about repeating a request that succeeded. */
import { beforeAll, expect, test } from '@jest/globals';
import type { NewAuditLink } from '../../contracts/actions/collections.ts';
import type { AccountView, KeyView } from '../../contracts/actions/keys.ts';
import type { Api } from '../support/api-client.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { operatorApi } from '../support/tenant.ts';

let service: SharedService;
let operator: Api;
beforeAll(async () => {
  service = await shareService();
  operator = operatorApi(service);
});

let made = 0;
async function collection(): Promise<string> {
  const name = `again-${made++}`;
  await service.api('POST', '/collections', { name, dimensions: 1 });
  return name;
}

const said = ({ status, body }: { status: number; body: unknown }) => ({ status, body });

/** Sends a request twice; the first one must succeed. */
async function twice(method: string, path: string, body?: object, api = service.api) {
  const send = () => api<Record<string, never>>(method, path, body);
  const first = await send();
  expect([200, 201, 202]).toContain(first.status);
  return { first, second: await send() };
}

test('repeating an upsert gives the same records, and counts what was left', async () => {
  const path = `/collections/${await collection()}`;
  const records = ['a', 'b'].map((id) => ({ id, values: [1] }));
  const upserts = await twice('POST', `${path}/upsert`, { records });
  expect(upserts.second.body.merkleRoot).toBe(upserts.first.body.merkleRoot);
  expect(upserts.second.body).toMatchObject({ upsertedCount: 2, vectorCount: 2 });
  const updates = await twice('POST', `${path}/update`, { updates: [{ id: 'a', setMetadata: { x: 1 } }] });
  expect([updates.first.body.updatedCount, updates.second.body.updatedCount]).toEqual([1, 0]);
  const deletes = await twice('POST', `${path}/delete`, { ids: ['a'] });
  expect([deletes.first.body.deletedCount, deletes.second.body.deletedCount]).toEqual([1, 0]);
});

test('a collection', async () => {
  const body = { name: `again-${made++}`, dimensions: 1 };
  const create = await twice('POST', '/collections', body);
  expect(create.second).toEqual(refusal(409, 'COLLECTION_EXISTS'));
  const path = `/collections/${body.name}`;
  const change = await twice('PATCH', path, { deletionProtection: false });
  expect(said(change.second)).toEqual(said(change.first));
  expect((await twice('DELETE', path)).second).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
});

test('a namespace', async () => {
  const name = await collection();
  const write = { namespace: 'tenant', records: [{ id: 'a', values: [1] }] };
  await service.api('POST', `/collections/${name}/upsert`, write);
  const { first, second } = await twice('DELETE', `/collections/${name}/namespaces/tenant`);
  expect(first.body.deletedCount).toBe(1);
  expect(second).toEqual(refusal(404, 'NAMESPACE_NOT_FOUND'));
});

test('an alias', async () => {
  const path = `/aliases/again-alias-${made++}`;
  const put = await twice('PUT', path, { collection: await collection() });
  expect([put.first.status, put.second.status]).toEqual([201, 200]);
  expect(put.second.body).toEqual(put.first.body);
  const switched = await twice('PUT', path, { collection: await collection() });
  expect(said(switched.second)).toEqual({ ...said(switched.first), status: 200 });
  expect((await twice('DELETE', path)).second).toEqual(refusal(404, 'ALIAS_NOT_FOUND'));
});

test('a key', async () => {
  const { first, second } = await twice('POST', '/keys', { name: 'again' });
  const [key, other] = [first, second].map(({ body }) => body.key as KeyView & { secret: string });
  expect(second.status).toBe(201);
  expect([key!.id === other!.id, key!.secret === other!.secret]).toEqual([false, false]);
  for (const { id } of [key!, other!])
    expect((await twice('DELETE', `/keys/${id}`)).second).toEqual(refusal(404, 'KEY_NOT_FOUND'));
});

test('an audit link', async () => {
  const path = `/collections/${await collection()}/audit-links`;
  const { first, second } = await twice('POST', path, {});
  const [link, other] = [first, second].map(({ body }) => body.link as NewAuditLink);
  expect([second.status, link!.token === other!.token]).toEqual([201, false]);
  for (const { id } of [link!, other!])
    expect((await twice('DELETE', `${path}/${id}`)).second).toEqual(refusal(404, 'AUDIT_LINK_NOT_FOUND'));
});

test('an account', async () => {
  const { first, second } = await twice('POST', '/admin/accounts', { name: 'again', plan: 'free' }, operator);
  const [account, other] = [first, second].map(({ body }) => body.account as AccountView);
  expect([second.status, other!.name, other!.id === account!.id]).toEqual([201, 'again', false]);
  for (const { id } of [account!, other!]) {
    const path = `/admin/accounts/${id}`;
    const change = await twice('PATCH', path, { plan: 'enterprise' }, operator);
    expect(said(change.second)).toEqual(said(change.first));
    expect((await twice('DELETE', path, undefined, operator)).second).toEqual(refusal(404, 'ACCOUNT_NOT_FOUND'));
  }
});
