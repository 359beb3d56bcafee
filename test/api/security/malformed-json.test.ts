import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ErrorCode } from '../../../lib/errors.ts';
import { expectRefusal, hostileRequest } from '../../support/hostile-request.ts';
import { type HostileService, hostileService } from '../../support/hostile-service.ts';

const UPSERT = '/collections/demo/upsert';
const QUERY = '/collections/demo/query';
/** Large enough to be parsed in a worker thread. */
const PADDING = ' '.repeat(300_000);
const LONE = '\\ud800';

let service: HostileService;
beforeAll(async () => {
  service = await hostileService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
  const records = [{ id: 'kept', values: [1, 1], metadata: { n: 1 } }];
  await service.api('POST', UPSERT, { records });
});
afterAll(() => service.stop());

const record = (fields: string) => `{"records":[{${fields}}]}`;
const withMetadata = (metadata: string) => record(`"id":"a","values":[1,2],"metadata":${metadata}`);
const withValues = (values: string) => record(`"id":"a","values":${values}`);
const query = (fields: string) => `{"vector":[1,2],${fields}}`;
const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);

const CASES: [string, string, string | Buffer, ErrorCode][] = [
  ['no body', UPSERT, '', 'INVALID_JSON'],
  ['not JSON', UPSERT, 'records=1', 'INVALID_JSON'],
  ['cut off', UPSERT, '{"records":[', 'INVALID_JSON'],
  ['a second value after it', UPSERT, '{"records":[]}{}', 'INVALID_JSON'],
  ['a list', UPSERT, '[]', 'INVALID_JSON'],
  ['null', UPSERT, 'null', 'INVALID_JSON'],
  ['a string', UPSERT, '"records"', 'INVALID_JSON'],
  ['UTF-16', UPSERT, Buffer.from('{"records":[]}', 'utf16le'), 'INVALID_JSON'],
  ['not UTF-8', UPSERT, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'INVALID_JSON'],
  ['a surrogate in UTF-8', UPSERT, Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]), 'INVALID_JSON'],
  ['10,000 levels of lists', UPSERT, `{"records":${deep(10_000, '[', ']')}}`, 'INVALID_JSON'],
  ['10,000 levels of objects', UPSERT, withMetadata(deep(10_000, '{"a":', '}').replace(':}', ':1}')), 'INVALID_JSON'],
  ['a million levels that never end', UPSERT, '['.repeat(1_000_000), 'INVALID_JSON'],
  ['33 levels of metadata', UPSERT, withMetadata(`{"a":${deep(32, '[', ']')}}`), 'INVALID_ARGUMENT'],
  ['1e400 as a value', UPSERT, withValues('[1e400,1]'), 'INVALID_ARGUMENT'],
  ['-1e400 as a value', UPSERT, withValues('[1,-1e400]'), 'INVALID_ARGUMENT'],
  ['1e39 as a value', UPSERT, withValues('[1e39,1]'), 'INVALID_ARGUMENT'],
  ['1e400 in metadata', UPSERT, withMetadata('{"a":[1e400]}'), 'INVALID_ARGUMENT'],
  ['1e400 in a query', QUERY, '{"vector":[1e400,1]}', 'INVALID_ARGUMENT'],
  ['1e400 in a filter', QUERY, query('"filter":{"a":1e400}'), 'INVALID_FILTER'],
  ['1e400 in a comparison', QUERY, query('"filter":{"a":{"$gt":1e400}}'), 'INVALID_FILTER'],
  ['1e400 as topK', QUERY, query('"topK":1e400'), 'INVALID_ARGUMENT'],
  ['1e400 as threshold', QUERY, query('"scoreThreshold":1e400'), 'INVALID_ARGUMENT'],
  ['1e400 as dimensions', '/collections', '{"name":"new","dimensions":1e400}', 'INVALID_ARGUMENT'],
  ['NaN', UPSERT, withValues('[NaN,1]'), 'INVALID_JSON'],
  ['Infinity', UPSERT, withValues('[Infinity,1]'), 'INVALID_JSON'],
  ['"NaN"', UPSERT, withValues('["NaN",1]'), 'INVALID_ARGUMENT'],
  ['a number as text', UPSERT, withValues('["1",1]'), 'INVALID_ARGUMENT'],
  ['null as a value', UPSERT, withValues('[null,1]'), 'INVALID_ARGUMENT'],
  ['a list as a value', UPSERT, withValues('[[1],1]'), 'INVALID_ARGUMENT'],
  ['an object as values', UPSERT, withValues('{"0":1,"1":1,"length":2}'), 'INVALID_ARGUMENT'],
  ['a string as values', UPSERT, withValues('"12"'), 'INVALID_ARGUMENT'],
  ['a list as metadata', UPSERT, withMetadata('[]'), 'INVALID_ARGUMENT'],
  ['null as metadata', UPSERT, withMetadata('null'), 'INVALID_ARGUMENT'],
  ['records as an object', UPSERT, '{"records":{"length":1,"0":{}}}', 'INVALID_ARGUMENT'],
  ['a lone surrogate in an id', UPSERT, record(`"id":"${LONE}","values":[1,2]`), 'INVALID_ARGUMENT'],
  ['a lone surrogate in a key of metadata', UPSERT, withMetadata(`{"a":{"${LONE}":1}}`), 'INVALID_ARGUMENT'],
  ['a lone surrogate in metadata', UPSERT, withMetadata(`{"a":["x${LONE}"]}`), 'INVALID_ARGUMENT'],
  ['a lone surrogate in ids', '/collections/demo/fetch', `{"ids":["${LONE}"]}`, 'INVALID_ARGUMENT'],
  ['a lone surrogate in ids to delete', '/collections/demo/delete', `{"ids":["a","${LONE}b"]}`, 'INVALID_ARGUMENT'],
  ['a lone surrogate as id of a query', QUERY, `{"id":"${LONE}"}`, 'INVALID_ARGUMENT'],
  ['a lone surrogate in a name', '/collections', `{"name":"a${LONE}","dimensions":2}`, 'INVALID_ARGUMENT'],
  ['a lone surrogate in the name of a key', '/keys', `{"name":"a${LONE}"}`, 'INVALID_ARGUMENT'],
  ['a lone surrogate as a field', UPSERT, `{"${LONE}":1}`, 'INVALID_ARGUMENT'],
  ['a lone surrogate as an operator', QUERY, query(`"filter":{"a":{"$${LONE}":1}}`), 'INVALID_FILTER'],
  ['a field twice', '/collections/demo/fetch', '{"ids":["absent"],"ids":["kept"]}', 'INVALID_JSON'],
  ['a vector twice', QUERY, '{"vector":[1,2],"vector":[2,1]}', 'INVALID_JSON'],
  ['a condition twice', QUERY, query('"filter":{"n":{"$gte":2},"n":{"$lt":3}}'), 'INVALID_JSON'],
  ['a condition twice, once in escapes', QUERY, query('"filter":{"n":1,"\\u006e":2}'), 'INVALID_JSON'],
  ['a filter of a delete twice', '/collections/demo/delete', '{"filter":{"n":9},"filter":{"n":1}}', 'INVALID_JSON'],
  ['an id twice', UPSERT, record('"id":"a","id":"b","values":[1,2]'), 'INVALID_JSON'],
  ['values twice', UPSERT, record('"id":"a","values":[1,2],"values":[2,1]'), 'INVALID_JSON'],
  ['a name in metadata twice', UPSERT, withMetadata('{"a":[{"b":1,"b":1}]}'), 'INVALID_JSON'],
];

