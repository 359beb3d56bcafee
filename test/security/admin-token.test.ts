import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { startService, TEST_KEY, type TestService } from '../support/service.ts';

const TOKEN = 'operator-token-for-this-test';
const ROUTES: [string, string, unknown][] = [
  ['GET', '/admin/accounts', undefined],
  ['POST', '/admin/accounts', { name: 'x', plan: 'free' }],
  ['PATCH', '/admin/accounts/00000000-0000-4000-8000-000000000000', { plan: 'free' }],
  ['DELETE', '/admin/accounts/00000000-0000-4000-8000-000000000000', undefined],
];
const WRONG = [
  ['a key of the API', TEST_KEY],
  ['its beginning', TOKEN.slice(0, -1)],
  ['more than it', `${TOKEN}x`],
  ['another case', TOKEN.toUpperCase()],
  ['another token of its length', 'x'.repeat(TOKEN.length)],
  ['one character', 'x'],
  ['the longest', 'x'.repeat(512)],
  ['too long', 'x'.repeat(513)],
  ['undefined', 'undefined'],
  ['null', 'null'],
];

describe('with a token', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ PROVEC_ADMIN_TOKEN: TOKEN, PROVEC_LEDGER: 'off' });
  });
  afterAll(() => service.stop());

  describe.each(ROUTES)('%s %s', (method, path, body) => {
    const answers = async (authorization?: string) => {
      const response = await fetch(`${service.provec.url}/api/v1${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const { requestId: _, ...rest } = (await response.json()) as Record<string, unknown>;
      return { status: response.status, challenge: response.headers.get('www-authenticate'), body: rest };
    };

    test('one and the same refusal for whoever does not have it', async () => {
      const refusal = await answers();
      expect(refusal).toMatchObject({ status: 401, challenge: 'Bearer', body: { code: 'UNAUTHENTICATED' } });
      for (const [, token] of WRONG) expect(await answers(`Bearer ${token}`)).toEqual(refusal);
      for (const authorization of ['', 'Bearer', 'Bearer ', `Basic ${btoa(`admin:${TOKEN}`)}`, TOKEN]) {
        expect(await answers(authorization)).toEqual(refusal);
      }
    });
  });

  test('it opens these routes, and no others', async () => {
    const operator = apiClient(service.provec.url!, TOKEN);
    expect(await operator('GET', '/admin/accounts')).toMatchObject({
      status: 200,
      body: { accounts: [{ name: 'default' }] },
    });
    for (const path of ['/collections', '/keys', '/usage']) {
      expect(await operator('GET', path)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    }
  });
});

describe('without a token', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ PROVEC_LEDGER: 'off' });
  });
  afterAll(() => service.stop());

  test.each(ROUTES)('%s %s does not exist', async (method, path, body) => {
    for (const token of [TOKEN, TEST_KEY, 'undefined', 'null', '']) {
      const answer = await apiClient(service.provec.url!, token)(method, path, body);
      expect(answer).toMatchObject({ status: 404, body: { code: 'ROUTE_NOT_FOUND' } });
    }
  });
});
