import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Middleware, Service } from 'moleculer';
import { RawConnection } from '../../../support/raw-connection.ts';
import { type Edge, KEY, startEdge, until } from './harness.ts';

const V1 = '/api/v1';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${KEY}`, ...headers, '', ''].join('\r\n');

describe('HTTP', () => {
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge();
  });
  afterAll(() => edge.stop());

  test.each([
    ['a sane one is kept', 'Job-7.step:2_x', 'Job-7.step:2_x'],
    ['128 characters are kept', 'a'.repeat(128), 'a'.repeat(128)],
    ['129 are not', 'a'.repeat(129), UUID],
    ['blanks are not', 'a b', UUID],
    ['markup is not', '<script>', UUID],
    ['other letters are not', 'ü', UUID],
    ['an empty one is not', '', UUID],
  ])('X-Request-Id: %s', async (_, given, expected) => {
    const raw = new RawConnection(edge.port);
    raw.write(get('/livez', `X-Request-Id: ${given}`, 'Connection: close'));
    const id = /^x-request-id: (.*)\r$/im.exec(await raw.end())![1];
    expect(id).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  });

  test.each([['\r\nSet-Cookie: a=b'], ['%0d%0aSet-Cookie: a=b'], ['\nSet-Cookie: a=b'], ['\u0000x']])(
    'injects nothing into the header through X-Request-Id (%j)',
    async (value) => {
      const raw = new RawConnection(edge.port);
      raw.write(get(`${V1}/usage`, `X-Request-Id: a${value}`, 'Connection: close'));
      const received = await raw.end();
      expect(received).toMatch(/^HTTP\/1.1 (200|400) /);
      expect(received).not.toMatch(/^set-cookie/im);
    },
  );

  test('the request id is in the header and the body of errors, and reaches the services', async () => {
    const reply = await edge.request('GET', `${V1}/nope`, undefined, { 'x-request-id': 'abc' });
    expect([reply.headers.get('x-request-id'), reply.json.requestId]).toEqual(['abc', 'abc']);
  });

  test("the header's name has one spelling, in routed answers and others", async () => {
    for (const path of ['/livez', `${V1}/usage`, `${V1}/nope`]) {
      const raw = new RawConnection(edge.port);
      raw.write(get(path, 'Connection: close'));
      expect((await raw.end()).match(/^x-request-id/gim)).toEqual(['X-Request-Id']);
    }
  });

  test('answers requests sent at once in order', async () => {
    const raw = new RawConnection(edge.port);
    const body = '{"ids":["a"]}';
    raw.write(
      get('/livez', 'X-Request-Id: one') +
        `POST ${V1}/collections/docs/delete HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: two\r\nContent-Length: ${body.length}\r\n\r\n${body}` +
        get(`${V1}/nope`, 'X-Request-Id: three') +
        get(`${V1}/usage`, 'X-Request-Id: four', 'Connection: close'),
    );
    const received = await raw.end();
    const ids = [...received.matchAll(/^x-request-id: (.*)\r$/gim)].map((match) => match[1]);
    expect(ids).toEqual(['one', 'two', 'three', 'four']);
    expect([...received.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '200', '404', '200']);
  });

  test('an action has the timeout that it asks for, unless the gateway sets one', async () => {
    const timeouts = new Map<string, unknown>();
    const watch: Middleware = {
      name: 'Watch',
      localAction: (next, action) =>
        async function watched(this: Service, ctx) {
          const result: unknown = await next.call(this, ctx);
          timeouts.set(action.name ?? '', (ctx.options as { timeout?: number }).timeout);
          return result;
        },
    };
    const edge = await startEdge({ broker: { requestTimeout: 123_456, middlewares: [watch] } });
    try {
      const records = [{ id: 'a', values: [1, 2, 3] }];
      expect((await edge.request('POST', `${V1}/collections/docs/upsert`, { records })).status).toBe(200);
      expect((await edge.request('POST', `${V1}/collections/docs/delete`, { ids: ['a'] })).status).toBe(200);
      expect((await edge.request('GET', `${V1}/collections/docs/verify`)).status).toBe(200);
      expect(timeouts.get('collections.upsert')).toBe(123_456);
      expect(timeouts.get('collections.delete')).toBe(123_456);
      expect(timeouts.get('verification.verify')).toBe(600_000);
    } finally {
      await edge.stop();
    }
  });

  test('HEAD answers like GET, without the body', async () => {
    for (const path of ['/livez', '/openapi.json', `${V1}/usage`, `${V1}/collections/docs`, `${V1}/nope`]) {
      const asGet = await edge.request('GET', path, undefined, { 'accept-encoding': 'identity' });
      const asHead = await edge.request('HEAD', path, undefined, { 'accept-encoding': 'identity' });
      expect(asHead.status).toBe(asGet.status);
      expect(asHead.text).toBe('');
      if (asGet.status === 200)
        expect(asHead.headers.get('content-length')).toBe(String(Buffer.byteLength(asGet.text)));
    }
    expect((await edge.request('HEAD', `${V1}/collections/docs/query`)).status).toBe(405);
  });

  test('OPTIONS names the methods of a path, without a key', async () => {
    const options = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${edge.port}${path}`, { method: 'OPTIONS' });
      return [response.status, response.headers.get('allow')];
    };
    expect(await options(`${V1}/collections`)).toEqual([204, 'GET, POST, HEAD, OPTIONS']);
    expect(await options(`${V1}/collections/any/query`)).toEqual([204, 'POST, OPTIONS']);
    expect(await options('/livez')).toEqual([204, 'GET, HEAD, OPTIONS']);
    expect(await options('/nope')).toEqual([404, null]);
  });

  test('a trailing slash and the absolute form are the same path; dots are not resolved', async () => {
    expect((await edge.request('GET', `${V1}/collections/`)).status).toBe(200);
    const raw = new RawConnection(edge.port);
    raw.write(get(`http://elsewhere${V1}/usage`, 'Connection: close'));
    expect(await raw.end()).toMatch(/^HTTP\/1.1 200 /);
    const dots = new RawConnection(edge.port);
    dots.write(get(`${V1}/collections/../usage`, 'Connection: close'));
    expect(await dots.end()).toMatch(/^HTTP\/1.1 404 /);
  });

  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00'],
    ['two lengths', 'POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['length and chunks', 'POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a header of 20 KB', `GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('an invalid request gets 400 as JSON, and the connection is closed: %s', async (_, text) => {
    const raw = new RawConnection(edge.port);
    raw.write(text);
    const received = await raw.end();
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400 });
    expect(received).not.toMatch(/node|\.ts|HPE_/);
  });

  test.each([
    ['no Host', 'GET /livez HTTP/1.1\r\n', 400, 'INVALID_ARGUMENT'],
    ['another expectation', 'GET /livez HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n', 400, 'INVALID_ARGUMENT'],
    ['a tunnel', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n', 405, 'METHOD_NOT_ALLOWED'],
    ['a method of no path', 'TRACE /livez HTTP/1.1\r\nHost: x\r\n', 405, 'METHOD_NOT_ALLOWED'],
  ])('refuses %s with a body and the id that was sent', async (_, text, status, code) => {
    for (const [given, id] of [
      ['X-Request-Id: job-7\r\n', 'job-7'],
      ['', expect.stringMatching(UUID)],
    ]) {
      const raw = new RawConnection(edge.port);
      raw.write(`${text}${given}Connection: close\r\n\r\n`);
      const received = await raw.end();
      expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(/^X-Request-Id: (.*)\r$/m.exec(received)?.[1]).toEqual(id);
      expect(/^Allow: /m.test(received)).toBe(status === 405);
      const body = JSON.parse(received.split('\r\n\r\n')[1]!);
      expect(body).toEqual({ error: expect.stringMatching(/\.$/), code, status, requestId: id });
    }
  });

  test('HTTP/1.0 needs no Host', async () => {
    const raw = new RawConnection(edge.port);
    raw.write('GET /livez HTTP/1.0\r\n\r\n');
    expect(await raw.end()).toMatch(/^HTTP\/1.1 200 /);
  });

  test('a client that disconnects in the middle of its body is forgotten', async () => {
    edge.calls.clear();
    const raw = new RawConnection(edge.port);
    raw.write(
      `POST ${V1}/collections/docs/delete HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: gone\r\nContent-Length: 900000\r\n\r\n{`,
    );
    await until(() => edge.calls.has('collections.resolve'));
    raw.destroy();
    await until(() => edge.log.some((line) => line.includes('"gone"')));
    const logged = edge.log.find((line) => line.includes('"gone"'))!;
    expect(JSON.parse(logged)).toMatchObject({ status: 499 });
    const metrics = await edge.request('GET', '/metrics');
    expect(metrics.text).toMatch(/^provec_http_request_bodies_in_flight_bytes 0$/m);
  });

  test('without configured origins no CORS header is sent', async () => {
    const reply = await edge.request('GET', `${V1}/usage`, undefined, { origin: 'https://app.example.com' });
    expect([...reply.headers.keys()].filter((name) => name.startsWith('access-control') || name === 'vary')).toEqual(
      [],
    );
  });
});

