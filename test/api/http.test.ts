import { beforeAll, describe, expect, test } from '@jest/globals';
import { rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'here', dimensions: 2 });
});

const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string | Uint8Array) =>
  rawRequest(
    service.url,
    method,
    path,
    {
      authorization: `Bearer ${service.key}`,
      ...(body === undefined ? {} : { 'content-length': `${Buffer.byteLength(body)}` }),
      ...headers,
    },
    body,
  );
const V1 = '/api/v1';

describe('X-Request-Id', () => {
  test.each([
    ['GET', '/livez', 200],
    ['GET', '/metrics', 200],
    ['GET', '/', 200],
    ['GET', '/nowhere', 404],
    ['GET', `${V1}/collections`, 200],
    ['OPTIONS', `${V1}/collections`, 204],
    ['HEAD', `${V1}/collections`, 200],
    ['PUT', `${V1}/collections`, 405],
    ['POST', `${V1}/collections`, 400],
  ])('%s %s (%i) has one, its own or the one sent', async (method, path, status) => {
    const own = await send(method, path);
    expect([own.status, own.headers['x-request-id']]).toEqual([status, expect.stringMatching(UUID)]);
    const given = await send(method, path, { 'x-request-id': 'trace:1.a_b-C' });
    expect(given.headers['x-request-id']).toBe('trace:1.a_b-C');
  });

  test.each(['', 'a b', '<x>', 'a'.repeat(129), 'a"b', 'a,b'])('%j is invalid, and replaced', async (given) => {
    const { headers } = await send('GET', '/livez', { 'x-request-id': given });
    expect(headers['x-request-id']).toMatch(UUID);
  });
});

describe('methods', () => {
  test.each<[string, string, string]>([
    ['/collections', 'GET, POST, HEAD, OPTIONS', 'PUT'],
    ['/collections/here', 'GET, PATCH, DELETE, HEAD, OPTIONS', 'POST'],
    ['/collections/here/upsert', 'POST, OPTIONS', 'GET'],
    ['/collections/here/query', 'POST, OPTIONS', 'HEAD'],
    ['/collections/here/fetch', 'POST, OPTIONS', 'DELETE'],
    ['/collections/here/delete', 'POST, OPTIONS', 'DELETE'],
    ['/collections/here/verify', 'GET, HEAD, OPTIONS', 'POST'],
    ['/collections/here/verifications', 'POST, OPTIONS', 'GET'],
    ['/collections/here/verifications/some-id', 'GET, HEAD, OPTIONS', 'DELETE'],
    ['/collections/here/proof', 'GET, HEAD, OPTIONS', 'PATCH'],
    ['/collections/here/anchors', 'GET, HEAD, OPTIONS', 'DELETE'],
    ['/usage', 'GET, HEAD, OPTIONS', 'POST'],
    ['/keys', 'GET, POST, HEAD, OPTIONS', 'DELETE'],
    ['/keys/some-id', 'DELETE, OPTIONS', 'GET'],
    ['/aliases/some', 'GET, PUT, DELETE, HEAD, OPTIONS', 'POST'],
  ])('%s allows %s', async (path, allowed, other) => {
    const refused = await send(other, V1 + path);
    const sorted = (allow: string | undefined) => allow?.split(', ').sort();
    expect([refused.status, sorted(refused.headers.allow)]).toEqual([405, sorted(allowed)]);
    const options = await send('OPTIONS', V1 + path, { authorization: '' });
    expect([options.status, sorted(options.headers.allow), options.text]).toEqual([204, sorted(allowed), '']);
  });

  test.each(['/livez', '/readyz', '/metrics', '/openapi.json', '/'])('%s is read-only', async (path) => {
    expect(await send('POST', path)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } });
  });

  test('HEAD answers like GET without the body', async () => {
    const [head, get] = [await send('HEAD', `${V1}/collections/here`), await send('GET', `${V1}/collections/here`)];
    expect([head.status, head.text, head.headers['content-length']]).toEqual([
      200,
      '',
      `${Buffer.byteLength(get.text)}`,
    ]);
  });

  test.each([
    '/api/v1',
    '/api/v1/',
    '/api/v2/collections',
    '/collections',
    '/api/v1/Collections',
    '/api/v1//collections',
  ])('%s is not a path', async (path) => {
    expect(await send('GET', path)).toMatchObject({ status: 404 });
    expect(await send('OPTIONS', path)).toMatchObject({ status: 404 });
  });
});

