/**
 * Integers that no double represents are stored as the nearest double, and the response warns of
 * it.
 */
import { beforeAll, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

interface Warned {
  warnings?: string[];
  results?: Warned[];
}

const PATH = '/collections/rounded';
let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'rounded', dimensions: 2 });
});

/** Sends JSON as text, because JavaScript would round the numbers first. */
async function send(operation: string, text: string): Promise<Warned> {
  const type = operation === 'import' ? 'application/x-ndjson' : 'application/json';
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': type };
  const url = `${service.url}/api/v1${PATH}/${operation}`;
  const response = await fetch(url, { method: 'POST', headers, body: text });
  expect(response.status).toBe(200);
  return (await response.json()) as Warned;
}
const record = (metadata: string, id = 'a') => `{"id":"${id}","values":[9007199254740993,1],"metadata":${metadata}}`;
const upsert = (metadata: string) => send('upsert', `{"records":[${record(metadata)}]}`);
const told = (written: string, read: string) => [
  `Provec reads ${written} as ${read}: numbers are IEEE 754 doubles, which hold every integer only up to 2^53. ` +
    'Send it as a string to keep its digits.',
];

test.each([
  ['{"n":9007199254740993}', '9007199254740993', '9007199254740992'],
  ['{"a":[{"n":-9007199254740993}],"m":9007199254740995}', '-9007199254740993', '-9007199254740992'],
  ['{"n":1234567890123456789012345}', '1234567890123456789012345', '1234567890123456824475648'],
  ['{"n":123456789012345680000}', '123456789012345680000', '123456789012345683968'],
  ['{"n":-123456789012345680000000}', '-123456789012345680000000', '-123456789012345685803008'],
  [`{"n":9007199254740992,"m":${'9'.repeat(300)}}`, `${'9'.repeat(40)}...`, '1e+300'],
])('an upsert of %s warns that %s is stored as %s', async (metadata, written, read) => {
  expect((await upsert(metadata)).warnings).toEqual(told(written, read));
});

test.each([
  '{"n":9007199254740991,"m":9007199254740992,"e":-9007199254740994}',
  '{"n":10000000000000000000000,"f":1234567890.12345678901234567890,"e":9007199254740993e0}',
  '{"text":"9007199254740993","9007199254740993":1,"escaped\\\\\\"9007199254740993":2}',
])('an upsert of %s does not warn, not even about its vector', async (metadata) => {
  expect(await upsert(metadata)).not.toHaveProperty('warnings');
});

test('refuses an integer that no double can hold', async () => {
  for (const digits of [309, 400]) {
    const body = `{"records":[${record(`{"n":${'9'.repeat(digits)}}`)}]}`;
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const response = await fetch(`${service.url}/api/v1${PATH}/upsert`, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { details: [{ path: 'records[0].metadata.n' }] },
    ]);
  }
});

test('every other operation with numbers warns too, and an import of many lines warns once', async () => {
  const warnings = told('9007199254740993', '9007199254740992');
  await upsert('{"n":9007199254740992}');
  const filter = '{"n":9007199254740993}';
  const id = '"vector":[1,0]';
  expect(await send('query', `{${id},"filter":${filter}}`)).toMatchObject({ matches: [{ id: 'a' }], warnings });
  expect(await send('count', `{"filter":${filter}}`)).toMatchObject({ count: 1, warnings });
  expect(await send('facets', `{"field":"n","filter":${filter}}`)).toMatchObject({ warnings });
  expect(await send('list', `{"filter":${filter}}`)).toMatchObject({ warnings });
  const { results } = await send('queries', `{"queries":[{${id}},{${id},"filter":${filter}}]}`);
  expect(results!.map((each) => each.warnings)).toEqual([undefined, warnings]);
  expect(await send('update', `{"updates":[{"id":"a","setMetadata":${filter}}]}`)).toMatchObject({ warnings });
  expect(await send('delete', `{"filter":${filter}}`)).toMatchObject({ deletedCount: 1, warnings });
  const lines = Array.from({ length: 1_500 }, (_, at) => record(at < 1_200 ? '{"n":1}' : filter, `r${at}`));
  expect(await send('import', lines.join('\n'))).toMatchObject({ importedCount: 1_500, warnings });
  expect(await send('import', lines.slice(0, 10).join('\n'))).not.toHaveProperty('warnings');
});

test('a name that begins with $ is stored and returned, and no filter can use it', async () => {
  const metadata = { $price: 5, cost: { $price: 5 } };
  await upsert(JSON.stringify(metadata));
  expect(await send('fetch', '{"ids":["a"]}')).toMatchObject({ vectors: { a: { metadata } } });
  const refused = await service.api<{ code: string }>('POST', `${PATH}/count`, { filter: { $price: 5 } });
  expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_FILTER']);
  expect(await send('count', '{"filter":{"cost.$price":5}}')).toEqual({ count: 1 });
  expect(await send('facets', '{"field":"$price","filter":{"cost.$price":5}}')).toEqual({
    values: [{ value: 5, count: 1 }],
    missing: 0,
  });
});