describe('CORS', () => {
  test('configured origins may read answers; a preflight needs no key', async () => {
    const edge = await startEdge({ env: { PROVEC_CORS_ORIGINS: 'https://app.example.com' } });
    try {
      const url = `http://127.0.0.1:${edge.port}${V1}/collections/docs/query`;
      const preflight = await fetch(url, {
        method: 'OPTIONS',
        headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
      });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
      expect(preflight.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS');
      expect(preflight.headers.get('access-control-allow-headers')).toBe(
        'Authorization, Content-Type, X-Request-Id, Api-Key, X-Pinecone-Api-Version, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
      );
      const answer = await edge.request('GET', `${V1}/nope`, undefined, { origin: 'https://app.example.com' });
      expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
      expect(answer.headers.get('access-control-expose-headers')).toBe('X-Request-Id, Retry-After, Location');
      expect(answer.headers.get('vary')).toBe('Origin');
      const other = await edge.request('GET', `${V1}/usage`, undefined, { origin: 'https://evil.example.com' });
      expect(other.headers.get('access-control-allow-origin')).toBeNull();
    } finally {
      await edge.stop();
    }
  });
});

describe('slow senders', () => {
  test('a header or body that trickles in is cut off with 408', async () => {
    const edge = await startEdge({ timeouts: { headerMs: 300, requestMs: 600 } });
    try {
      const header = new RawConnection(edge.port);
      header.write('GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: ');
      const body = new RawConnection(edge.port);
      body.write(
        `POST ${V1}/collections/docs/delete HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 100\r\n\r\n{`,
      );
      const drip = setInterval(() => {
        header.write('a');
        body.write(' ');
      }, 50);
      try {
        for (const raw of [header, body]) {
          const received = await raw.end();
          expect(received).toMatch(/^HTTP\/1.1 408 /);
          expect(JSON.parse(received.split('\r\n\r\n')[1]!)).toMatchObject({ code: 'REQUEST_TIMEOUT', status: 408 });
        }
      } finally {
        clearInterval(drip);
      }
      expect((await edge.request('GET', '/livez')).status).toBe(200);
    } finally {
      await edge.stop();
    }
  });
});

describe('stop', () => {
  test('a request in flight is answered with Connection: close; no new one is accepted', async () => {
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const edge = await startEdge({
      actions: {
        'metering.usage': async () => {
          arrived.resolve();
          await release.promise;
          return { month: '2026-11' };
        },
      },
    });
    const raw = new RawConnection(edge.port);
    raw.write(get(`${V1}/usage`));
    await arrived.promise;
    const stopped = edge.stop();
    let refused = false;
    await until(() => {
      const late = connect(edge.port, '127.0.0.1');
      late.on('connect', () => late.destroy());
      late.on('error', () => {
        refused = true;
      });
      return refused;
    });
    release.resolve();
    const received = await raw.end();
    expect(received).toContain('{"month":"2026-11"}');
    expect(received).toMatch(/^connection: close/im);
    await stopped;
  });

  test('idle connections do not delay it', async () => {
    const edge = await startEdge();
    const raw = new RawConnection(edge.port);
    raw.write(get('/livez'));
    await raw.until((text) => text.includes('live'));
    await edge.stop();
    await raw.end();
  });
});

test('a port in use is refused with a sentence', async () => {
  const edge = await startEdge();
  try {
    await expect(startEdge({ env: { PROVEC_PORT: String(edge.port) } })).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${edge.port}: another program listens there; set PROVEC_PORT to another port (0 = any free one).`,
    );
  } finally {
    await edge.stop();
  }
});
