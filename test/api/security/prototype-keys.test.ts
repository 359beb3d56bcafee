import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { expectRefusal, hostileRequest } from '../../support/hostile-request.ts';
import { type HostileService, hostileService } from '../../support/hostile-service.ts';

let service: HostileService;
beforeAll(async () => {
  service = await hostileService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
});
afterEach(() => {
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
afterAll(() => service.stop());

const KEYS = [
  '"__proto__":{"polluted":1}',
  '"\\u005f_proto__":{"polluted":1}',
  '"__pr\\u006fto__" : {"polluted":1}',
  '"__proto__":null',
];
const PLACES: [string, string, (key: string) => string][] = [
  ['the body of an upsert', '/collections/demo/upsert', (key) => `{"records":[],${key}}`],
  ['a record', '/collections/demo/upsert', (key) => `{"records":[{"id":"a","values":[1,2],${key}}]}`],
  ['metadata', '/collections/demo/upsert', (key) => `{"records":[{"id":"a","values":[1,2],"metadata":{${key}}}]}`],
  [
    'nested metadata',
    '/collections/demo/upsert',
    (key) => `{"records":[{"id":"a","values":[1,2],"metadata":{"list":[{"deep":{${key}}}]}}]}`,
  ],
  [
    'a body parsed in a thread',
    '/collections/demo/upsert',
    (key) => `{"records":[{"id":"a","values":[1,2],${key}}]${' '.repeat(300_000)}}`,
  ],
  ['a query', '/collections/demo/query', (key) => `{"vector":[1,2],${key}}`],
  ['a filter', '/collections/demo/query', (key) => `{"vector":[1,2],"filter":{"$and":[{${key}}]}}`],
  ['a new collection', '/collections', (key) => `{"name":"new","dimensions":2,${key}}`],
  ['a new key', '/keys', (key) => `{"name":"new",${key}}`],
];

describe.each(PLACES)('in %s', (_, path, bodyWith) => {
  test.each(KEYS)('%s is refused', async (key) => {
    expectRefusal(await hostileRequest(service, 'POST', path, bodyWith(key)), 'INVALID_JSON');
  });
});

test('nothing was written', async () => {
  const { body } = await service.api('GET', '/collections');
  expect(body).toMatchObject({ collections: [{ name: 'demo', vector_count: 0 }] });
});

test.each([
  '{"constructor":{"prototype":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"list":[{"constructor":{"prototype":{"polluted":1,"constructor":{"prototype":{}}}}}]}',
  '{"prototype":{"constructor":{"prototype":{"polluted":1}}}}',
])('metadata %s is ordinary data, found and returned as sent, even through a thread', async (text) => {
  const metadata = JSON.parse(text) as Record<string, unknown>;
  for (const pad of ['', ' '.repeat(300_000)]) {
    const id = `b${pad.length}`;
    const body = `{"records":[{"id":"${id}","values":[1,2],"metadata":${text}}]${pad}}`;
    expect(await hostileRequest(service, 'POST', '/collections/demo/upsert', body)).toMatchObject({
      status: 200,
    });
    const fetched = await service.api('POST', '/collections/demo/fetch', { ids: [id] });
    expect(fetched.body).toEqual({ vectors: { [id]: { id, values: [1, 2], metadata } } });
    const field = Object.keys(metadata)[0]!;
    const query = { vector: [1, 2], filter: { [field]: { $exists: true } } };
    const { body: found } = await service.api<{ matches: { id: string; metadata: object }[] }>(
      'POST',
      '/collections/demo/query',
      query,
    );
    expect(found.matches.find((match) => match.id === id)?.metadata).toEqual(metadata);
    await service.api('POST', '/collections/demo/delete', { ids: [id] });
  }
});

test.each([
  ['/collections/demo/upsert', '{"records":[],"constructor":{"prototype":{"polluted":1}}}', 'INVALID_ARGUMENT'],
  ['/collections', '{"name":"new","dimensions":2,"constructor":{"prototype":{"polluted":1}}}', 'INVALID_ARGUMENT'],
  ['/keys', '{"name":"new","constructor":{"prototype":{"polluted":1}}}', 'INVALID_ARGUMENT'],
  [
    '/collections/demo/query',
    '{"vector":[1,2],"filter":{"constructor":{"prototype":{"polluted":1}}}}',
    'INVALID_FILTER',
  ],
] as const)('%s refuses a constructor like any unknown field', async (path, body, code) => {
  expectRefusal(await hostileRequest(service, 'POST', path, body), code);
});

test('similar names are ordinary data', async () => {
  const metadata = { constructor: 'x', prototype: [1], toString: null, hasOwnProperty: { valueOf: 1 }, __proto: 1 };
  const records = [{ id: 'a', values: [1, 2], metadata }];
  expect(await service.api('POST', '/collections/demo/upsert', { records })).toMatchObject({ status: 200 });
  const fetched = await service.api('POST', '/collections/demo/fetch', { ids: ['a'] });
  expect(fetched.body).toEqual({ vectors: { a: { id: 'a', values: [1, 2], metadata } } });
  for (const [field, count] of [
    ['constructor', 1],
    ['toString', 1],
    ['valueOf', 0],
    ['isPrototypeOf', 0],
    ['constructor.name', 0],
    ['__proto__.polluted', 0],
  ] as const) {
    const filter = { [field]: { $exists: true } };
    const { body } = await service.api<{ matches: object[] }>('POST', '/collections/demo/query', {
      vector: [1, 2],
      filter,
    });
    expect({ field, found: body.matches.length }).toEqual({ field, found: count });
  }
});
