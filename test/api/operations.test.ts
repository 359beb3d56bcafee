import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startService, TEST_KEY, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const page = async (path: string) => {
  const response = await fetch(service.provec.url + path);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};
const JSON_TYPE = 'application/json; charset=utf-8';

test('livez and readyz need no key', async () => {
  expect(await page('/livez')).toEqual({ status: 200, type: JSON_TYPE, text: '{"status":"live"}' });
  expect(await page('/readyz')).toEqual({ status: 200, type: JSON_TYPE, text: '{"status":"ready"}' });
});

test('the front page says what this is and where to go on, and every place is there', async () => {
  const { status, text } = await page('/');
  const about = JSON.parse(text) as { service: string; openapi: string; metrics: string; health: string[] };
  expect([status, about.service]).toEqual([200, 'Provec']);
  for (const path of [about.openapi, about.metrics, ...about.health]) {
    expect([path, (await page(path)).status]).toEqual([path, 200]);
  }
});

describe('metrics', () => {
  /** The samples of one metric by their labels. */
  const samples = async (name: string) => {
    const { text } = await page('/metrics');
    const lines = [...text.matchAll(new RegExp(`^${name}(\\{[^}]*\\})? (\\S+)$`, 'gm'))];
    return new Map(lines.map(([, labels = '', value]) => [labels, Number(value)]));
  };
  const only = async (name: string) => (await samples(name)).get('');

  test('count requests by route, method and status', async () => {
    const query = '{route="/api/v1/collections/{name}/query",method="POST",status="';
    await service.api('POST', '/collections', { name: 'tenant-secret-name', dimensions: 2 });
    const records = [{ id: 'tenant-secret-id', values: [1, 2], metadata: { text: 'tenant-secret-text' } }];
    await service.api('POST', '/collections/tenant-secret-name/upsert', { records });
    for (const vector of [[1, 2], [2, 1], [1]])
      await service.api('POST', '/collections/tenant-secret-name/query', { vector });
    await service.api('GET', '/collections/tenant-secret-name/proof?id=tenant-secret-id');
    await service.api('GET', '/tenant-secret-path');
    const { text } = await page('/metrics');
    expect(text).toContain(`provec_http_requests_total${query}200"} 2`);
    expect(text).toContain(`provec_http_requests_total${query}400"} 1`);
    expect(text).toContain('provec_http_requests_total{route="unmatched",method="GET",status="404"} 1');
  });

  test('show shards and anchors as they are', async () => {
    expect(await only('provec_shards_open')).toBe(1);
    expect(await only('provec_shards_records')).toBe(1);
    expect(await only('provec_shard_workers')).toBe(1);
    expect(await only('provec_anchors_confirmed')).toBe(1);
    expect(await only('provec_anchors_pending')).toBe(0);
    expect(await only('provec_anchors_halted')).toBe(0);
    expect(await only('process_resident_memory_bytes')).toBeGreaterThan(0);
  });

  test('carry nothing of any tenant, and no key', async () => {
    const { body } = await service.api<{ collections: { id: string }[] }>('GET', '/collections');
    const { type, text } = await page('/metrics');
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).not.toContain('tenant-secret');
    expect(text).not.toContain(body.collections[0].id);
    expect(text).not.toContain(TEST_KEY.slice(0, 12));
  });
});
