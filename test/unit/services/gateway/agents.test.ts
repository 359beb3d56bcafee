/** Messages of agents, with fake services that are slow, fail, or answer much. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { ProvecError } from '../../../../lib/errors.ts';
import { type Edge, type EdgeOptions, KEY, startEdge, until } from './harness.ts';

const message = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: { collection: 'docs', ...args } },
});

async function withEdge(options: EdgeOptions, check: (edge: Edge) => Promise<void>): Promise<void> {
  const edge = await startEdge(options);
  try {
    await check(edge);
  } finally {
    await edge.stop();
  }
}

async function call(
  edge: Edge,
  name: string,
  args: object,
): Promise<{ isError?: boolean; content: [{ text: string }] }> {
  const { json } = await edge.request('POST', '/mcp', message(name, args));
  return json.result as Awaited<ReturnType<typeof call>>;
}

test('a message without a valid key costs one look at the key', () =>
  withEdge({}, async (edge) => {
    const headers = { authorization: 'Bearer wrong' };
    const answer = await edge.request('POST', '/mcp', message('search', { vector: [1, 2, 3] }), headers);
    expect(answer).toMatchObject({
      status: 401,
      json: { jsonrpc: '2.0', id: null, error: { code: -32000, data: { code: 'UNAUTHENTICATED', status: 401 } } },
    });
    expect([...edge.calls.keys()]).toEqual(['keys.authenticate']);
    expect((await edge.request('GET', '/mcp', undefined, { authorization: '' })).status).toBe(405);
    expect(edge.calls.get('keys.authenticate')).toHaveLength(1);
  }));

test('as many messages as the queue has permits do not stop it', () =>
  withEdge({ bounds: { queues: { other: { permits: 2 } } } }, async (edge) => {
    const calls = Array.from({ length: 12 }, () => call(edge, 'get', { ids: ['a'] }));
    for (const { content } of await Promise.all(calls))
      expect(JSON.parse(content[0].text)).toMatchObject({ records: [], missing: ['a'] });
  }));

test('a fault is an error without internals, and the log has its cause', () => {
  const actions = {
    'collections.count': () => {
      throw new Error('secret of the store');
    },
  };
  return withEdge({ actions }, async (edge) => {
    const { isError, content } = await call(edge, 'count', {});
    expect(isError).toBe(true);
    expect(content[0].text).toMatch(/^Something went wrong inside the service.*\(INTERNAL\)$/);
    expect(content[0].text).not.toContain('secret');
    expect(edge.log.join('')).toContain('secret of the store');
  });
});

test('an error that may pass says when to try again', () => {
  const actions = {
    'collections.count': () => {
      throw new ProvecError('UNAVAILABLE', 'Not now.', { retryAfterSeconds: 3 });
    },
  };
  return withEdge({ actions }, async (edge) => {
    expect((await call(edge, 'count', {})).content[0].text).toBe('Not now. Try again in 3 s. (UNAVAILABLE)');
  });
});

test('a key that is revoked while its search waits gets nothing', () => {
  let isRevoked = false;
  let monotonicMs = 0;
  const waiting: (() => void)[] = [];
  const actions: EdgeOptions['actions'] = {
    'keys.authenticate': () => {
      if (isRevoked) throw new ProvecError('UNAUTHENTICATED', 'revoked');
      return { accountId: 'a1', keyId: 'k1', scopes: ['read'] };
    },
    'collections.query': () => new Promise((resolve) => waiting.push(() => resolve({ matches: [] }))),
  };
  const clock = { monotonicMs: () => monotonicMs, wallMs: () => Date.now() };
  return withEdge({ actions, clock, bounds: { queues: { query: { permits: 1 } } } }, async (edge) => {
    const first = call(edge, 'search', { vector: [1, 2, 3] });
    await until(() => waiting.length === 1);
    const second = call(edge, 'search', { vector: [1, 2, 3] });
    await until(() => edge.calls.get('collections.resolve')?.length === 2);
    isRevoked = true;
    monotonicMs += 10_000;
    waiting[0]!();
    expect((await first).isError).toBeUndefined();
    expect(await second).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('(UNAUTHENTICATED)') }],
    });
    expect(waiting).toHaveLength(1);
  });
});

test('a client that does not read its answers is disconnected, and holds nothing', () => {
  const metadata = JSON.stringify({ text: 'x'.repeat(39_000) });
  const actions = { 'collections.fetch': () => [{ id: 'a', values: new Float32Array(3), metadata }] };
  const minimumPace = { bytesPerSecond: 1024 * 1024, windowMs: 200 };
  return withEdge({ actions, minimumPace }, async (edge) => {
    const socket = connect(edge.port, '127.0.0.1');
    socket.on('error', () => undefined).pause();
    const body = JSON.stringify(message('get', { ids: ['a'] }));
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(`${head}${body}`.repeat(400));
    await until(() => edge.log.some((line) => line.includes('"cutOff":"slow_client"')));
    socket.resume();
    if (!socket.closed) await once(socket, 'close');
    const { text } = await edge.request('GET', '/metrics');
    expect(text).toContain('\nprovec_http_text_answers_in_flight_bytes 0\n');
    expect(text).toContain('\nprovec_http_request_bodies_in_flight_bytes 0\n');
  });
});
