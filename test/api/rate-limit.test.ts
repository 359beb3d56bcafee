import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { refusal } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, createTenant } from '../support/tenant.ts';

const PER_SECOND = 5;

let service: TestService;
beforeAll(async () => {
  const environment = { PROVEC_LEDGER: 'off', PROVEC_RATE_LIMIT_PER_SECOND: `${PER_SECOND}` };
  service = await startService({ ...environment, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
});
afterAll(() => service.stop());

const together = (count: number, api = service.api) =>
  Promise.all(Array.from({ length: count }, () => api('GET', '/collections')));

test('more than so many at once are refused, with the time to wait; no other key is', async () => {
  const other = await createTenant(service, 'free');
  const answers = await together(60);
  const refused = answers.filter(({ status }) => status !== 200);
  // However slow the machine is: in any one second no more than the limit pass.
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) {
    expect(answer).toEqual(
      refusal(429, 'RATE_LIMITED', { error: expect.stringContaining(`${PER_SECOND}`), retryAfterSeconds: 1 }),
    );
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  expect(await other.api('GET', '/collections')).toMatchObject({ status: 200 });
});

test('it passes: who waits as told is let in again', async () => {
  let answer = (await together(30)).find(({ status }) => status === 429)!;
  for (let tries = 0; answer.status === 429 && tries < 20; tries++) {
    const seconds = Number(answer.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    answer = await service.api('GET', '/collections');
  }
  expect(answer.status).toBe(200);
});

test('an unknown key is 401 however often, and what needs no key is free', async () => {
  const unknown = await together(30, apiClient(service.provec.url!, 'pv_live_nobody-knows-this-key'));
  expect(new Set(unknown.map(({ status }) => status))).toEqual(new Set([401]));
  const pages = await Promise.all(Array.from({ length: 30 }, () => fetch(`${service.provec.url}/livez`)));
  expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
});
