import { beforeAll, describe, expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { ADMIN_TOKEN, operatorApi, TEST_KEY } from '../../support/tenant.ts';

const ROUTES: [string, string, unknown][] = [
  ['GET', '/admin/accounts', undefined],
  ['POST', '/admin/accounts', { name: 'x', plan: 'free' }],
  ['PATCH', '/admin/accounts/00000000-0000-4000-8000-000000000000', { plan: 'free' }],
  ['DELETE', '/admin/accounts/00000000-0000-4000-8000-000000000000', undefined],
];
const WRONG = [
  ['a key of the API', TEST_KEY],
  ['its beginning', ADMIN_TOKEN.slice(0, -1)],
  ['more than it', `${ADMIN_TOKEN}x`],
  ['another case', ADMIN_TOKEN.toUpperCase()],
  ['one character', 'x'],
  ['the longest', 'x'.repeat(512)],
  ['undefined', 'undefined'],
  ['null', 'null'],
];

describe('with a token', () => {
  let service: SharedService;
  beforeAll(async () => {
    service = await shareService();
  });

  describe.each(ROUTES)('%s %s', (method, path, body) => {
    const answers = async (authorization?: string) => {
      const response = await fetch(`${service.url}/api/v1${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const { requestId: _, ...rest } = (await response.json()) as Record<string, unknown>;
      return { status: response.status, challenge: response.headers.get('www-authenticate'), body: rest };
    };

    test('any substitute gets the same refusal, which reveals nothing about the token', async () => {
      const refusal = await answers(`Bearer ${'x'.repeat(ADMIN_TOKEN.length)}`);
      expect(refusal).toMatchObject({ status: 401, challenge: 'Bearer', body: { code: 'UNAUTHENTICATED' } });
      for (const [, token] of WRONG) expect(await answers(`Bearer ${token}`)).toEqual(refusal);
    });

    test('a malformed token is refused by its form alone', async () => {
      const malformed = ['', 'Bearer', 'Bearer ', `Bearer ${'x'.repeat(513)}`, `Basic ${btoa(`admin:${ADMIN_TOKEN}`)}`];
      for (const authorization of [undefined, ...malformed, ADMIN_TOKEN]) {
        const refusal = await answers(authorization);
        expect(refusal).toMatchObject({ status: 401, challenge: 'Bearer', body: { code: 'UNAUTHENTICATED' } });
        expect(JSON.stringify(refusal)).not.toContain(ADMIN_TOKEN);
      }
    });
  });

  test('opens only these routes', async () => {
    const operator = operatorApi(service);
    expect(await operator('GET', '/admin/accounts')).toMatchObject({
      status: 200,
      body: { accounts: expect.arrayContaining([expect.objectContaining({ name: 'default' })]) },
    });
    for (const path of ['/collections', '/keys', '/usage']) {
      expect(await operator('GET', path)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    }
  });
});

describe('without a token', () => {
  let service: SharedService;
  beforeAll(async () => {
    service = await shareService('unmanaged');
  });

  test.each(ROUTES)('%s %s does not exist', async (method, path, body) => {
    for (const token of [ADMIN_TOKEN, TEST_KEY, 'undefined', 'null', '']) {
      const answer = await apiClient(service.url, token)(method, path, body);
      expect(answer).toMatchObject({ status: 404, body: { code: 'ROUTE_NOT_FOUND' } });
    }
  });
});
