import { beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { STRICT_RATE } from '../support/lending.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

/** Too many requests to all pass in the time that sending them takes. */
const MANY = 12 * STRICT_RATE;

let service: SharedService;
beforeAll(async () => {
  service = await shareService('strict');
});

const together = (count: number, api = service.api) =>
  Promise.all(Array.from({ length: count }, () => api('GET', '/collections')));

test('refuses more than the allowed number at once, with Retry-After; other keys are not affected', async () => {
  const other = await createTenant(service, 'free', 'other');
  const answers = await together(MANY);
  const refused = answers.filter(({ status }) => status !== 200);
  // On any machine, no more requests than the limit pass in any one second.
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) {
    expect(answer).toEqual(
      refusal(429, 'RATE_LIMITED', { error: expect.stringContaining(`${STRICT_RATE}`), retryAfterSeconds: 1 }),
    );
    expect(answer.headers.get('retry-after')).toBe('1');
  }
  expect(await other.api('GET', '/collections')).toMatchObject({ status: 200 });
});

test('a client that waits for Retry-After is accepted again', async () => {
  let answer = (await together(MANY)).find(({ status }) => status === 429)!;
  for (let tries = 0; answer.status === 429 && tries < 20; tries++) {
    const seconds = Number(answer.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    answer = await service.api('GET', '/collections');
  }
  expect(answer.status).toBe(200);
});

test('an unknown key always gets 401, and routes without a key are not limited', async () => {
  const unknown = await together(MANY, apiClient(service.url, 'pv_live_nobody-knows-this-key'));
  expect(new Set(unknown.map(({ status }) => status))).toEqual(new Set([401]));
  const pages = await Promise.all(Array.from({ length: MANY }, () => fetch(`${service.url}/livez`)));
  expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
});
