/** Compares the OpenAPI document of `/pinecone` with the requests and responses of a service. */
import { beforeAll, expect, test } from '@jest/globals';
import { ApiDocument, type Json } from '../../support/api-document.ts';
import { expectKnownSchemas, expectWholeOperations, expectWholeReferences } from '../../support/document-soundness.ts';
import { DocumentedCalls } from '../../support/documented-calls.ts';
import { ANCHORED_LIMITS } from '../../support/lending.ts';
import { rawRequest } from '../../support/raw-request.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

const INDEX = '/pinecone/indexes/{name}';
const PAGE = 'GET /pinecone/openapi.json';
const ROUTES = [
  'POST /pinecone/indexes',
  'GET /pinecone/indexes',
  `GET ${INDEX}`,
  `PATCH ${INDEX}`,
  `DELETE ${INDEX}`,
  `POST ${INDEX}/query`,
  `POST ${INDEX}/vectors/upsert`,
  `GET ${INDEX}/vectors/fetch`,
  `POST ${INDEX}/vectors/fetch_by_metadata`,
  `GET ${INDEX}/vectors/list`,
  `POST ${INDEX}/vectors/delete`,
  `POST ${INDEX}/vectors/update`,
  `GET ${INDEX}/namespaces`,
  `POST ${INDEX}/namespaces`,
  `GET ${INDEX}/namespaces/{namespace}`,
  `DELETE ${INDEX}/namespaces/{namespace}`,
  `POST ${INDEX}/describe_index_stats`,
  `GET ${INDEX}/describe_index_stats`,
];

