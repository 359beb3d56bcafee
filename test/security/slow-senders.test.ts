import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startService, TEST_KEY, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { RawConnection } from '../unit/gateway-harness.ts';

const CONNECTIONS = 64;

let service: TestService;
beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off' }, { httpTimeouts: { headerMs: 500, requestMs: 1_000 } });
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
});
afterAll(() => service.stop());

const HEAD = `POST /api/v1/collections/demo/upsert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n`;

test.each([
  ['headers', `${HEAD}X-Slow: `, 'a'],
  ['a body of declared length', `${HEAD}Content-Length: 50000000\r\n\r\n{"records":[`, ' '],
  ['a chunked body', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
  ['a chunk that never ends', `${HEAD}Transfer-Encoding: chunked\r\n\r\nfffff\r\n`, ' '],
])('%s that trickle in are cut off with 408, and cost others nothing', async (_, start, drop) => {
  const port = Number(new URL(service.provec.url!).port);
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
    const metrics = await (await fetch(`${service.provec.url}/metrics`)).text();
    return /^provec_http_request_bodies_in_flight_bytes 0$/m.test(metrics);
  });
});
