import { afterEach, expect, test } from '@jest/globals';
import { HttpServer } from '../../../../services/gateway/http-server.ts';
import { RawConnection } from '../../../support/raw-connection.ts';

const LONGEST = 'x'.repeat(16_383);
let server: HttpServer;
afterEach(() => server.close(0));

/** Starts a server that answers with the names of the headers that it got. */
async function started(): Promise<{ port: number; seen: string[][] }> {
  const seen: string[][] = [];
  server = new HttpServer({ headerMs: 10_000, requestMs: 10_000 }, (req, res) => {
    seen.push(Object.keys(req.headers));
    res.end('answered');
  });
  return { ...(await server.listen(0, '127.0.0.1')), seen };
}

const head = (name: string, more = '') => `GET / HTTP/1.1\r\nHost: a\r\n${name}: 1\r\n${more}\r\n`;

test('Node makes no object of headers whose names V8 hashes by their length', async () => {
  const { port, seen } = await started();
  const connection = new RawConnection(port);
  connection.write(head(LONGEST));
  await connection.until((text) => text.includes('answered'));
  expect(seen).toEqual([['host', LONGEST]]);
  connection.write(head(`${LONGEST}x`, 'Expect: 100-continue\r\nContent-Length: 5\r\n') + head('next'));
  const rest = (await connection.end()).split('answered').at(-1);
  expect(rest).toMatch(/^HTTP\/1\.1 400 [\s\S]*"The request's headers are larger than 16384 bytes\."/);
  expect(seen).toHaveLength(1);
});
