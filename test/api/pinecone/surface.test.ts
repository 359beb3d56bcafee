/** Keys, scopes, errors and unsupported features, as Pinecone's clients see them. */
import { beforeAll, expect, test } from '@jest/globals';
import { METERED_LIMIT, METERED_PRICING_URL } from '../../support/lending.ts';
import { type PineconeApi, pineconeApi } from '../../support/pinecone-api.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { createTenant } from '../../support/tenant.ts';

let service: SharedService;
let pinecone: PineconeApi;
beforeAll(async () => {
  service = await shareService();
  pinecone = pineconeApi(service.url, service.key);
  await pinecone('POST', '/indexes', { name: 'surface', dimension: 1, metric: 'dotproduct' });
});

const told = async (answer: Promise<{ status: number; body: Record<string, unknown> }>) => {
  const { status, body } = await answer;
  return [status, body.code, (body.error as { code: string }).code];
};

test('accepts the key only in Api-Key', async () => {
  expect(await told(pineconeApi(service.url, null)('GET', '/indexes'))).toEqual([401, 16, 'UNAUTHENTICATED']);
  expect(await told(pineconeApi(service.url, 'pv_live_none')('GET', '/indexes'))).toEqual([401, 16, 'UNAUTHENTICATED']);
  const bearer = pineconeApi(service.url, null, { authorization: `Bearer ${service.key}` });
  expect((await bearer('GET', '/indexes')).status).toBe(401);
  expect((await pineconeApi(service.url, 'x'.repeat(600))('GET', '/indexes')).status).toBe(401);
});

test('a key has its scopes', async () => {
  const keyOf = async (scope: string) => {
    const { body } = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: scope, scopes: [scope] });
    return pineconeApi(service.url, body.key.secret);
  };
  const [reads, writes] = [await keyOf('read'), await keyOf('write')];
  const vectors = [{ id: 'a', values: [1] }];
  expect(await told(reads('POST', '/indexes/surface/vectors/upsert', { vectors }))).toEqual([403, 7, 'FORBIDDEN']);
  expect((await writes('POST', '/indexes/surface/vectors/upsert', { vectors })).status).toBe(200);
  expect((await reads('POST', '/indexes/surface/query', { topK: 1, vector: [1] })).status).toBe(200);
  expect((await writes('POST', '/indexes/surface/query', { topK: 1, vector: [1] })).status).toBe(403);
  expect((await writes('POST', '/indexes/surface/describe_index_stats', {})).status).toBe(403);
  expect((await writes('POST', '/indexes/surface/namespaces', { name: 'a' })).status).toBe(403);
  const dryRun = { filter: { a: 1 }, setMetadata: { b: 1 }, dryRun: true };
  expect((await writes('POST', '/indexes/surface/vectors/update', dryRun)).status).toBe(403);
  for (const api of [reads, writes]) {
    expect((await api('DELETE', '/indexes/surface')).status).toBe(403);
    expect((await api('PATCH', '/indexes/surface', { tags: { a: 'b' } })).status).toBe(403);
  }
});

test('a full plan gets a 403 that says what is full, which clients do not retry', async () => {
  const metered = await shareService('metered');
  const api = pineconeApi(metered.url, (await createTenant(metered, 'free')).key.secret);
  const create = (name: string) => api('POST', '/indexes', { name, dimension: 1, metric: 'dotproduct' });
  for (const name of ['one', 'two']) expect((await create(name)).status).toBe(201);
  const vectors = Array.from({ length: METERED_LIMIT.vectors + 1 }, (_, at) => ({ id: `${at}`, values: [1] }));
  const refused = {
    'stored vectors': await api('POST', '/indexes/one/vectors/upsert', { vectors }),
    collections: await create('three'),
  };
  for (const [noun, { status, body, headers }] of Object.entries(refused)) {
    const message = expect.stringMatching(`^The plan "free" allows \\d+ ${noun}; .*${METERED_PRICING_URL}$`);
    expect([status, body]).toMatchObject([403, { code: 7, error: { code: 'FORBIDDEN' }, message }]);
    expect(headers.get('retry-after')).toBeNull();
  }
});

test.each([
  ['POST', '/indexes/surface/bulk/imports'],
  ['POST', '/indexes/surface/records/namespaces/ns/upsert'],
  ['POST', '/indexes/surface/records/namespaces/ns/search'],
  ['POST', '/indexes/surface/namespaces/ns/documents/search'],
  ['POST', '/indexes/create-for-model'],
  ['POST', '/indexes/surface/backups'],
  ['POST', '/embed'],
  ['POST', '/rerank'],
  ['GET', '/models/x'],
  ['GET', '/backups'],
  ['GET', '/collections'],
])('an unsupported operation gets a 501 that says what to do: %s %s', async (method, path) => {
  const answer = await pinecone(method, path, method === 'GET' ? undefined : {});
  expect(answer).toMatchObject({ status: 501, body: { code: 12, error: { code: 'UNIMPLEMENTED' } } });
  expect(answer.body.message).toMatch(/^Provec .+: .+\.$/);
});

test('browsers of another origin may send the key', async () => {
  const { url } = await shareService('unmanaged');
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
  const { headers: told } = await fetch(`${url}/pinecone/indexes`, { method: 'OPTIONS', headers });
  expect(told.get('access-control-allow-headers')).toMatch(/Api-Key, X-Pinecone-Api-Version/);
});

test.each([
  ['provec.example:8080', 'http://provec.example:8080/pinecone'],
  ['[::1]:8080', 'http://[::1]:8080/pinecone'],
  ['evil/x?y#z@a', 'http://localhost/pinecone'],
])('an index is at the host of the request, if that is valid: %s', async (host, base) => {
  const headers = { 'api-key': service.key, host };
  const { text } = await rawRequest(service.url, 'GET', '/pinecone/indexes/surface', headers);
  expect(JSON.parse(text)).toMatchObject({ host: `${base}/indexes/surface` });
});

test('an unknown path gets no route, and an unknown method is named', async () => {
  expect(await told(pinecone('GET', '/nothing'))).toEqual([404, 5, 'NOT_FOUND']);
  expect(await told(pinecone('GET', '/indexes/absent'))).toEqual([404, 5, 'NOT_FOUND']);
  const { status, headers } = await pinecone('PUT', '/indexes/surface', {});
  expect([status, headers.get('allow')]).toEqual([405, 'GET, PATCH, DELETE, HEAD, OPTIONS']);
  expect((await fetch(`${service.url}/pineconefoo`)).status).toBe(404);
});

test('/api/v1 stays strict', async () => {
  const strict = await service.api('POST', '/collections/surface/query', {
    vector: [1],
    topK: 1,
    filter: {},
    other: 1,
  });
  expect(strict).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
  const response = await fetch(`${service.url}/api/v1/collections`, { headers: { 'api-key': service.key } });
  expect(response.status).toBe(401);
});
