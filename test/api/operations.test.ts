/**
 * Pages for operators, and behaviour under faults and with slow clients. Uses a separate service.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { StoreError } from '../../store/port.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { type RawAnswer, rawRequest } from '../support/raw-request.ts';
import { startService, type TestService } from '../support/service.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const STATUS_URL = 'https://status.example/now';

let service: TestService;
beforeAll(async () => {
  // Silent, because the service logs the faults injected here as errors.
  service = await startService(
    { PROVEC_STATUS_URL: STATUS_URL, PROVEC_LOG_LEVEL: 'silent' },
    { httpTimeouts: { headerMs: 500, requestMs: 1_000 } },
  );
});
afterAll(() => service.stop());

const page = async (path: string) => {
  const response = await fetch(service.url + path);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};
const JSON_TYPE = 'application/json; charset=utf-8';

test('livez and readyz need no key', async () => {
  expect(await page('/livez')).toEqual({ status: 200, type: JSON_TYPE, text: '{"status":"live"}' });
  expect(await page('/readyz')).toEqual({ status: 200, type: JSON_TYPE, text: '{"status":"ready"}' });
});

describe('the front page', () => {
  test('says what Provec is, its state, a first request that works when pasted, and where to read more', async () => {
    const { status, type, text } = await page('/');
    expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).toContain('A vector database that can prove what it stores.');
    expect(text).toContain('<strong id="state">ready</strong>');
    const places = [...text.matchAll(/href="([^"]+)"/g)].map(([, path]) => path);
    expect(places).toContain('/openapi.json');
    for (const path of places) expect([path, (await page(path)).status]).toEqual([path, 200]);

    const [, shown] = /<pre>([^<]+)<\/pre>/.exec(text)!;
    const command = shown.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    const [, url, header, body] =
      /^curl -s (\S+) \\\n {2}-H "([^"]+)" -H 'Content-Type: application\/json' \\\n {2}-d '(.+)'$/.exec(command)!;
    const [name, value] = header.replace('$KEY', TEST_KEY).split(': ');
    const answer = await fetch(url, {
      method: 'POST',
      headers: { [name]: value, 'Content-Type': 'application/json' },
      body,
    });
    expect(await answer.json()).toMatchObject({ collection: { name: 'notes', dimensions: 4 } });
  });

  test('does not repeat an invalid Host, and contains no script', async () => {
    const hosts = ['a"><script>', "x'$(id)", 'a b', 'x'.repeat(300)];
    for (const host of hosts) {
      const { status, text, headers } = await rawRequest(service.url, 'GET', '/', { host });
      expect([host, status, text.includes(host)]).toEqual([host, 200, false]);
      expect(text).toContain('curl -s http://127.0.0.1:8080/');
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'/);
    }
  });
});

describe('metrics', () => {
  /** Samples of one metric, by their labels. */
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

  test('contain no tenant data, and no key', async () => {
    const { body } = await service.api<{ collections: { id: string }[] }>('GET', '/collections');
    const { type, text } = await page('/metrics');
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).not.toContain('tenant-secret');
    expect(text).not.toContain(body.collections[0].id);
    expect(text).not.toContain(TEST_KEY.slice(0, 12));
  });
});

describe('slow senders', () => {
  const CONNECTIONS = 64;
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
  });

  const HEAD = `POST /api/v1/collections/demo/upsert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n`;

  test.each([
    ['headers', `${HEAD}X-Slow: `, 'a'],
    ['a body of declared length', `${HEAD}Content-Length: 50000000\r\n\r\n{"records":[`, ' '],
    ['a chunked body', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
    ['a chunk that never ends', `${HEAD}Transfer-Encoding: chunked\r\n\r\nfffff\r\n`, ' '],
  ])('slow %s are cut off with 408, and do not delay others', async (_, start, drop) => {
    const port = Number(new URL(service.url).port);
    const slow = Array.from({ length: CONNECTIONS }, () => new RawConnection(port));
    for (const connection of slow) connection.write(start);
    const drip = setInterval(() => {
      for (const connection of slow) if (!connection.ended) connection.write(drop);
    }, 50);
    try {
      while (!slow.every(({ ended }) => ended)) {
        expect(await service.api('GET', '/collections/demo')).toMatchObject({ status: 200 });
      }
    } finally {
      clearInterval(drip);
    }
    for (const { received } of slow) {
      expect(received).toMatch(/^HTTP\/1.1 408 /);
      expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toMatchObject({ code: 'REQUEST_TIMEOUT', status: 408 });
    }
    await until('nothing of them is held', async () => {
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      return /^provec_http_request_bodies_in_flight_bytes 0$/m.test(metrics);
    });
  });
});

describe('faults of the service', () => {
  const usage = () =>
    rawRequest(service.url, 'GET', '/api/v1/usage', {
      'x-request-id': 'asked.by-test',
      authorization: `Bearer ${TEST_KEY}`,
    });
  // Services that are replaced here stay replaced, so these are the last tests of the file.
  const takeAway = (name: string) => {
    const { broker } = service.provec;
    return broker.destroyService(broker.getLocalService(name));
  };
  const putInPlace = async (name: string, action: string, fault: Error) => {
    await takeAway(name);
    const { broker } = service.provec;
    broker.createService({ name, actions: { [action]: () => Promise.reject(fault) } });
    await broker.waitForServices(name);
  };

  test('INTERNAL 500 names the status page, and does not reveal the cause', async () => {
    await putInPlace('metering', 'usage', new TypeError('secret-host-7 cannot read /var/secret/path.ts'));
    const { status, text, headers } = await usage();
    expect([status, headers['retry-after']]).toEqual([500, undefined]);
    expect(JSON.parse(text)).toEqual({
      error: expect.stringContaining(STATUS_URL),
      code: 'INTERNAL',
      status: 500,
      requestId: 'asked.by-test',
      statusUrl: STATUS_URL,
    });
    expect(text + JSON.stringify(headers)).not.toMatch(/secret|TypeError|\.ts|\bat /);
  });

  test('OUT_OF_CAPACITY 507', async () => {
    await putInPlace('metering', 'usage', new StoreError('capacity', 'ENOSPC on /dev/secret'));
    const { status, text } = await usage();
    expect(status).toBe(507);
    expect(JSON.parse(text)).toEqual({
      error: expect.stringContaining('reads still work'),
      code: 'OUT_OF_CAPACITY',
      status: 507,
      requestId: 'asked.by-test',
    });
  });

  const expectUnavailable = ({ status, headers, text }: RawAnswer) => {
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(JSON.parse(text)).toEqual({
      error: expect.stringMatching(/^\S.{15,}\S$/),
      code: 'UNAVAILABLE',
      status: 503,
      requestId: 'asked.by-test',
      retryAfterSeconds: 1,
    });
    expect(text).not.toMatch(/secret|node-3|metering/);
  };

  test.each([
    ['the store is out of reach', new StoreError('unavailable', 'secret-host-7 is silent')],
    ['an action does not answer', Object.assign(new Error('node-3'), { name: 'RequestTimeoutError' })],
  ])('UNAVAILABLE 503 has Retry-After: %s', async (_, fault) => {
    await putInPlace('metering', 'usage', fault);
    expectUnavailable(await usage());
  });

  test('UNAVAILABLE 503 while a service is missing', async () => {
    await takeAway('metering');
    expectUnavailable(await usage());
  });
});
