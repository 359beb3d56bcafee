/** A process as it runs behind a proxy: its health port, and the client's address. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startService, type TestService } from '../support/service.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../support/tenant.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService({
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    PROVEC_HEALTH_HOST: '127.0.0.2',
    PROVEC_HEALTH_PORT: '0',
    PROVEC_LEDGER: 'off',
    PROVEC_PUBLIC_URL: 'https://vectors.example.com',
    PROVEC_TRUSTED_PROXIES: '127.0.0.1',
  });
});
afterAll(() => service.stop());

test('metrics are on the health port, which has an address of its own', async () => {
  const { healthUrl } = service.provec;
  expect(new URL(healthUrl!).hostname).toBe('127.0.0.2');
  const response = await fetch(`${healthUrl}/metrics`);
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('provec_shards_open')]);
});

test("on the gateway's port only the operator reads metrics", async () => {
  const metrics = (headers: Record<string, string>) => fetch(`${service.url}/metrics`, { headers });
  for (const headers of [{}, { authorization: `Bearer ${TEST_KEY}` }, { authorization: `Bearer ${ADMIN_TOKEN}x` }]) {
    const response = await metrics(headers as Record<string, string>);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await response.json()).toEqual({ error: expect.stringContaining('health port') });
  }
  const response = await metrics({ authorization: `Bearer ${ADMIN_TOKEN}` });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('provec_shards_open')]);
});

test('the audit trail names the client, not the trusted proxy, nor what the client claims', async () => {
  const response = await fetch(`${service.url}/api/v1/collections`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${TEST_KEY}`,
      'content-type': 'application/json',
      'x-forwarded-for': '192.0.2.1, 203.0.113.7',
    },
    body: JSON.stringify({ name: 'notes', dimensions: 2 }),
  });
  expect(response.status).toBe(201);
  const { body } = await service.api<{ entries: { action: string; address: string }[] }>('GET', '/audit');
  expect(body.entries.find(({ action }) => action === 'collection.create')).toMatchObject({ address: '203.0.113.7' });
});
