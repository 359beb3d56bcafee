import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { outOfCapacity } from '../../../../lib/admission/out-of-capacity.ts';
import { ProvecError, unknownCollection } from '../../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { retriedCalls } from '../../../../mixins/retried-calls.ts';
import { StoreError } from '../../../../store/port.ts';
import { ADMIN_TOKEN, type Edge, KEY, READ_KEY, startEdge, until } from './harness.ts';

const V1 = '/api/v1';
const thrower = (error: unknown) => () => {
  throw error;
};

describe('errors of the gateway itself', () => {
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge({ env: { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN } });
  });
  afterAll(() => edge.stop());

  test.each([
    ['POST', '/collections', '{"name":', 400, 'INVALID_JSON'],
    ['POST', '/collections', '', 400, 'INVALID_JSON'],
    ['POST', '/collections', '[]', 400, 'INVALID_JSON'],
    ['POST', '/collections', 'null', 400, 'INVALID_JSON'],
    ['POST', '/collections/docs/query', '{"vector":[NaN,1,2]}', 400, 'INVALID_JSON'],
    ['POST', '/collections', '{"name":"x","dimension":3}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"id":"a"}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"topK":0}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"topK":10001}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"topK":1.5}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"exact":1}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"scoreThreshold":"x"}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[0,0,0]}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/query', '{"vector":[1,2]}', 400, 'DIMENSION_MISMATCH'],
    ['POST', '/collections/docs/upsert', '{"records":[{"id":"a","values":[1]}]}', 400, 'DIMENSION_MISMATCH'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"filter":{"a":{"$gte_":1}}}', 400, 'INVALID_FILTER'],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3],"filter":[]}', 400, 'INVALID_FILTER'],
    ['POST', '/collections/docs/fetch', '{"ids":[]}', 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/docs/delete', '{"id":"a"}', 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections/docs/proof', undefined, 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections/docs/proof?id=', undefined, 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections/docs/proof?id=a&id=b', undefined, 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections/docs/proof?id=%ff', undefined, 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections/docs/anchors?limit=0', undefined, 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections/docs/anchors?limit=1001', undefined, 400, 'INVALID_ARGUMENT'],
    ['GET', '/collections?page=2', undefined, 400, 'INVALID_ARGUMENT'],
    ['POST', '/collections/none/query', '{}', 404, 'COLLECTION_NOT_FOUND'],
    ['POST', '/collections/..%2Fdocs/query', '{}', 404, 'COLLECTION_NOT_FOUND'],
    ['POST', '/collections/%FF/query', '{}', 404, 'COLLECTION_NOT_FOUND'],
    ['POST', '/collections/__proto__/upsert', '{}', 404, 'COLLECTION_NOT_FOUND'],
    ['GET', `/collections/${'a'.repeat(65)}`, undefined, 404, 'COLLECTION_NOT_FOUND'],
    ['DELETE', '/collections/%00', undefined, 404, 'COLLECTION_NOT_FOUND'],
    ['DELETE', '/keys/..%2f', undefined, 404, 'KEY_NOT_FOUND'],
    ['GET', '/nowhere', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['GET', '/Collections', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['GET', '/collections/docs/query/more', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['POST', '/collections//query', '{}', 404, 'ROUTE_NOT_FOUND'],
    ['GET', '/collections.list', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['GET', '/~node/list', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['PUT', '/collections/docs', '{}', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/collections/docs/upsert', undefined, 405, 'METHOD_NOT_ALLOWED'],
  ])('%s %s %s -> %i %s', async (method, path, body, status, code) => {
    const reply = await edge.request(method, V1 + path, body);
    expect(reply.json).toMatchObject({ code, status, requestId: reply.headers.get('x-request-id') });
    expect(reply.status).toBe(status);
    expect(typeof reply.json.error).toBe('string');
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    for (const key of Object.keys(reply.json)) {
      expect(['error', 'code', 'status', 'requestId', 'details']).toContain(key);
    }
  });

  test('suggests a name for a misspelt field', async () => {
    const reply = await edge.request('POST', `${V1}/collections/docs/query`, { vector: [1, 2, 3], filtre: {} });
    expect(reply.json.error).toContain('filtre is not a field of this operation; did you mean filter?');
    expect(reply.json.details).toMatchObject([{ path: 'filtre' }]);
  });

  test.each([
    ['?limit=0', 'limit must be a whole number from 1 to 1000, but is 0.'],
    ['?limit=ten', 'limit must be a whole number from 1 to 1000, but is ten.'],
    ['?limit=', 'limit must be a whole number from 1 to 1000, but is an empty string.'],
    ['?limit=%1b%5b31m', 'limit must be a whole number from 1 to 1000, but is a string of 5 characters.'],
  ])('shows a parameter if it is short and printable: %s', async (search, error) => {
    expect((await edge.request('GET', `${V1}/collections/docs/anchors${search}`)).json).toMatchObject({ error });
  });

  test('refuses 1e400 by its path, as INVALID_ARGUMENT', async () => {
    const reply = await edge.request(
      'POST',
      `${V1}/collections/docs/upsert`,
      '{"records":[{"id":"a","values":[1,2,1e400]}]}',
    );
    expect(reply.json).toMatchObject({ code: 'INVALID_ARGUMENT', details: [{ path: 'records[0].values[2]' }] });
  });

  test('405 names the methods of the path', async () => {
    const reply = await edge.request('PUT', `${V1}/collections/docs`, {});
    expect(reply.headers.get('allow')).toBe('GET, PATCH, DELETE, HEAD, OPTIONS');
  });

  const send = 'send "Authorization: Bearer <API key>".';
  const malformed = `The Authorization header has another form; ${send}`;
  const rejected = 'The API key is unknown, revoked or expired.';
  test.each([
    ['no header', {}, `The request has no API key; ${send}`],
    ['a header of other services', { 'api-key': KEY }, `Provec does not read the header api-key; ${send}`],
    ['another scheme', { authorization: 'Basic abc' }, malformed],
    ['a key without its scheme', { authorization: KEY }, malformed],
    ['no key', { authorization: 'Bearer ' }, malformed],
    ['a key with blanks', { authorization: 'Bearer a b' }, malformed],
    ['a key that is too long', { authorization: `Bearer ${'x'.repeat(513)}` }, malformed],
    ['an unknown key', { authorization: 'Bearer pv_live_unknown' }, rejected],
    [
      "the operator's token",
      { authorization: `Bearer ${ADMIN_TOKEN}` },
      "This is the operator's token, which is valid only for /admin; send an API key.",
    ],
  ])('%s: a 401 that says so', async (_, headers, error) => {
    const response = await fetch(`http://127.0.0.1:${edge.port}${V1}/usage`, {
      headers: { 'x-request-id': 'same', ...headers },
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.json()).toEqual({ error, code: 'UNAUTHENTICATED', status: 401, requestId: 'same' });
  });

  test.each([
    ['no token', {}, `The request has no operator's token; send "Authorization: Bearer <operator's token>".`],
    [
      'an API key',
      { authorization: `Bearer ${KEY}` },
      "This is not the operator's token (PROVEC_ADMIN_TOKEN); API keys are not valid for /admin.",
    ],
  ])('an operator route with %s: a 401 that says so', async (_, headers, error) => {
    const response = await fetch(`http://127.0.0.1:${edge.port}${V1}/admin/accounts`, { headers });
    expect([response.status, await response.json()]).toEqual([401, expect.objectContaining({ error })]);
  });

  test('the scheme is case-insensitive', async () => {
    expect((await edge.request('GET', `${V1}/usage`, undefined, { authorization: `bEARER ${KEY}` })).status).toBe(200);
  });

  test.each([
    ['GET', '/collections', undefined, 200],
    ['GET', '/usage', undefined, 200],
    ['POST', '/collections/docs/query', '{"vector":[1,2,3]}', 200],
    ['POST', '/collections/docs/fetch', '{"ids":["a"]}', 200],
    ['GET', '/collections/docs/verify', undefined, 200],
    ['GET', '/collections/docs/proof?id=a', undefined, 200],
    ['GET', '/collections/docs/anchors', undefined, 200],
    ['POST', '/collections/docs/upsert', '{}', 403],
    ['POST', '/collections/docs/delete', '{}', 403],
    ['POST', '/collections', '{}', 403],
    ['DELETE', '/collections/docs', undefined, 403],
    ['GET', '/keys', undefined, 403],
    ['POST', '/keys', '{}', 403],
    ['DELETE', '/keys/k1', undefined, 403],
  ])('a read-only key: %s %s -> %i', async (method, path, body, status) => {
    const reply = await edge.request(method, V1 + path, body, { authorization: `Bearer ${READ_KEY}` });
    expect(reply.status).toBe(status);
    if (status === 403) expect(reply.json.code).toBe('FORBIDDEN');
  });

  test('checks come in order: route, key, scope, collection, media type, body', async () => {
    const anonymous = { authorization: 'Bearer wrong', 'content-type': 'text/plain' };
    const reader = { authorization: `Bearer ${READ_KEY}`, 'content-type': 'text/plain' };
    const writer = { 'content-type': 'text/plain' };
    const codeOf = async (path: string, headers: Record<string, string>) =>
      (await edge.request('POST', V1 + path, 'not json', headers)).json.code;
    expect(await codeOf('/collections/none/nothing', anonymous)).toBe('ROUTE_NOT_FOUND');
    expect(await codeOf('/collections/none/upsert', anonymous)).toBe('UNAUTHENTICATED');
    expect(await codeOf('/collections/none/upsert', reader)).toBe('FORBIDDEN');
    expect(await codeOf('/collections/none/upsert', writer)).toBe('COLLECTION_NOT_FOUND');
    expect(await codeOf('/collections/docs/upsert', writer)).toBe('UNSUPPORTED_MEDIA_TYPE');
    expect(await codeOf('/collections/docs/upsert', { 'content-type': 'application/json' })).toBe('INVALID_JSON');
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['application/json; charset=latin1'],
    ['application/json; charset=utf-16'],
    ['application/jsonp'],
  ])('415 for %s', async (type) => {
    const reply = await edge.request('POST', `${V1}/keys`, '{"name":"x"}', { 'content-type': type });
    expect(reply.json).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 });
  });

  test('415 for a body that is compressed in another way', async () => {
    const reply = await edge.request('POST', `${V1}/keys`, '{"name":"x"}', { 'content-encoding': 'br' });
    expect(reply.status).toBe(415);
  });

  test.each([['application/json'], ['Application/JSON; Charset="UTF-8"'], ['application/json;charset=utf8']])(
    'accepts %s',
    async (type) => {
      expect((await edge.request('POST', `${V1}/keys`, '{"name":"x"}', { 'content-type': type })).status).toBe(201);
    },
  );

  test('only the operator may, with one token compared completely', async () => {
    const as = (token: string) =>
      edge.request('GET', `${V1}/admin/accounts`, undefined, { authorization: `Bearer ${token}` });
    expect((await as(ADMIN_TOKEN)).json).toEqual({ accounts: [] });
    expect((await as(KEY)).status).toBe(401);
    expect((await as(ADMIN_TOKEN.slice(0, -1))).status).toBe(401);
    expect((await as(`${ADMIN_TOKEN}x`)).status).toBe(401);
    const operator = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const created = await edge.request('POST', `${V1}/admin/accounts`, { name: 'n', plan: 'free' }, operator);
    expect([created.status, created.json]).toEqual([201, { account: { name: 'n', plan: 'free' }, key: {} }]);
    const changed = await edge.request('PATCH', `${V1}/admin/accounts/a1`, { plan: 'pro' }, operator);
    expect(changed.json).toEqual({ account: { plan: 'pro', id: 'a1' } });
    expect((await edge.request('DELETE', `${V1}/admin/accounts/a1`, undefined, operator)).json).toEqual({
      deleted: true,
    });
    const absent = await edge.request('DELETE', `${V1}/admin/accounts/%20`, undefined, operator);
    expect(absent.json.code).toBe('ACCOUNT_NOT_FOUND');
  });
});

test('without an operator token its routes do not exist', async () => {
  const edge = await startEdge();
  try {
    for (const authorization of [`Bearer ${KEY}`, 'Bearer null', 'Bearer ']) {
      const reply = await edge.request('GET', `${V1}/admin/accounts`, undefined, { authorization });
      expect(reply.json.code).toBe('ROUTE_NOT_FOUND');
    }
  } finally {
    await edge.stop();
  }
});

test('429 RATE_LIMITED per key, with Retry-After', async () => {
  const edge = await startEdge({ env: { PROVEC_RATE_LIMIT_PER_SECOND: '2' } });
  try {
    const replies = await Promise.all(Array.from({ length: 8 }, () => edge.request('GET', `${V1}/usage`)));
    const refused = replies.filter((reply) => reply.status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(4);
    expect(refused[0]!.json).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 1 });
    expect(refused[0]!.headers.get('retry-after')).toBe('1');
    const other = await edge.request('GET', `${V1}/usage`, undefined, { authorization: `Bearer ${READ_KEY}` });
    expect(other.status).toBe(200);
  } finally {
    await edge.stop();
  }
});

describe('errors that actions throw', () => {
  const secretText = 'node-7 at /srv/provec/shard.ts holds "private words"';
  const cases: [string, unknown, number, string, number | undefined][] = [
    ['PLAN_LIMIT_REACHED', new ProvecError('PLAN_LIMIT_REACHED', 'Full.'), 429, 'PLAN_LIMIT_REACHED', undefined],
    [
      'UNAVAILABLE for a while',
      new ProvecError('UNAVAILABLE', 'Full.', { retryAfterSeconds: 77.2 }),
      503,
      'UNAVAILABLE',
      78,
    ],
    ['UNAVAILABLE', new ProvecError('UNAVAILABLE', 'Moving.'), 503, 'UNAVAILABLE', 1],
    ['LAST_KEY', new ProvecError('LAST_KEY', 'Last.'), 409, 'LAST_KEY', undefined],
    ['store out of reach', new StoreError('unavailable', secretText), 503, 'UNAVAILABLE', 1],
    ['store closed', new StoreError('closed', secretText), 503, 'UNAVAILABLE', 1],
    ['outcome unknown', new StoreError('unknown', secretText), 503, 'UNAVAILABLE', 1],
    ['disk full', new StoreError('capacity', secretText), 507, 'OUT_OF_CAPACITY', undefined],
    ['damaged', new StoreError('damaged', secretText), 500, 'INTERNAL', undefined],
    ['changed', new StoreError('changed', 'log.db has the view v.'), 503, 'UNAVAILABLE', 1],
    ['a bug', new TypeError(secretText), 500, 'INTERNAL', undefined],
    ['not even an error', secretText, 500, 'INTERNAL', undefined],
    ["Moleculer's time-out", new Errors.RequestTimeoutError({ action: 'x', nodeID: 'node-7' }), 503, 'UNAVAILABLE', 1],
    [
      "Moleculer's full queue",
      new Errors.QueueIsFullError({ action: 'x', nodeID: 'node-7' } as never),
      503,
      'UNAVAILABLE',
      1,
    ],
    [
      "Moleculer's validation",
      new Errors.ValidationError(secretText, 'X', [{ field: 'accountId' }]),
      500,
      'INTERNAL',
      undefined,
    ],
  ];

  test.each(cases)('%s', async (_, error, status, code, retryAfterSeconds) => {
    const edge = await startEdge({ actions: { 'metering.usage': thrower(error) } });
    try {
      const reply = await edge.request('GET', `${V1}/usage`);
      expect([reply.status, reply.json.code]).toEqual([status, code]);
      expect(reply.json.retryAfterSeconds).toBe(retryAfterSeconds);
      expect(reply.headers.get('retry-after')).toBe(retryAfterSeconds === undefined ? null : String(retryAfterSeconds));
      expect(reply.text).not.toMatch(/node-7|srv|private|node-of-the-tests|\.ts|stack/);
      if (code === 'PLAN_LIMIT_REACHED') {
        expect(reply.json.pricingUrl).toBe('https://provec.dev/pricing');
        expect(reply.json.error).toContain('https://provec.dev/pricing');
      }
      if (code === 'OUT_OF_CAPACITY') expect(reply.json.error).toBe(outOfCapacity({ of: 'disk' }).message);
      if (code === 'INTERNAL') {
        expect(reply.json.statusUrl).toBe('https://provec.dev/status');
        expect(reply.json.error).toContain('https://provec.dev/status');
        const logged = edge.log.find((line) => line.includes('request failed'))!;
        expect(logged).toContain(String(reply.json.requestId));
      }
    } finally {
      await edge.stop();
    }
  });

  test('requests that fail for one cause are one line a second, with their number', async () => {
    const away = new Errors.RequestRejectedError({ action: 'metering.usage', nodeID: 'node-7' });
    const edge = await startEdge({ actions: { 'metering.usage': thrower(away) } });
    try {
      for (let i = 0; i < 20; i++) expect((await edge.request('GET', `${V1}/usage`)).status).toBe(503);
    } finally {
      await edge.stop();
    }
    const lines = edge.log.filter((line) => line.includes('request failed'));
    const counts = lines.map((line) => (JSON.parse(line) as { repeated?: number }).repeated ?? 1);
    expect(counts.reduce((sum, count) => sum + count)).toBe(20);
    expect(lines.length).toBeLessThan(20);
  });

  test('only a key with the scope read gets a similar name for an unknown collection', async () => {
    let scopes = ['write', 'manage'];
    const edge = await startEdge({
      actions: {
        'keys.authenticate': () => ({ accountId: 'a1', keyId: 'k1', scopes }),
        'collections.resolve': thrower(unknownCollection('dosc')),
        'collections.remove': thrower(unknownCollection('dosc')),
        'collections.putAlias': thrower(unknownCollection('dosc')),
        'collections.nearestName': ({ accountId, name }) => (accountId === 'a1' && name === 'dosc' ? 'docs' : null),
      },
    });
    const errors = async () => [
      (await edge.request('POST', `${V1}/collections/dosc/upsert`, '{}')).json.error,
      (await edge.request('DELETE', `${V1}/collections/dosc`)).json.error,
      (await edge.request('PUT', `${V1}/aliases/live`, { collection: 'dosc' })).json.error,
    ];
    try {
      expect(new Set(await errors())).toEqual(new Set(['There is no collection named dosc.']));
      expect(edge.calls.has('collections.nearestName')).toBe(false);
      scopes = ['read', 'write', 'manage'];
      expect(new Set(await errors())).toEqual(new Set(['There is no collection named dosc; did you mean docs?']));
    } finally {
      await edge.stop();
    }
  });

  test('a missing service is 503', async () => {
    const edge = await startEdge({ without: ['metering.usage', 'collections.proof', 'collections.resolve'] });
    try {
      for (const [method, path, body] of [
        ['GET', '/usage', undefined],
        ['GET', '/collections/docs/verify?id=a', undefined],
        ['POST', '/collections/docs/query', '{}'],
      ] as const) {
        const reply = await edge.request(method, V1 + path, body);
        expect([reply.status, reply.json.code]).toEqual([503, 'UNAVAILABLE']);
      }
    } finally {
      await edge.stop();
    }
  });

  test('a request waits for a service that is away and comes back', async () => {
    const edge = await startEdge({ without: ['metering.usage'], broker: { middlewares: [retriedCalls] } });
    try {
      let isAnswered = false;
      const asked = edge.request('GET', `${V1}/usage`).finally(() => {
        isAnswered = true;
      });
      await until(() => edge.calls.has('keys.authenticate') || isAnswered);
      edge.broker.createService({ name: 'metering', actions: { usage: () => ({ month: '2026-11' }) } });
      const { status, json } = await asked;
      expect([status, json.month]).toEqual([200, '2026-11']);
    } finally {
      await edge.stop();
    }
  });
});

test.each([
  { base: V1, path: '/collections/docs/upsert', body: { records: [{ id: 'a', values: [1, 0, 0] }] }, status: 507 },
  {
    base: '/pinecone',
    path: '/indexes/docs/vectors/upsert',
    body: { vectors: [{ id: 'a', values: [1, 0, 0] }] },
    status: 403,
  },
])(
  'a write without room below $base: the log warns, and names its collection',
  async ({ base, path, body, status }) => {
    const full = outOfCapacity({ of: 'memory', leftBytes: 2 ** 21, limitBytes: 2 ** 29 });
    const edge = await startEdge({ actions: { 'collections.upsert': thrower(full) } });
    try {
      const reply = await edge.request('POST', `${base}${path}`, body, { 'Api-Key': KEY });
      expect([reply.status, reply.text.includes('2 MiB left of the 512 MiB of PROVEC_MEMORY_LIMIT_MB')]).toEqual([
        status,
        true,
      ]);
      const isOfIt = (line: string) => line.includes('"msg":"request"') && line.includes('upsert');
      await until(() => edge.log.some(isOfIt));
      expect(JSON.parse(edge.log.find(isOfIt)!)).toMatchObject({
        level: 40,
        status,
        code: 'OUT_OF_CAPACITY',
        collectionId: 'c1',
        account: 'a1',
      });
    } finally {
      await edge.stop();
    }
  },
);

test("429 RATE_LIMITED for the operator's token, which does not affect API keys", async () => {
  const edge = await startEdge({ env: { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN } });
  const list = (token: string) =>
    edge.request('GET', `${V1}/admin/accounts`, undefined, { authorization: `Bearer ${token}` });
  try {
    // Wrong tokens do not count against the limit.
    const many = 6 * INTERNAL_LIMITS.operatorRequestsPerSecond;
    const wrong = await Promise.all(Array.from({ length: 40 }, () => list(`${ADMIN_TOKEN}x`)));
    expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([401]));
    const replies = await Promise.all(Array.from({ length: many }, () => list(ADMIN_TOKEN)));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]!.json).toMatchObject({
      code: 'RATE_LIMITED',
      error: expect.stringContaining("The operator's token may send"),
    });
    expect((await edge.request('GET', `${V1}/usage`)).status).toBe(200);
  } finally {
    await edge.stop();
  }
});
