import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectDurationBelow } from '../../support/duration.ts';
import { LOOP_HELD_MAX_MS } from '../../support/hostile-request.ts';
import { type HostileService, hostileService } from '../../support/hostile-service.ts';
import { LoopWatch } from '../../support/loop-watch.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { TEST_KEY } from '../../support/tenant.ts';

let service: HostileService;
beforeAll(async () => {
  service = await hostileService();
  await service.api('POST', '/collections', { name: 'victim', dimensions: 2 });
});
afterAll(() => service.stop());

/** Contains a key as long as the account's, which replaces it before sending. */
const AUTHORIZED = `Host: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n`;
/** The request that an attacker hides behind another one. */
const SMUGGLED = `DELETE /api/v1/collections/victim HTTP/1.1\r\n${AUTHORIZED}\r\n`;
const post = (headers: string, body: string) =>
  `POST /api/v1/collections/victim/fetch HTTP/1.1\r\n${AUTHORIZED}${headers}\r\n${body}`;
/** More headers than a Node server accepts by default. */
const MANY = 'X:\r\n'.repeat(1_500);
const get = (headers: string) => `GET /api/v1/usage HTTP/1.1\r\n${AUTHORIZED}${headers}\r\n`;

/** Sends the text and returns everything received until the connection closes. */
async function exchange(text: string): Promise<string> {
  const watch = new LoopWatch();
  const raw = new RawConnection(Number(new URL(service.url).port));
  raw.write(text.replaceAll(TEST_KEY, service.key));
  const received = await raw.end();
  expectDurationBelow(await watch.end(), LOOP_HELD_MAX_MS);
  return received;
}
const statuses = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));

test('answers pipelined requests one by one, in order', async () => {
  const ids = Array.from({ length: 100 }, (_, at) => `request-${at}`);
  const body = '{"ids":["a"]}';
  const requests = ids.map((id, at) => {
    const last = at === ids.length - 1 ? 'Connection: close\r\n' : '';
    const headers = `X-Request-Id: ${id}\r\n${last}`;
    return at % 2 === 0 ? get(headers) : post(`${headers}Content-Length: ${body.length}\r\n`, body);
  });
  const received = await exchange(requests.join(''));
  expect(statuses(received)).toEqual(ids.map(() => 200));
  expect([...received.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id)).toEqual(ids);
});

