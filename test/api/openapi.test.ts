import { beforeAll, describe, expect, test } from '@jest/globals';
import { DEFAULT_PLANS } from '../../lib/plans.ts';
import { ApiDocument, type Json } from '../support/api-document.ts';
import { expectKnownSchemas, expectWholeOperations, expectWholeReferences } from '../support/document-soundness.ts';
import { DocumentedCalls } from '../support/documented-calls.ts';
import { ANCHORED_LIMITS } from '../support/lending.ts';
import { rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN } from '../support/tenant.ts';
import { until } from '../support/until.ts';

/** Routes of the contract with clients, and routes added since. */
const ROUTES = [
  'GET /api/v1/collections',
  'POST /api/v1/collections',
  'GET /api/v1/collections/{name}',
  'PATCH /api/v1/collections/{name}',
  'DELETE /api/v1/collections/{name}',
  'POST /api/v1/collections/{name}/upsert',
  'POST /api/v1/collections/{name}/query',
  'POST /api/v1/collections/{name}/queries',
  'POST /api/v1/collections/{name}/fetch',
  'POST /api/v1/collections/{name}/update',
  'POST /api/v1/collections/{name}/count',
  'POST /api/v1/collections/{name}/facets',
  'POST /api/v1/collections/{name}/list',
  'POST /api/v1/collections/{name}/delete',
  'GET /api/v1/collections/{name}/namespaces',
  'DELETE /api/v1/collections/{name}/namespaces/{namespace}',
  'GET /api/v1/collections/{name}/verify',
  'POST /api/v1/collections/{name}/verifications',
  'GET /api/v1/collections/{name}/verifications/{id}',
  'GET /api/v1/collections/{name}/proof',
  'GET /api/v1/collections/{name}/anchors',
  'GET /api/v1/collections/{name}/memory',
  'GET /api/v1/collections/{name}/audit-links',
  'POST /api/v1/collections/{name}/audit-links',
  'DELETE /api/v1/collections/{name}/audit-links/{id}',
  'GET /api/v1/audit-links/{token}',
  'GET /api/v1/collections/{name}/export',
  'POST /api/v1/collections/{name}/import',
  'GET /api/v1/usage',
  'GET /api/v1/usage/daily',
  'GET /api/v1/keys',
  'GET /api/v1/audit',
  'POST /api/v1/keys',
  'GET /api/v1/aliases',
  'GET /api/v1/aliases/{alias}',
  'PUT /api/v1/aliases/{alias}',
  'DELETE /api/v1/aliases/{alias}',
  'DELETE /api/v1/keys/{id}',
  'GET /',
  'GET /livez',
  'GET /readyz',
  'GET /metrics',
  'GET /openapi.json',
];
const OPERATOR_ROUTES = [
  'GET /api/v1/admin/accounts',
  'POST /api/v1/admin/accounts',
  'PATCH /api/v1/admin/accounts/{id}',
  'DELETE /api/v1/admin/accounts/{id}',
  'GET /api/v1/admin/accounts/{id}',
  'GET /api/v1/admin/accounts/{id}/keys',
  'GET /api/v1/admin/audit',
  'GET /api/v1/admin/plans',
  'PUT /api/v1/admin/plans/{plan}',
  'DELETE /api/v1/admin/plans/{plan}',
  'POST /api/v1/admin/accounts/{id}/keys',
  'DELETE /api/v1/admin/accounts/{id}/keys/{key}',
  'GET /api/v1/admin/nodes',
  'GET /api/v1/admin/shards',
  'GET /api/v1/admin/collections',
  'GET /api/v1/admin/anchors',
  'GET /api/v1/admin/verifications',
  'GET /api/v1/admin/ledger',
];
/** Operators' commands that a single process, or one that nothing is wrong with, refuses. */
const COMMANDS = [
  'POST /api/v1/admin/nodes/{node}/drain',
  'POST /api/v1/admin/shards/{shard}/move',
  'POST /api/v1/admin/anchors/{collection}/resume',
  'POST /api/v1/admin/backups',
  'GET /api/v1/admin/backups',
];

let service: SharedService;
let document: ApiDocument;
beforeAll(async () => {
  service = await shareService('anchored');
  document = await documentOf(service);
});

async function documentOf({ url }: SharedService): Promise<ApiDocument> {
  const response = await fetch(`${url}/openapi.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  return new ApiDocument(await response.json());
}
const send = async (method: string, path: string, token: string | null, body?: unknown) => {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(text)}` }),
  };
  return rawRequest(service.url, method, path, headers, text);
};
const namesOf = ({ operations }: ApiDocument) => operations.map(({ method, path }) => `${method} ${path}`).sort();

