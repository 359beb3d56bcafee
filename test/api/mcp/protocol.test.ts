/** What the gateway answers at /mcp besides tools, and what a message may cost. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, REVISIONS } from '../../support/agent.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { startService, type TestService } from '../../support/service.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const ORIGIN = 'https://app.example.com';

let service: TestService;
let slow: TestService;
beforeAll(async () => {
  const environment = { PROVEC_LEDGER: 'off', PROVEC_CORS_ORIGINS: ORIGIN };
  [service, slow] = await Promise.all([
    startService({ ...environment, PROVEC_PUBLIC_URL: 'https://vectors.example.com' }),
    startService({ PROVEC_LEDGER: 'off', PROVEC_RATE_LIMIT_PER_SECOND: '2' }),
  ]);
  await service.api('POST', '/collections', { name: 'notes', dimensions: 2 });
});
afterAll(() => Promise.all([service.stop(), slow.stop()]));

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const NEWEST = { 'mcp-protocol-version': '2026-07-28' };

interface Reply {
  status: number;
  headers: Headers;
  body: { id?: unknown; result?: Record<string, unknown>; error?: { code: number; message: string; data?: object } };
}

async function send(body: unknown, headers: Record<string, string> = {}, at = service): Promise<Reply> {
  const response = await fetch(`${at.url}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Reply['body']),
  };
}

const request = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 7, method, params });
const newest = (method: string, params: object = {}) => request(method, { ...params, _meta: META });

describe('messages', () => {
  test('each is answered by one JSON text, in the revision that it names', async () => {
    const earlier = await send(request('tools/list'));
    expect(earlier).toMatchObject({ status: 200, body: { id: 7, result: { tools: expect.any(Array) } } });
    const later = await send(newest('tools/list'), { ...NEWEST, 'mcp-method': 'tools/list' });
    expect(later).toMatchObject({ status: 200, body: { id: 7, result: { resultType: 'complete' } } });
    for (const { headers } of [earlier, later]) {
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('mcp-session-id')).toBeNull();
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  test('a notification gets an empty 202', async () => {
    const { status, body } = await send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect({ status, body }).toEqual({ status: 202, body: {} });
  });

  test('there is no stream and no session to hold open', async () => {
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await fetch(`${service.url}/mcp`, { method });
      expect({ method, status: response.status, allow: response.headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow: 'POST, OPTIONS',
      });
    }
    const listen = newest('subscriptions/listen', { notifications: {} });
    const refused = await send(listen, { ...NEWEST, 'mcp-method': 'subscriptions/listen' });
    expect(refused).toMatchObject({ status: 404, body: { id: 7, error: { code: -32601 } } });
  });

  test.each<[string, unknown, number, number]>([
    ['a batch', [request('tools/list'), request('tools/list')], 400, -32700],
    ['text', 'hello', 400, -32700],
    ['no body', '', 400, -32700],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', 400, -32700],
    ['a prototype', '{"jsonrpc":"2.0","id":1,"method":"tools/list","__proto__":{}}', 400, -32700],
    ['deep nesting', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 400, -32700],
    ['an object that is no message', {}, 400, -32600],
    ['an unknown method', request('tools/destroy'), 200, -32601],
    ['arguments that are no object', request('tools/call', { name: 'count', arguments: [1] }), 200, -32602],
  ])('%s is an error of JSON-RPC', async (_, body, status, code) => {
    const answer = await send(body);
    expect(answer).toMatchObject({ status, body: { error: { code, message: expect.stringMatching(/.{10}/) } } });
  });

  test('a body over 512 KiB, compressed or of another type is refused', async () => {
    const large = await send({ ...request('tools/list'), pad: 'x'.repeat(512 * 1024) });
    expect(large).toMatchObject({ status: 413, body: { error: { data: { code: 'BODY_TOO_LARGE' } } } });
    const typed = await send(request('tools/list'), { 'content-type': 'text/plain' });
    expect(typed.status).toBe(415);
    const coded = await send(request('tools/list'), { 'content-encoding': 'br' });
    expect(coded.status).toBe(415);
  });

  test('an unknown query parameter is refused', async () => {
    const response = await fetch(`${service.url}/mcp?colection=notes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}` },
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('did you mean collection?');
  });
});

describe('who may send', () => {
  test('without a valid key, 401 before the body is read or sent', async () => {
    for (const authorization of ['', 'Bearer wrong', `Basic ${TEST_KEY}`]) {
      const raw = new RawConnection(Number(new URL(service.url).port));
      raw.write(
        `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${authorization && `Authorization: ${authorization}\r\n`}` +
          'Content-Type: application/json\r\nContent-Length: 500000\r\nExpect: 100-continue\r\n\r\n',
      );
      const answer = await raw.end();
      expect(answer).toMatch(/^HTTP\/1\.1 401 /);
      expect(answer).toMatch(/\r\nwww-authenticate: Bearer\r\n/i);
      expect(answer).toContain('"code":"UNAUTHENTICATED"');
      expect(answer.length).toBeLessThan(700);
    }
  });

  test.each(REVISIONS)('a revoked key is refused, by %s', async (revision) => {
    const { body } = await service.api<{ key: { id: string; secret: string } }>('POST', '/keys', { name: 'a' });
    const agent = await Agent.overHttp({ url: service.url, key: body.key.secret }, revision, '?collection=notes');
    expect((await agent.call('count')).json).toEqual({ count: 0 });
    await service.api('DELETE', `/keys/${body.key.id}`);
    await until(
      'the key is refused',
      async () =>
        await agent.call('count').then(
          () => false,
          (error: Error) => /401|revoked/.test(error.message),
        ),
    );
    await agent.close();
  });

  test('pages of other origins, and of names that point to this machine, are refused', async () => {
    const list = request('tools/list');
    const statusOf = async (headers: Record<string, string>) => (await send(list, headers)).status;
    expect(await statusOf({ origin: ORIGIN })).toBe(200);
    expect(await statusOf({ origin: 'https://vectors.example.com' })).toBe(200);
    for (const origin of ['https://evil.example', 'http://localhost:3000', 'null', `${ORIGIN}.evil.example`])
      expect({ origin, status: await statusOf({ origin }) }).toEqual({ origin, status: 403 });
    const { port } = new URL(service.url);
    const hosts = {
      localhost: 200,
      [`127.0.0.1:${port}`]: 200,
      '[::1]:80': 200,
      'vectors.example.com': 200,
      'evil.example': 403,
      [`evil.example:${port}`]: 403,
    };
    for (const [host, status] of Object.entries(hosts)) {
      const raw = new RawConnection(Number(port));
      const body = JSON.stringify(list);
      raw.write(
        `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TEST_KEY}\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
      expect({ host, answer: (await raw.end()).slice(9, 12) }).toEqual({ host, answer: String(status) });
    }
  });

  test('a preflight of an allowed origin names the headers of the protocol', async () => {
    const response = await fetch(`${service.url}/mcp`, {
      method: 'OPTIONS',
      headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
    });
    expect(response.headers.get('access-control-allow-headers')).toContain(
      'MCP-Protocol-Version, Mcp-Method, Mcp-Name',
    );
  });

  test('messages count against the rate of the key', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => send(request('tools/list'), {}, slow)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(2);
    expect(refused[0]).toMatchObject({ body: { error: { code: -32000, data: { code: 'RATE_LIMITED' } } } });
    expect(refused[0]!.headers.get('retry-after')).toBe('1');
  });
});

describe('what it costs', () => {
  test('a search counts as one query of the plan, a write as its records', async () => {
    type Usage = { usage: { query_count: number; write_count: number } };
    const usage = async () => (await service.api<Usage>('GET', '/usage')).body.usage;
    const agent = await Agent.overHttp({ url: service.url, key: TEST_KEY }, '2026-07-28', '?collection=notes');
    const before = await usage();
    await agent.call('remember', {
      records: [
        { id: 'a', values: [1, 2] },
        { id: 'b', values: [2, 1] },
      ],
    });
    await agent.call('search', { id: 'a' });
    await agent.call('search', { vector: [1, 1] });
    await agent.call('search', { vector: [1] });
    const after = await usage();
    expect(after.query_count - before.query_count).toBe(2);
    expect(after.write_count - before.write_count).toBe(2);
    await agent.close();
  });

  test('metrics count messages by route and tools by name and outcome', async () => {
    const agent = await Agent.overHttp({ url: service.url, key: TEST_KEY }, '2026-07-28', '?collection=notes');
    await agent.call('count');
    await agent.call('count', { filter: 7 });
    await agent.close();
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toMatch(/provec_mcp_tool_calls_total\{tool="count",outcome="ok"\} \d+/);
    expect(metrics).toMatch(/provec_mcp_tool_calls_total\{tool="count",outcome="INVALID_FILTER"\} 1/);
    expect(metrics).toMatch(/provec_http_requests_total\{route="\/mcp",method="POST",status="200"\} \d+/);
  });
});
