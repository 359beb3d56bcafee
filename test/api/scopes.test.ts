import { beforeAll, describe, expect, test } from '@jest/globals';
import type { KeyView } from '../../contracts/actions/keys.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type Api, apiClient } from '../support/api-client.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

/** Every route for accounts, with the scope that it needs. */
const ROUTES: [string, string, 'read' | 'write' | 'manage', object?][] = [
  ['POST', '/collections', 'manage', { name: 'made', dimensions: 1 }],
  ['GET', '/collections', 'read'],
  ['GET', '/collections/scoped', 'read'],
  ['PATCH', '/collections/scoped', 'manage', { deletionProtection: false }],
  ['DELETE', '/collections/made', 'manage'],
  ['POST', '/collections/scoped/upsert', 'write', { records: [{ id: 'a', values: [1] }] }],
  ['POST', '/collections/scoped/query', 'read', { vector: [1] }],
  ['POST', '/collections/scoped/fetch', 'read', { ids: ['a'] }],
  ['POST', '/collections/scoped/queries', 'read', { queries: [{ vector: [1] }] }],
  ['POST', '/collections/scoped/count', 'read', {}],
  ['GET', '/collections/scoped/namespaces', 'read'],
  ['POST', '/collections/scoped/facets', 'read', { field: 'a' }],
  ['POST', '/collections/scoped/list', 'read', {}],
  ['POST', '/collections/scoped/update', 'write', { updates: [{ id: 'a', setMetadata: { a: 1 } }] }],
  ['POST', '/collections/scoped/delete', 'write', { ids: ['a'] }],
  ['GET', '/collections/scoped/verify', 'read'],
  ['GET', '/collections/scoped/verify?id=a', 'read'],
  ['POST', '/collections/scoped/verifications', 'read'],
  ['GET', '/collections/scoped/verifications/absent', 'read'],
  ['GET', '/collections/scoped/proof?id=a', 'read'],
  ['GET', '/collections/scoped/anchors', 'read'],
  ['GET', '/collections/scoped/export', 'read'],
  ['POST', '/collections/scoped/import', 'write'],
  ['PUT', '/aliases/scoped-alias', 'manage', { collection: 'scoped' }],
  ['GET', '/aliases/scoped-alias', 'read'],
  ['GET', '/aliases', 'read'],
  ['DELETE', '/aliases/scoped-alias', 'manage'],
  ['GET', '/usage', 'read'],
  ['GET', '/keys', 'manage'],
  ['POST', '/keys', 'manage', { name: 'made' }],
  ['DELETE', '/keys/00000000-0000-4000-8000-000000000000', 'manage'],
];
const statusOf = (method: string, path: string): number => {
  if (path.startsWith('/keys/') || path.endsWith('/absent')) return 404;
  if (path.endsWith('/verifications')) return 202;
  if (method === 'PUT') return 201;
  return method === 'POST' && /^.(collections|keys)$/.test(path) ? 201 : 200;
};
const SCOPES = ['read', 'write', 'manage'] as const;

let service: SharedService;
const apis = new Map<string, Api>();
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'scoped', dimensions: 1 });
  for (const scope of SCOPES) {
    const request = { name: scope, scopes: [scope] };
    const { body } = await service.api<{ key: { secret: string } }>('POST', '/keys', request);
    apis.set(scope, apiClient(service.url, body.key.secret));
  }
});

describe.each(ROUTES)('%s %s needs %s', (method, path, needed, body) => {
  test.each(SCOPES.filter((scope) => scope !== needed))('%s alone gets 403', async (scope) => {
    const answer = await apis.get(scope)!(method, path, body);
    expect(answer).toEqual(refusal(403, 'FORBIDDEN'));
    expect(answer.body.error).toContain(`"${needed}"`);
  });

  test('that scope alone is enough', async () => {
    const { status } = await apis.get(needed)!(method, path, body);
    expect(status).toBe(statusOf(method, path));
  });
});

test('a refusal does not depend on whether the collection exists', async () => {
  const answer = await apis.get('write')!('GET', '/collections/never');
  expect(answer).toEqual(refusal(403, 'FORBIDDEN'));
});