describe('the document', () => {
  test('is OpenAPI 3.1 with every route and no other', () => {
    expect(document.json).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d$/), info: { title: 'Provec' } });
    expect(namesOf(document)).toEqual([...ROUTES, ...OPERATOR_ROUTES, ...COMMANDS].sort());
  });

  test.each(['anchored', 'unmanaged'] as const)('has no dangling reference and nothing unused: %s', async (kind) =>
    expectWholeReferences(await documentOf(await shareService(kind))),
  );

  test('has only schemas valid in JSON Schema 2020-12', () => expectKnownSchemas(document));

  test('names every operation once, every path parameter, its authentication, and the meaning of each answer', () =>
    expectWholeOperations(document));

  test('has the limits of this configuration', () => {
    const { Query, Upsert } = document.json.components.schemas as Record<string, { properties: Record<string, Json> }>;
    const { topKMax, recordsPerUpsertMax } = ANCHORED_LIMITS;
    const named = [Query.properties.topK.maximum, Upsert.properties.records.maxItems];
    expect(named).toEqual([topKMax, recordsPerUpsertMax]);
  });

  test('has the operator routes only if there is an operator token', async () => {
    expect(namesOf(await documentOf(await shareService('unmanaged')))).toEqual(ROUTES.toSorted());
  });
});

describe('what the service refuses', () => {
  const wrongIn = (name: string, body: Json) =>
    document.faultsOf(document.json.paths[`/api/v1${name}`].post.requestBody, JSON.parse(JSON.stringify(body)) as Json)
      .length > 0;

  test.each([
    { name: 'x', dimensions: 0 },
    { name: 'x', dimensions: 8_193 },
    { name: '-', dimensions: 1 },
    { name: 'x', dimensions: 1, shards: 3 },
    { name: 'x', dimensions: 1, shards: 0 },
    { name: 'x', dimensions: 1, shards: 512 },
    { name: 'x', dimensions: 1, replicas: 4 },
    { name: 'x', dimensions: 1, metric: 'l2' },
  ])('of a collection %j', async (body) => {
    expect((await send('POST', '/api/v1/collections', service.key, body)).status).toBe(400);
    expect(wrongIn('/collections', body)).toBe(true);
  });

  const LISTED = Array(10_001).fill(1);
  test.each<[status: 200 | 400, filter: unknown]>([
    [200, {}],
    [200, { a: 1, 'b.c': 'x', '': null, d: false }],
    [200, { a: { $gte: 1, $lt: 2 }, b: { $not: { $in: [1, 'x', null, true] } } }],
    [200, { $and: [{ a: { $exists: false } }, { $or: [{}, { $not: { b: { $nin: [] } } }] }] }],
    [200, { constructor: { $eq: 1 } }],
    [400, 'a = 1'],
    [400, [{ a: 1 }]],
    [400, null],
    [400, { $foo: 1 }],
    [400, { $eq: 1 }],
    [400, { a: { $foo: 1 } }],
    [400, { a: {} }],
    [400, { a: [1, 2] }],
    [400, { a: { b: 1 } }],
    [400, { a: { gt: 1 } }],
    [400, { a: { $or: [1] } }],
    [400, { a: { $eq: [1] } }],
    [400, { a: { $ne: {} } }],
    [400, { a: { $gt: true } }],
    [400, { a: { $lte: null } }],
    [400, { a: { $lt: [1] } }],
    [400, { a: { $in: 1 } }],
    [400, { a: { $nin: [[1]] } }],
    [400, { a: { $in: LISTED } }],
    [400, { a: { $exists: 1 } }],
    [400, { a: { $not: 1 } }],
    [400, { a: { $not: {} } }],
    [400, { $and: [] }],
    [400, { $or: { a: 1 } }],
    [400, { $or: [{ a: 1 }, 'b'] }],
    [400, { $not: [] }],
  ])('and accepts, among filters: %i for %j', async (status, filter) => {
    await send('POST', '/api/v1/collections', service.key, { name: 'filtered', dimensions: 1 });
    const body = { vector: [1], filter };
    expect((await send('POST', '/api/v1/collections/filtered/query', service.key, body)).status).toBe(status);
    expect(wrongIn('/collections/{name}/query', body as Json)).toBe(status === 400);
  });

  test('of vectors', async () => {
    await send('POST', '/api/v1/collections', service.key, { name: 'filtered', dimensions: 1 });
    const one = '/collections/filtered';
    for (const vector of [[], ['1'], 1, Array(8_193).fill(1)]) {
      expect((await send('POST', `/api/v1${one}/query`, service.key, { vector })).status).toBe(400);
      expect(wrongIn('/collections/{name}/query', { vector })).toBe(true);
      const records = [{ id: 'a', values: vector }];
      expect((await send('POST', `/api/v1${one}/upsert`, service.key, { records })).status).toBe(400);
      expect(wrongIn('/collections/{name}/upsert', { records })).toBe(true);
    }
    await send('DELETE', `/api/v1${one}`, service.key);
  });

  test.each<[200 | 400, number]>([
    [200, 3.4028235e38],
    // The last number that rounds to the largest float32, and the first that does not.
    [200, 3.4028235677973362e38],
    [400, 3.4028235677973366e38],
    [200, -3.4028235677973362e38],
    [400, -3.4028235677973366e38],
  ])('and accepts, among numbers: %i for %d', async (status, number) => {
    await send('POST', '/api/v1/collections', service.key, { name: 'filtered', dimensions: 1 });
    const one = '/collections/filtered';
    expect((await send('POST', `/api/v1${one}/query`, service.key, { vector: [number] })).status).toBe(status);
    expect(wrongIn('/collections/{name}/query', { vector: [number] })).toBe(status === 400);
    const records = [{ id: 'a', values: [number] }];
    expect((await send('POST', `/api/v1${one}/upsert`, service.key, { records })).status).toBe(status);
    expect(wrongIn('/collections/{name}/upsert', { records })).toBe(status === 400);
    await send('DELETE', `/api/v1${one}`, service.key);
  });

  test.each([
    ['/api/v1/collections', 0],
    ['/api/v1/collections', 513],
    ['/api/v1/collections/{name}/anchors', 0],
    ['/api/v1/collections/{name}/anchors', 513],
    ['/api/v1/collections/{name}/namespaces', 0],
    ['/api/v1/collections/{name}/namespaces', 692],
  ])('of cursors: for %s one of %d characters', async (path, length) => {
    const cursor = 'x'.repeat(length);
    await send('POST', '/api/v1/collections', service.key, { name: 'paged', dimensions: 1 });
    const { status } = await send('GET', `${path.replace('{name}', 'paged')}?cursor=${cursor}`, service.key);
    const { schema } = document.json.paths[path].get.parameters!.find(({ name }) => name === 'cursor')!;
    expect([status, document.compile(schema as Json)(cursor)]).toEqual([400, false]);
    await send('DELETE', '/api/v1/collections/paged', service.key);
  });
});