test.each([
  ['garbage', 'garbage\r\n\r\n'],
  ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
])('%s after a write: only the write is carried out and answered', async (_, after) => {
  const body = '{"records":[{"id":"kept","values":[1,2]}]}';
  const headers = `${AUTHORIZED}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const received = await exchange(`POST /api/v1/collections/victim/upsert HTTP/1.1\r\n${headers}\r\n${body}${after}`);
  expect(statuses(received)).toEqual([200]);
  const fetched = await service.api<{ vectors: object }>('POST', '/collections/victim/fetch', { ids: ['kept'] });
  expect(Object.keys(fetched.body.vectors)).toEqual(['kept']);
  await service.api('POST', '/collections/victim/delete', { ids: ['kept'] });
});

describe('a client that closes its side of the connection gets its answers', () => {
  /** Sends everything and ends its side; returns the responses, perhaps with interim ones. */
  async function halfClosed(text: string): Promise<string> {
    const raw = new RawConnection(Number(new URL(service.url).port));
    raw.socket.end(text.replaceAll(TEST_KEY, service.key));
    return await raw.end();
  }

  test('sixty upserts at once, then the end: each is carried out and answered', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `half-closed-${at}`);
    const upserts = ids.map((id) => {
      const body = `{"records":[{"id":"${id}","values":[1,2]}]}`;
      const headers = `${AUTHORIZED}X-Request-Id: ${id}\r\nContent-Length: ${body.length}\r\n`;
      return `POST /api/v1/collections/victim/upsert HTTP/1.1\r\n${headers}\r\n${body}`;
    });
    const received = await halfClosed(upserts.join(''));
    expect(statuses(received)).toEqual(ids.map(() => 200));
    expect([...received.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id)).toEqual(ids);
    const fetched = await service.api<{ vectors: object }>('POST', '/collections/victim/fetch', { ids });
    expect(Object.keys(fetched.body.vectors).sort()).toEqual([...ids].sort());
    await service.api('POST', '/collections/victim/delete', { ids });
  });

  test.each([
    ['one request', get(''), [200]],
    ['one of HTTP/1.0', `GET /api/v1/usage HTTP/1.0\r\n${AUTHORIZED}\r\n`, [200]],
    ['requests that are refused', get('Host: y\r\n').repeat(2), [400, 400]],
    ['half a request', 'GET /api/v1/us', [400]],
    ['nothing', '', []],
  ])('%s', async (_, text, expected) => {
    expect(statuses(await halfClosed(text))).toEqual(expected);
  });

  test('one and a half requests: the first is answered', async () => {
    // The half request is answered as well if it arrives after the first response.
    expect(statuses(await halfClosed(`${get('')}GET /api/v1/us`))[0]).toBe(200);
  });
});

describe('smuggling', () => {
  const length = SMUGGLED.length;
  test.each([
    [
      'length and chunks',
      post(`Content-Length: ${5 + length}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${SMUGGLED}`),
    ],
    ['chunks and length', post(`Transfer-Encoding: chunked\r\nContent-Length: 5\r\n`, `0\r\n\r\n${SMUGGLED}`)],
    ['two lengths', post(`Content-Length: 0\r\nContent-Length: ${length}\r\n`, SMUGGLED)],
    ['a list of lengths', post(`Content-Length: 0, ${length}\r\n`, SMUGGLED)],
    ['a signed length', post('Content-Length: +0\r\n', SMUGGLED)],
    ['a negative length', post('Content-Length: -1\r\n', SMUGGLED)],
    ['a length in hex', post('Content-Length: 0x0\r\n', SMUGGLED)],
    ['a length beyond any number', post(`Content-Length: ${'9'.repeat(40)}\r\n`, SMUGGLED)],
    ['an unknown coding', post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a coding after chunked', post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a coding before chunked', post('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a coding after 1,500 headers', post(`${MANY}Transfer-Encoding: gzip, chunked\r\n`, `0\r\n\r\n${SMUGGLED}`)],
    ['chunked twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a blank before the colon', post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a folded header', post('Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
    ['a bare line feed', post(`X: y\nContent-Length: 0\r\n`, SMUGGLED)],
    ['a bad chunk size', post('Transfer-Encoding: chunked\r\n', `0x0\r\n\r\n${SMUGGLED}`)],
    ['a chunk size beyond any number', post('Transfer-Encoding: chunked\r\n', `${'f'.repeat(20)}\r\n${SMUGGLED}`)],
    ['a chunk without its end', post('Transfer-Encoding: chunked\r\n', `1\r\nxyz\r\n0\r\n\r\n${SMUGGLED}`)],
    ['a chunk extension with a line feed', post('Transfer-Encoding: chunked\r\n', `0;a\nb\r\n\r\n${SMUGGLED}`)],
  ])('%s: the hidden request is never carried out', async (_, text) => {
    const received = await exchange(text);
    // Either everything is refused, or the first request was clear and the rest is refused. In no
    // case does a second success follow.
    expect(statuses(received).filter((status) => status < 400)).toEqual([]);
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(await service.api('GET', '/collections/victim')).toMatchObject({ status: 200 });
  });

  test('reads a body to its end and no further', async () => {
    const body = '{"ids":["a"]}';
    const received = await exchange(post(`Content-Length: ${body.length}\r\n`, body) + get('Connection: close\r\n'));
    expect(statuses(received)).toEqual([200, 200]);
    const refused = await exchange(
      post(`Content-Length: ${length}\r\nContent-Type: text/plain\r\n`, SMUGGLED) + get('Connection: close\r\n'),
    );
    expect(statuses(refused)[0]).toBe(415);
    expect(await service.api('GET', '/collections/victim')).toMatchObject({ status: 200 });
  });
});

describe('headers', () => {
  test.each([
    'a\r\nSet-Cookie: x=y',
    'a\nSet-Cookie: x=y',
    'a\rSet-Cookie: x=y',
    'a%0d%0aSet-Cookie: x=y',
    'a\u0000',
    'ü',
  ])('nothing from X-Request-Id %j gets into the answer’s header', async (id) => {
    const received = await exchange(get(`X-Request-Id: ${id}\r\nConnection: close\r\n`));
    expect(received).toMatch(/^HTTP\/1.1 (200|400) /);
    expect(received).not.toMatch(/^set-cookie/im);
    expect(received.split('\r\n\r\n')[0]).not.toMatch(/Set-Cookie|%0d/i);
  });

  test.each([
    ['one of 20 KB', `X-Large: ${'x'.repeat(20_000)}\r\n`],
    ['5,000 of them', Array.from({ length: 5_000 }, (_, at) => `X-${at}: y\r\n`).join('')],
    ['a name of 20 KB', `${'X'.repeat(20_000)}: y\r\n`],
  ])('%s: 400 as JSON, then closed', async (_, headers) => {
    const received = await exchange(get(headers));
    expect(statuses(received)).toEqual([400]);
    expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400 });
  });

  const other = `Bearer pv_live_${'x'.repeat(43)}`;
  test.each([
    ['two hosts', 'Host: y\r\n'],
    ['the same host twice', 'Host: x\r\n'],
    ['a host in other letters', 'hOST: y\r\n'],
    ['a key that opens something, then another', `Authorization: ${other}\r\n`],
    ['the same key twice', `Authorization: Bearer ${TEST_KEY}\r\n`],
    ['a key followed by an empty one', 'Authorization:\r\n'],
    ['a key in other letters', `aUTHORIZATION: ${other}\r\n`],
    ['another host after 1,500 headers', `${MANY}Host: y\r\n`],
    ['another key after 1,500 headers', `${MANY}Authorization: ${other}\r\n`],
  ])('%s: 400, since a proxy in front of the service may read it differently', async (_, headers) => {
    for (const refused of [get(headers), `GET /api/v1/usage HTTP/1.1\r\n${headers}${AUTHORIZED}\r\n`]) {
      const received = await exchange(refused + get('Connection: close\r\n'));
      expect(statuses(received)).toEqual([400, 200]);
      expect(received).toContain('"code":"INVALID_ARGUMENT"');
    }
  });

  test('a path of 20 KB', async () => {
    const received = await exchange(`GET /api/v1/${'x'.repeat(20_000)} HTTP/1.1\r\n${AUTHORIZED}\r\n`);
    expect(statuses(received)).toEqual([400]);
  });

  test.each([
    ['Content-Type', `application/json${' '.repeat(15_000)}x`],
    ['Content-Type', `application/json;${' '.repeat(7_000)}charset${' '.repeat(7_000)}=x`],
    ['Content-Type', `${'application/json;'.repeat(900)}x`],
    ['Content-Encoding', `${' '.repeat(15_000)}deflate`],
    ['X-Request-Id', `${'a.'.repeat(7_500)}!`],
    ['Origin', 'a'.repeat(15_000)],
  ])('a %s built to slow a pattern down delays no one', async (name, value) => {
    const body = '{"ids":["a"]}';
    const received = await exchange(
      post(`${name}: ${value}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n`, body),
    );
    expect(statuses(received)[0]).toBe(name.startsWith('Content') ? 415 : 200);
  });

  test('an Authorization built to slow a pattern down gets 401', async () => {
    for (const value of [
      `Bearer${' '.repeat(14_000)}`,
      `Bearer${' '.repeat(7_000)}a${' '.repeat(7_000)}b`,
      'Bearer '.repeat(2_000),
    ]) {
      const received = await exchange(
        `GET /api/v1/usage HTTP/1.1\r\nHost: x\r\nAuthorization: ${value}\r\nConnection: close\r\n\r\n`,
      );
      expect(statuses(received)).toEqual([401]);
    }
  });
});