test.each([
  ['update', { filter: { ssn: { $gte: '7' } }, setMetadata: { a: 1 } }],
  ['delete', { filter: { ssn: { $gte: '7' } } }],
  ['delete', { ids: ['a'] }],
])('a dry run of %s reveals what only a reader may know: %o', async (operation, body) => {
  const path = `/collections/scoped/${operation}`;
  const dryRun = { ...body, dryRun: true };
  const refused = await apis.get('write')!('POST', path, dryRun);
  expect(refused).toEqual(refusal(403, 'FORBIDDEN'));
  expect(refused.body.error).toContain('"read"');
  expect(await apis.get('read')!('POST', path, dryRun)).toEqual(refusal(403, 'FORBIDDEN'));
  expect((await service.api('POST', path, dryRun)).status).toBe(200);
  expect((await apis.get('write')!('POST', path, { ...body, dryRun: false })).status).toBe(200);
});

test.each([
  ['by filter', '/api/v1/collections/long/update', { filter: { long: true } }, true, 'the record \\"stored-id\\"'],
  ['by id', '/api/v1/collections/long/update', {}, false, 'updates[0]'],
  [
    'by filter',
    '/pinecone/indexes/long/vectors/update',
    { filter: { long: true } },
    true,
    'the record \\"stored-id\\"',
  ],
  ['by id', '/pinecone/indexes/long/vectors/update', { id: 'stored-id' }, false, 'setMetadata'],
])(
  'an update %s at %s reveals neither ids nor sizes of records to a key without read',
  async (_, path, body, isByFilter, named) => {
    const metadata = { long: true, text: 'x'.repeat(LIMITS.metadataMaxBytes - 50) };
    await service.api('POST', '/collections', { name: 'long', dimensions: 1 });
    await service.api('POST', '/collections/long/upsert', { records: [{ id: 'stored-id', values: [1], metadata }] });
    const set = { more: 'y'.repeat(100) };
    const isPinecone = path.startsWith('/pinecone');
    const merged =
      isPinecone || isByFilter ? { ...body, setMetadata: set } : { updates: [{ id: 'stored-id', setMetadata: set }] };
    const answer = async (scopes: string[]) => {
      const { body: made } = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'k', scopes });
      const key = isPinecone ? { 'api-key': made.key.secret } : { authorization: `Bearer ${made.key.secret}` };
      const headers = { ...key, 'content-type': 'application/json' };
      const sent = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(merged) });
      return { status: sent.status, text: await sent.text() };
    };
    const told = await answer(['read', 'write']);
    expect(told).toMatchObject({ status: 400, text: expect.stringContaining(named) });
    expect(told.text).toMatch(/is \d+ bytes/);
    const hidden = await answer(['write']);
    expect(hidden).toMatchObject({ status: 400, text: expect.stringContaining('is longer for a record') });
    expect(hidden.text).not.toContain('stored-id');
    expect(hidden.text.match(/\d+ bytes/g)).toEqual(expect.arrayContaining([`${LIMITS.metadataMaxBytes} bytes`]));
    expect(new Set(hidden.text.match(/\d+ bytes/g)).size).toBe(1);
  },
);

test('a key without manage cannot extend its own rights by creating keys', async () => {
  for (const scope of ['read', 'write']) {
    expect(await apis.get(scope)!('POST', '/keys', { name: 'more' })).toEqual(refusal(403, 'FORBIDDEN'));
  }
});

test("a key with manage alone can restore scopes that the account's other keys no longer have", async () => {
  const tenant = await createTenant(service, 'enterprise');
  await tenant.api('POST', '/collections', { name: 'kept', dimensions: 1 });
  const issue = async (api: Api, scopes: string[]) => {
    const { status, body } = await api<{ key: KeyView & { secret: string } }>('POST', '/keys', { name: 'k', scopes });
    expect([status, body.key.scopes]).toEqual([201, scopes]);
    return apiClient(service.url, body.key.secret);
  };
  const manager = await issue(tenant.api, ['manage']);
  expect(await manager('DELETE', `/keys/${tenant.key.id}`)).toMatchObject({ status: 200 });
  expect(await manager('GET', '/collections/kept')).toEqual(refusal(403, 'FORBIDDEN'));
  const reader = await issue(manager, ['read']);
  expect(await reader('GET', '/collections/kept')).toMatchObject({ status: 200 });
});