describe.each([
  ['parsed at once', ''],
  ['parsed in a thread', PADDING],
])('%s', (_, padding) => {
  const inThread = CASES.filter(([, path]) => path.startsWith('/collections/'));

  test.each(padding === '' ? CASES : inThread)('%s', async (_, path, body, code) => {
    const sent = Buffer.concat([Buffer.from(body), Buffer.from(padding)]);
    const refusal = expectRefusal(await hostileRequest(service, 'POST', path, sent), code);
    expect(JSON.stringify(refusal).isWellFormed()).toBe(true);
  });
});

test('a lone surrogate in a filter matches no record', async () => {
  for (const filter of [`{"n":"${LONE}"}`, `{"${LONE}":1}`, `{"n":{"$in":["${LONE}"]}}`]) {
    const { status, text } = await hostileRequest(service, 'POST', QUERY, query(`"filter":${filter}`));
    if (status === 200) expect(JSON.parse(text)).toMatchObject({ matches: [] });
    else expect({ status, code: JSON.parse(text).code }).toEqual({ status: 400, code: 'INVALID_FILTER' });
  }
});

test('skips a byte order mark', async () => {
  const body = '\ufeff{"ids":["kept"]}';
  const { status, text } = await hostileRequest(service, 'POST', '/collections/demo/fetch', body);
  expect({ status, body: JSON.parse(text) }).toMatchObject({
    status: 200,
    body: { vectors: { kept: { id: 'kept' } } },
  });
});

test('none of this was written, and the service is healthy', async () => {
  const { body } = await service.api('GET', '/collections');
  expect(body).toMatchObject({ collections: [{ name: 'demo', vector_count: 1 }] });
});