describe('media types', () => {
  const fetchIds = (headers: Record<string, string>, body: string | Uint8Array = '{"ids":["a"]}') =>
    send('POST', `${V1}/collections/here/fetch`, headers, body);

  test.each<[string, Record<string, string>]>([
    ['JSON', { 'content-type': 'application/json' }],
    ['JSON in UTF-8', { 'content-type': 'application/json; charset=utf-8' }],
    ['with a parameter of another kind', { 'content-type': 'application/json; profile="x"; charset=utf-8' }],
    ['in capitals', { 'content-type': 'Application/JSON; Charset=UTF-8' }],
    ['none', {}],
    ['no encoding', { 'content-type': 'application/json', 'content-encoding': 'identity' }],
  ])('accepts %s', async (_, headers) => {
    expect(await fetchIds(headers)).toMatchObject({ status: 200, text: '{"vectors":{}}' });
  });

  test.each<[string, Record<string, string>]>([
    ['text', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['JSON in another charset', { 'content-type': 'application/json; charset=latin1' }],
    ['a kind of JSON', { 'content-type': 'application/merge-patch+json' }],
    ['compressed in another way', { 'content-type': 'application/json', 'content-encoding': 'br' }],
  ])('%s gets 415', async (_, headers) => {
    const { status, text } = await fetchIds(headers);
    expect([status, JSON.parse(text).code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  test('bytes that are not UTF-8 get 400', async () => {
    const { status, text } = await fetchIds(
      {},
      Uint8Array.from([...Buffer.from('{"ids":["'), 0xff, ...Buffer.from('"]}')]),
    );
    expect([status, JSON.parse(text).code]).toEqual([400, 'INVALID_JSON']);
  });
});

describe('unknown fields are refused with a suggestion', () => {
  test.each<[string, object, string, string]>([
    ['/collections', { name: 'x', dimension: 3 }, 'dimension', 'dimensions'],
    ['/collections', { name: 'x', dimensions: 3, Metric: 'dot' }, 'Metric', 'metric'],
    [
      '/collections',
      { name: 'x', dimensions: 3, deletion_protection: true },
      'deletion_protection',
      'deletionProtection',
    ],
    ['/collections/here/upsert', { record: [] }, 'record', 'records'],
    ['/collections/here/upsert', { records: [{ id: 'a', value: [1, 2] }] }, 'records[0].value', 'values'],
    ['/collections/here/upsert', { records: [{ id: 'a', values: [1, 2], meta: {} }] }, 'records[0].meta', 'metadata'],
    ['/collections/here/query', { vector: [1, 2], fitler: {} }, 'fitler', 'filter'],
    ['/collections/here/query', { vector: [1, 2], top_k: 3 }, 'top_k', 'topK'],
    ['/collections/here/query', { vector: [1, 2], include_values: true }, 'include_values', 'includeValues'],
    ['/collections/here/fetch', { id: ['a'] }, 'id', 'ids'],
    ['/keys', { name: 'x', scope: ['read'] }, 'scope', 'scopes'],
    ['/keys', { name: 'x', expiresAt: null }, 'expiresAt', 'expires_at'],
  ])('%s %j', async (path, body, named, nearest) => {
    const answer = await service.api<{ error: string }>('POST', path, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT', details: [{ path: named }] } });
    expect(answer.body.error).toContain(`did you mean ${nearest}?`);
  });

  test('suggests nothing that is too different', async () => {
    const { body } = await service.api('POST', '/collections/here/delete', { ids: ['a'], zebra: {} });
    expect(body).toMatchObject({
      error: 'zebra is not a field of this operation; known: ids, filter, all, dryRun, namespace, allNamespaces.',
      details: [
        {
          path: 'zebra',
          expected: 'one of ids, filter, all, dryRun, namespace, allNamespaces',
          got: 'an unknown field',
        },
      ],
    });
  });

  test.each([
    ['/collections?nam=x', 'nam'],
    ['/collections/here?x', 'x'],
    ['/usage?month=1', 'month'],
    ['/collections/here/anchors?limits=3', 'limits'],
  ])('%s', async (path, named) => {
    const answer = await service.api('GET', path);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT', details: [{ path: named }] } });
  });

  test('none of them had any effect', async () => {
    expect((await service.api('GET', '/collections')).body).toMatchObject({
      collections: [{ name: 'here', vector_count: 0 }],
    });
  });
});