let service: SharedService;
let document: ApiDocument;
beforeAll(async () => {
  service = await shareService('anchored');
  const response = await fetch(`${service.url}/pinecone/openapi.json`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  document = new ApiDocument(await response.json());
});

const send = (method: string, path: string, key: string | null, body?: object) => {
  const text = body && JSON.stringify(body);
  return rawRequest(
    service.url,
    method,
    path,
    {
      ...(key !== null && { 'api-key': key }),
      ...(text && { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(text)}` }),
    },
    text,
  );
};
const namesOf = ({ operations }: ApiDocument) => operations.map(({ method, path }) => `${method} ${path}`).sort();
const concrete = (path: string) => path.replace('{name}', 'some').replace('{namespace}', 'n');

test('is valid, and has exactly the existing routes', () => {
  expect(document.json).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d$/) });
  expect(namesOf(document)).toEqual([...ROUTES, PAGE].sort());
  expectWholeReferences(document);
  expectKnownSchemas(document);
  expectWholeOperations(document);
});

test('has the limits of this configuration', () => {
  const { QueryRequest, UpsertRequest } = document.json.components.schemas as Record<
    string,
    { properties: Record<string, Json> }
  >;
  expect([QueryRequest.properties.topK.maximum, UpsertRequest.properties.vectors.maxItems]).toEqual([
    ANCHORED_LIMITS.topKMax,
    ANCHORED_LIMITS.recordsPerUpsertMax,
  ]);
});

test('every route exists, accepts the listed methods, and asks for a key if the document says so', async () => {
  for (const { method, path, operation } of document.operations) {
    const { status } = await send(method, concrete(path), null);
    expect([method, path, status]).toEqual([method, path, operation.security.length === 0 ? 200 : 401]);
  }
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

test('refuses everything but reading, as it says', async () => {
  const { status, text } = await send('PUT', '/pinecone/openapi.json', null);
  const { responses } = document.json.paths['/pinecone/openapi.json'].get;
  expect([status, document.faultsOf(responses[405], JSON.parse(text))]).toEqual([405, []]);
});

test('requests, answers and errors of every operation match the document', async () => {
  const calls = new DocumentedCalls(document, (method, path, key, body) =>
    send(method, path, key ?? service.key, body),
  );
  const call = calls.call.bind(calls);
  const some = { name: 'some' };
  await call(PAGE, 200);
  for (const metric of ['cosine', 'euclidean', 'dotproduct']) {
    const name = metric === 'cosine' ? 'some' : metric;
    await call(
      'POST /pinecone/indexes',
      201,
      {},
      { name, dimension: 2, metric, vector_type: 'dense', tags: { a: 'b' } },
    );
    await call(`GET ${INDEX}`, 200, { name });
    const vectors = [
      { id: 'a', values: [1, 2], metadata: { x: [null, { y: 1 }] } },
      { id: '🧭', values: [0, -1.5] },
    ];
    await call(`POST ${INDEX}/vectors/upsert`, 200, { name }, { vectors });
    await call(`POST ${INDEX}/vectors/upsert`, 200, { name }, { vectors, namespace: 'n' });
    const everything = { topK: 5, filter: { x: { $exists: true } }, includeValues: true, includeMetadata: true };
    await call(`POST ${INDEX}/query`, 200, { name }, { vector: [1, 0], ...everything, namespace: 'n' });
    await call(`POST ${INDEX}/query`, 200, { name }, { id: 'absent', sparseVector: null });
    await call(`POST ${INDEX}/query`, 200, { name }, { id: 'a', includeMetadata: false });
  }
  const field = { type: 'dense_vector', dimension: 2, metric: 'cosine' };
  const made = await call('POST /pinecone/indexes', 201, {}, { schema: { fields: { any: field } } });
  await call(`DELETE ${INDEX}`, 202, { name: made.name });
  await call('POST /pinecone/indexes', 400, {}, { name: 'x', dimension: 0 });
  await call('POST /pinecone/indexes', 409, {}, { name: 'some', dimension: 1 });
  await call('GET /pinecone/indexes', 200);
  await call('GET /pinecone/indexes', 401, { token: 'pv_live_nobody' });
  await call(`POST ${INDEX}/query`, 400, some, { vector: [1] });
  await call(`POST ${INDEX}/query`, 404, { name: 'never' }, { vector: [1] });
  await call(`GET ${INDEX}/vectors/fetch`, 200, { ...some, search: '?ids=a&ids=%F0%9F%A7%AD&ids=absent&namespace=n' });
  await call(`GET ${INDEX}/vectors/fetch`, 400, some);
  const filter = { x: { $exists: true } };
  await call(`POST ${INDEX}/vectors/fetch_by_metadata`, 200, some);
  const page = await call(`POST ${INDEX}/vectors/fetch_by_metadata`, 200, some, { filter: {}, limit: 1 });
  const { next: paginationToken } = page.pagination as Json;
  await call(`POST ${INDEX}/vectors/fetch_by_metadata`, 200, some, { filter, paginationToken });
  await call(`GET ${INDEX}/vectors/list`, 200, { ...some, search: '?limit=1&namespace=n' });
  await call(`GET ${INDEX}/vectors/list`, 200, { ...some, search: `?prefix=a&paginationToken=${paginationToken}` });
  await call(`GET ${INDEX}/vectors/list`, 400, { ...some, search: '?limit=0' });
  await call(`POST ${INDEX}/vectors/update`, 200, some, { id: 'a', values: [2, 1], setMetadata: { y: null } });
  await call(`POST ${INDEX}/vectors/update`, 200, some, { filter, setMetadata: { z: 1 }, dryRun: true });
  await call(`POST ${INDEX}/vectors/update`, 400, some, { filter, values: [1, 2] });
  await call(`GET ${INDEX}/namespaces`, 200, { ...some, search: '?limit=1' });
  await call(`GET ${INDEX}/namespaces`, 200, { ...some, search: '?prefix=n' });
  await call(`POST ${INDEX}/namespaces`, 200, some, { name: 'none' });
  await call(`GET ${INDEX}/namespaces/{namespace}`, 200, { ...some, namespace: '__default__' });
  await call(`GET ${INDEX}/namespaces/{namespace}`, 404, { ...some, namespace: 'none' });
  await call(`POST ${INDEX}/describe_index_stats`, 200, some);
  await call(`POST ${INDEX}/describe_index_stats`, 200, some, { filter: {} });
  await call(`POST ${INDEX}/describe_index_stats`, 400, some, { filter });
  await call(`GET ${INDEX}/describe_index_stats`, 200, some);
  await call(`POST ${INDEX}/vectors/delete`, 200, some, { filter });
  await call(`POST ${INDEX}/vectors/delete`, 200, some, { ids: ['a', 'absent'] });
  await call(`POST ${INDEX}/vectors/delete`, 404, some, { deleteAll: true, namespace: 'none' });
  await call(`DELETE ${INDEX}/namespaces/{namespace}`, 200, { ...some, namespace: 'n' });
  await call(`DELETE ${INDEX}/namespaces/{namespace}`, 404, { ...some, namespace: 'n' });
  await call(`PATCH ${INDEX}`, 200, some, { deletion_protection: 'enabled', tags: { a: '' } });
  await call(`DELETE ${INDEX}`, 403, some);
  await call(`PATCH ${INDEX}`, 400, some, {});
  await call(`PATCH ${INDEX}`, 200, some, { deletion_protection: 'disabled' });
  await call(`DELETE ${INDEX}`, 202, some);
  await call(`DELETE ${INDEX}`, 404, some);
  expect([...calls.succeeded].sort()).toEqual(namesOf(document));
});

test.each<[route: string, body: Json]>([
  [`POST ${INDEX}/query`, {}],
  [`POST ${INDEX}/query`, { vector: [1], topK: ANCHORED_LIMITS.topKMax + 1 }],
  [`POST ${INDEX}/query`, { vector: [1], sparseVector: { indices: [1], values: [1] } }],
  [`POST ${INDEX}/query`, { vector: [1], filter: { $near: 1 } }],
  [`POST ${INDEX}/vectors/upsert`, {}],
  [`POST ${INDEX}/vectors/upsert`, { vectors: [] }],
  [`POST ${INDEX}/vectors/upsert`, { vectors: [{ id: 'a' }] }],
  [
    `POST ${INDEX}/vectors/upsert`,
    { vectors: [{ id: 'a', values: [1], sparseValues: { indices: [0], values: [1] } }] },
  ],
  [`POST ${INDEX}/vectors/update`, { setMetadata: { a: 1 } }],
  [`POST ${INDEX}/vectors/update`, { id: 'a', filter: { n: 1 }, setMetadata: { a: 1 } }],
  [`POST ${INDEX}/vectors/delete`, {}],
  [`POST ${INDEX}/vectors/delete`, { ids: ['a'], deleteAll: true }],
  [`POST ${INDEX}/vectors/delete`, { filter: {} }],
  [`POST ${INDEX}/vectors/fetch_by_metadata`, { limit: 0 }],
  [`POST ${INDEX}/describe_index_stats`, { filter: { a: 1 } }],
  [`POST ${INDEX}/namespaces`, {}],
  ['POST /pinecone/indexes', { name: 'x' }],
  ['POST /pinecone/indexes', { name: 'x', dimension: 1, metric: 'l2' }],
  ['POST /pinecone/indexes', { name: 'x', dimension: 1, vector_type: 'sparse' }],
  ['POST /pinecone/indexes', { name: 'x', schema: { fields: {} } }],
  ['POST /pinecone/indexes', { name: 'x', schema: { fields: { a: { type: 'text', dimension: 1 } } } }],
  ['POST /pinecone/indexes', { name: 'x', dimension: 1, source_collection: 'y' }],
  [`PATCH ${INDEX}`, {}],
  [`PATCH ${INDEX}`, { deletion_protection: true }],
])('a request that the service refuses is invalid by the document too: %s %j', async (name, body) => {
  await send('POST', '/pinecone/indexes', service.key, { name: 'refusing', dimension: 1 });
  const [method, path] = name.split(' ');
  expect((await send(method, path.replace('{name}', 'refusing'), service.key, body)).status).toBe(400);
  const { requestBody } = document.json.paths[path][method.toLowerCase()];
  expect(document.faultsOf(requestBody, body)).not.toEqual([]);
});