describe('its claims hold', () => {
  const concrete = (path: string) =>
    path
      .replace('{name}', 'some')
      .replace('{namespace}', 'n')
      .replace('{alias}', 'live')
      .replace('{id}', '00000000-0000-4000-8000-000000000000');

  test('every route exists, and asks for a key if the document says so', async () => {
    for (const { method, path, operation } of document.operations) {
      const { status } = await send(method, concrete(path), null);
      const open = path.includes('{token}') ? 404 : 200;
      expect([method, path, status]).toEqual([method, path, operation.security.length === 0 ? open : 401]);
    }
  });

  test('lists every method that a path accepts', async () => {
    for (const [path, operations] of Object.entries(document.json.paths)) {
      const { headers } = await send('OPTIONS', concrete(path), null);
      const taken = headers.allow!.split(', ').filter((method) => method !== 'HEAD' && method !== 'OPTIONS');
      expect([path, taken.sort()]).toEqual([
        path,
        Object.keys(operations)
          .map((method) => method.toUpperCase())
          .sort(),
      ]);
    }
  });

  test('answers, requests and errors of every operation match the document', async () => {
    const calls = new DocumentedCalls(document, (method, path, token, body) =>
      send(method, path, path.includes('/admin/') ? ADMIN_TOKEN : (token ?? service.key), body),
    );
    async function call(name: string, status: number, into: Json = {}, body?: object): Promise<Json> {
      const json = await calls.call(name, status, into, body);
      if (status >= 400) {
        const { description } = calls.operationOf(name).responses[status];
        expect([name, description]).toEqual([name, expect.stringContaining(`\`${json.code}\``)]);
      }
      return json;
    }
    const V1 = '/api/v1';
    const one = `${V1}/collections/{name}`;
    const some = { name: 'some' };
    await call('GET /', 200);
    await call('GET /livez', 200);
    await call('GET /readyz', 200);
    await call('GET /metrics', 200);
    await call('GET /openapi.json', 200);
    for (const metric of ['cosine', 'euclidean', 'dot']) {
      const name = metric === 'cosine' ? 'some' : metric;
      await call(`POST ${V1}/collections`, 201, {}, { name, dimensions: 2, metric, shards: 4, quantization: 'f16' });
      const records = [
        { id: 'a', values: [1, 2], metadata: { x: [null, { y: 1 }] } },
        { id: '🧭', values: [0, -1.5] },
      ];
      await call(`GET ${one}`, 200, { name });
      await call(`POST ${one}/upsert`, 200, { name }, { records });
      await call(`GET ${one}`, 200, { name });
      const everything = { topK: 5, filter: { x: { $exists: true } }, includeValues: true, includeMetadata: true };
      await call(
        `POST ${one}/query`,
        200,
        { name },
        { vector: [1, 0], ...everything, scoreThreshold: -9, exact: true },
      );
      await call(`POST ${one}/query`, 200, { name }, { id: 'a', includeMetadata: false });
    }
    await call(`POST ${V1}/collections`, 400, {}, { name: 'x', dimensions: 0 });
    await call(`POST ${V1}/collections`, 409, {}, { name: 'some', dimensions: 1 });
    await call(`POST ${one}/query`, 400, some, { vector: [1] });
    await call(`POST ${one}/query`, 404, some, { id: 'absent' });
    await call(`POST ${one}/queries`, 200, some, { queries: [{ id: 'a' }, { vector: [1, 1], allowPartial: true }] });
    await call(`POST ${one}/queries`, 400, some, { queries: [] });
    await call(`POST ${one}/queries`, 404, some, { queries: [{ id: 'absent' }] });
    await call(`POST ${one}/query`, 404, { name: 'never' }, { id: 'absent' });
    await call(`GET ${V1}/collections`, 200);
    await call(`POST ${one}/fetch`, 200, some, { ids: ['a', '🧭', 'absent'] });
    await call(`POST ${one}/count`, 200, some, { filter: { x: { $exists: true } }, consistency: 'eventual' });
    await call(`POST ${one}/facets`, 200, some, { field: 'x', filter: {}, limit: 3 });
    await call(`POST ${one}/facets`, 400, some, { field: '' });
    const page = (await call(`POST ${one}/list`, 200, some, { limit: 1, includeValues: true })) as {
      nextCursor: string;
    };
    await call(`POST ${one}/list`, 200, some, {
      cursor: page.nextCursor,
      includeMetadata: true,
      prefix: '🧭',
      filter: {},
    });
    await call(`POST ${one}/list`, 400, some, { limit: 0 });
    const filter = { x: { $exists: true } };
    await call(`POST ${one}/update`, 200, some, { updates: [{ id: 'a', values: [1, 2], unsetMetadata: ['x'] }] });
    await call(`POST ${one}/update`, 200, some, { filter, setMetadata: { y: null }, dryRun: true });
    await call(`POST ${one}/update`, 400, some, { filter, setMetadata: {} });
    await call(`POST ${one}/delete`, 200, some, { filter, dryRun: true });
    await call(`POST ${one}/delete`, 400, some, { all: false });
    await call(`POST ${one}/delete`, 200, some, { ids: ['a', 'absent'] });
    const wrong = { filter: { x: { $near: 1 } } };
    await call(`POST ${one}/query`, 400, some, { vector: [1, 1], ...wrong });
    await call(`POST ${one}/count`, 400, some, wrong);
    await call(`POST ${one}/facets`, 400, some, { field: 'x', ...wrong });
    await call(`POST ${one}/list`, 400, some, wrong);
    await call(`POST ${one}/update`, 400, some, { setMetadata: {}, ...wrong });
    await call(`POST ${one}/update`, 400, some, { updates: [{ id: 'a', values: [1] }] });
    await call(`POST ${one}/delete`, 400, some, wrong);
    await call(`POST ${one}/upsert`, 200, some, { namespace: 'n', records: [{ id: 'a', values: [1, 1] }] });
    await call(`GET ${one}/namespaces`, 200, { ...some, search: '?prefix=n&limit=1' });
    await call(`GET ${one}/namespaces`, 400, { ...some, search: '?limit=0' });
    await call(`GET ${one}/proof`, 200, { ...some, search: '?id=a&namespace=n' });
    await call(`DELETE ${one}/namespaces/{namespace}`, 200, { ...some, namespace: 'n' });
    await call(`DELETE ${one}/namespaces/{namespace}`, 404, { ...some, namespace: 'n' });
    await call(`GET ${one}/export`, 200, some);
    await call(`POST ${one}/import`, 200, some);
    await call(`POST ${one}/import`, 400, some, { id: 7 });
    await call(`GET ${one}/verify`, 200, some);
    await call(`GET ${one}/verify`, 200, { ...some, search: '?id=a' });
    const { id } = await call(`POST ${one}/verifications`, 202, some);
    await until('the verification has ended', async () => {
      return (await call(`GET ${one}/verifications/{id}`, 200, { ...some, id })).state === 'done';
    });
    await call(`GET ${one}/verifications/{id}`, 404, { ...some, id: 'absent' });
    await call(`GET ${one}/proof`, 200, { ...some, search: '?id=%F0%9F%A7%AD' });
    await call(`GET ${one}/proof`, 400, some);
    await call(`GET ${one}/anchors`, 200, { ...some, search: '?limit=1' });
    await call(`GET ${one}/memory`, 200, some);
    const linked = await call(`POST ${one}/audit-links`, 201, some, { label: 'x', expiresAt: null });
    const { link } = linked as { link: Json };
    await call(`POST ${one}/audit-links`, 400, some, { expiresAt: 'soon' });
    await call(`GET ${one}/audit-links`, 200, some);
    await call(`GET ${V1}/audit-links/{token}`, 200, { token: link.token, search: '?limit=1' });
    await call(`DELETE ${one}/audit-links/{id}`, 200, { ...some, id: link.id });
    await call(`DELETE ${one}/audit-links/{id}`, 404, { ...some, id: link.id });
    await call(`GET ${V1}/audit-links/{token}`, 404, { token: link.token });
    const alias = { alias: 'live' };
    await call(`PUT ${V1}/aliases/{alias}`, 201, alias, { collection: 'some' });
    await call(`PUT ${V1}/aliases/{alias}`, 200, alias, { collection: 'some' });
    await call(`PUT ${V1}/aliases/{alias}`, 404, alias, { collection: 'never' });
    await call(`PUT ${V1}/aliases/{alias}`, 409, { alias: 'x' }, { collection: 'live' });
    await call(`GET ${V1}/aliases/{alias}`, 200, alias);
    await call(`GET ${V1}/aliases`, 200);
    await call(`POST ${V1}/collections`, 409, {}, { name: 'live', dimensions: 1 });
    await call(`DELETE ${one}`, 409, some);
    await call(`DELETE ${V1}/aliases/{alias}`, 200, alias);
    await call(`DELETE ${V1}/aliases/{alias}`, 404, alias);
    await call(`GET ${V1}/aliases/{alias}`, 404, alias);
    await call(`PATCH ${one}`, 200, some, { deletionProtection: true });
    await call(`DELETE ${one}`, 403, some);
    await call(`PATCH ${one}`, 200, some, { deletionProtection: false });
    await call(`DELETE ${one}`, 200, some);
    await call(`DELETE ${one}`, 404, some);
    await call(`GET ${V1}/usage`, 200);
    await call(`GET ${V1}/usage/daily`, 200, { search: '?days=2' });
    await call(`GET ${V1}/usage/daily`, 400, { search: '?days=0' });
    await call(`GET ${V1}/usage`, 401, { token: 'pv_live_nobody' });
    const request = { name: 'k', scopes: ['read'], expires_at: '2099-01-01T00:00:00Z' };
    const { key } = (await call(`POST ${V1}/keys`, 201, {}, request)) as { key: Json };
    await call(`POST ${V1}/keys`, 201, {}, { name: 'k', expires_at: null });
    await call(`GET ${V1}/keys`, 200);
    await call(`GET ${V1}/keys`, 403, { token: key.secret });
    await call(`GET ${V1}/audit`, 200);
    await call(`GET ${V1}/audit`, 403, { token: key.secret });
    await call(`DELETE ${V1}/keys/{id}`, 200, { id: key.id });
    await call(`DELETE ${V1}/keys/{id}`, 404, { id: key.id });
    const made = await call(`POST ${V1}/admin/accounts`, 201, {}, { name: 'x', plan: 'free' });
    const tenant = made as { account: Json; key: Json };
    await call(`GET ${V1}/usage`, 200, { token: tenant.key.secret });
    for (const name of ['first', 'second'])
      await call(`POST ${V1}/collections`, 201, { token: tenant.key.secret }, { name, dimensions: 1 });
    await call(`POST ${V1}/collections`, 429, { token: tenant.key.secret }, { name: 'x', dimensions: 1 });
    await call(`DELETE ${V1}/keys/{id}`, 409, { id: tenant.key.id, token: tenant.key.secret });
    await call(`GET ${V1}/admin/accounts`, 200);
    await call(`PATCH ${V1}/admin/accounts/{id}`, 200, { id: tenant.account.id }, { plan: 'pro' });
    await call(`PATCH ${V1}/admin/accounts/{id}`, 400, { id: tenant.account.id }, { plan: 'gold' });
    const account = { id: tenant.account.id };
    await call(`GET ${V1}/admin/accounts`, 200, { search: '?usage=true&limit=1' });
    await call(`GET ${V1}/admin/accounts/{id}`, 200, account);
    await call(`GET ${V1}/admin/accounts/{id}/keys`, 200, account);
    await call(`GET ${V1}/admin/audit`, 200);
    await call(`GET ${V1}/admin/plans`, 200);
    const plan = { plan: 'of-the-document' };
    await call(`PUT ${V1}/admin/plans/{plan}`, 200, plan, DEFAULT_PLANS.pro);
    await call(`PUT ${V1}/admin/plans/{plan}`, 400, plan, { vectors: 1 });
    await call(`PATCH ${V1}/admin/accounts/{id}`, 200, account, plan);
    await call(`DELETE ${V1}/admin/plans/{plan}`, 409, plan);
    await call(`PATCH ${V1}/admin/accounts/{id}`, 200, account, { plan: 'pro' });
    await call(`DELETE ${V1}/admin/plans/{plan}`, 200, plan);
    await call(`DELETE ${V1}/admin/plans/{plan}`, 404, plan);
    const other = (await call(`POST ${V1}/admin/accounts/{id}/keys`, 201, account, { name: 'k' })) as { key: Json };
    await call(`DELETE ${V1}/admin/accounts/{id}/keys/{key}`, 200, { ...account, key: other.key.id });
    await call(`DELETE ${V1}/admin/accounts/{id}/keys/{key}`, 404, { ...account, key: other.key.id });
    await call(`DELETE ${V1}/admin/accounts/{id}/keys/{key}`, 409, { ...account, key: tenant.key.id });
    await call(`GET ${V1}/admin/nodes`, 200);
    await call(`GET ${V1}/admin/shards`, 200, { search: '?limit=1' });
    await call(`GET ${V1}/admin/shards`, 404, { search: '?collection=never' });
    const listed = (await call(`GET ${V1}/admin/collections`, 200, { search: '?limit=1' })).collections as Json[];
    await call(`GET ${V1}/admin/anchors`, 200, { search: '?limit=1' });
    await call(`GET ${V1}/admin/anchors`, 400, { search: '?state=some' });
    await call(`GET ${V1}/admin/verifications`, 200, { search: '?limit=1' });
    await call(`GET ${V1}/admin/ledger`, 200);
    await call(`GET ${V1}/admin/ledger`, 200, { search: `?collection=${listed[0]!.id}` });
    await call(`POST ${V1}/admin/nodes/{node}/drain`, 400, { node: 'never' });
    await call(`POST ${V1}/admin/shards/{shard}/move`, 400, { shard: `${listed[0]!.id}.0` }, { node: 'never' });
    await call(`POST ${V1}/admin/shards/{shard}/move`, 404, { shard: 'never.0' }, { node: 'never' });
    await call(`POST ${V1}/admin/backups`, 400, {}, {});
    await call(`GET ${V1}/admin/backups`, 400);
    await call(`POST ${V1}/admin/anchors/{collection}/resume`, 400, { collection: `${listed[0]!.id}` });
    await call(`DELETE ${V1}/admin/accounts/{id}`, 200, account);
    await call(`DELETE ${V1}/admin/accounts/{id}`, 404, account);
    expect([...calls.succeeded, ...COMMANDS].sort()).toEqual(namesOf(document));
  });

  test('a request that the service refuses is invalid by the document too', () => {
    const query = document.json.paths['/api/v1/collections/{name}/query'].post.requestBody;
    for (const body of [
      {},
      { vector: [1], id: 'a' },
      { vector: [1], topK: ANCHORED_LIMITS.topKMax + 1 },
      { vector: [1], fitler: {} },
    ]) {
      expect([body, document.faultsOf(query, body).length > 0]).toEqual([body, true]);
    }
  });
});
