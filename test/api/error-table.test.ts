/** Provokes each error code that a client can cause from outside, and checks the whole response. */
import { beforeAll, expect, test } from '@jest/globals';
import { ERROR_TABLE } from '../../lib/errors.ts';
import { METERED_PRICING_URL } from '../support/lending.ts';
import { type RawAnswer, rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN, createTenant, type Tenant } from '../support/tenant.ts';

/** A tenant that has used up its plan's collections. */
let tenant: Tenant;
let service: SharedService;
beforeAll(async () => {
  service = await shareService('metered');
  tenant = await createTenant(service, 'free');
  for (const name of ['first', 'second']) await tenant.api('POST', '/collections', { name, dimensions: 2 });
  await service.api('POST', '/collections', { name: 'here', dimensions: 2 });
  await service.api('POST', '/collections', { name: 'kept', dimensions: 2, deletionProtection: true });
});

interface Sent {
  method?: string;
  body?: string;
  key?: string | null;
  headers?: Record<string, string>;
}
const send = (path: string, { method = 'GET', body, key = service.key, headers = {} }: Sent): Promise<RawAnswer> =>
  rawRequest(
    service.url,
    method,
    `/api/v1${path}`,
    {
      'x-request-id': 'asked.by-test',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${body.length}` }),
      ...headers,
    },
    body,
  );
const post = (body: string, more: Sent = {}): Sent => ({ method: 'POST', body, ...more });

type Case = [
  code: keyof typeof ERROR_TABLE,
  status: number,
  path: string,
  sent: Sent,
  extras?: object,
  headers?: object,
];
const detail = (path: string) => ({ details: [{ path, expected: expect.any(String), got: expect.any(String) }] });
const NO_KEY = '/keys/00000000-0000-4000-8000-000000000000';
const NO_ACCOUNT = '/admin/accounts/00000000-0000-4000-8000-00000000ffff';

const CASES: Case[] = [
  ['INVALID_JSON', 400, '/collections', post('{"name":'), detail('name')],
  ['INVALID_JSON', 400, '/collections', post('[]')],
  ['INVALID_JSON', 400, '/collections', post('')],
  ['INVALID_JSON', 400, '/collections', post('{"__proto__": {"name": "x"}}')],
  ['INVALID_JSON', 400, '/collections', post(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)],
  ['INVALID_ARGUMENT', 400, '/collections', post('{"name": "x", "dimensions": 0}'), detail('dimensions')],
  ['DIMENSION_MISMATCH', 400, '/collections/here/query', post('{"vector": [1]}'), detail('vector')],
  [
    'INVALID_FILTER',
    400,
    '/collections/here/query',
    post('{"vector": [1, 2], "filter": {"a": {"$x": 1}}}'),
    detail('filter.a.$x'),
  ],
  ['UNAUTHENTICATED', 401, '/usage', { key: null }, {}, { 'www-authenticate': 'Bearer' }],
  ['UNAUTHENTICATED', 401, '/usage', { key: 'pv_live_unknown' }, {}, { 'www-authenticate': 'Bearer' }],
  ['FORBIDDEN', 403, '/collections/kept', { method: 'DELETE' }],
  ['COLLECTION_NOT_FOUND', 404, '/collections/never', {}],
  ['VERIFICATION_NOT_FOUND', 404, '/collections/here/verifications/never', {}],
  ['AUDIT_LINK_NOT_FOUND', 404, '/audit-links/none', { key: null }],
  ['KEY_NOT_FOUND', 404, NO_KEY, { method: 'DELETE' }],
  ['ACCOUNT_NOT_FOUND', 404, NO_ACCOUNT, { method: 'DELETE', key: ADMIN_TOKEN }],
  ['RECORD_NOT_FOUND', 404, '/collections/here/query', post('{"id": "absent"}')],
  ['ROUTE_NOT_FOUND', 404, '/nowhere', {}],
  ['METHOD_NOT_ALLOWED', 405, '/collections', { method: 'PUT' }, {}, { allow: expect.stringContaining('POST') }],
  ['COLLECTION_EXISTS', 409, '/collections', post('{"name": "here", "dimensions": 2}')],
  ['BODY_TOO_LARGE', 413, '/collections/here/upsert', { method: 'POST', headers: { 'content-length': '67108865' } }],
  ['UNSUPPORTED_MEDIA_TYPE', 415, '/collections', post('name: x', { headers: { 'content-type': 'text/yaml' } })],
];

test.each(
  CASES.map(([code, status, path, sent, extras = {}, headers = {}], at) => ({
    at,
    code,
    status,
    path,
    sent,
    extras,
    headers,
  })),
)('$code $status: $path ($at)', async ({ code, status, path, sent, extras, headers }) => {
  const answer = await send(path, sent);
  expect(answer).toMatchObject({
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-request-id': 'asked.by-test',
      ...headers,
    },
  });
  expect(answer.headers).not.toHaveProperty('retry-after');
  expect(JSON.parse(answer.text)).toEqual({
    error: expect.stringMatching(/^\S.{15,}\S$/),
    code,
    status,
    requestId: 'asked.by-test',
    ...extras,
  });
  expect(ERROR_TABLE[code].status).toBe(status);
});

test('LAST_KEY 409', async () => {
  const { body } = await tenant.api('DELETE', `/keys/${tenant.key.id}`);
  expect(body).toEqual({ error: expect.any(String), code: 'LAST_KEY', status: 409, requestId: expect.any(String) });
});

test('PLAN_LIMIT_REACHED 429 names the pricing page, and has no Retry-After', async () => {
  const { body, headers } = await tenant.api('POST', '/collections', { name: 'more', dimensions: 2 });
  expect(body).toEqual({
    error: expect.stringContaining(METERED_PRICING_URL),
    code: 'PLAN_LIMIT_REACHED',
    status: 429,
    requestId: expect.any(String),
    pricingUrl: METERED_PRICING_URL,
  });
  expect(headers.get('retry-after')).toBeNull();
});

test('a 401 does not reveal which keys exist, and repeats nothing that was sent', async () => {
  const { key } = service;
  const failing = (authorization: string) => send('/usage', { key: null, headers: { authorization } });
  const rejected = await Promise.all([`${key}x`, 'x', 'pv_live_x'].map((wrong) => failing(`Bearer ${wrong}`)));
  expect(new Set(rejected.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  const malformed = await Promise.all(['', 'Bearer', key, `Basic ${key}`, `Bearer ${key} x`].map(failing));
  for (const { status, text } of [...rejected, ...malformed]) {
    expect(status).toBe(401);
    expect(text).not.toContain(key);
  }
});
