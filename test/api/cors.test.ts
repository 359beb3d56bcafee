import { beforeAll, describe, expect, test } from '@jest/globals';
import { type LentService, STRICT_ORIGINS } from '../support/lending.ts';
import { rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const [APP, LOCAL] = STRICT_ORIGINS as [string, string];
const preflight = {
  origin: APP,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization',
};
const corsOf = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control') || name === 'vary'));

let service: SharedService;
const share = async (kind: LentService) => {
  service = await shareService(kind);
};
const send = (method: string, path: string, headers: Record<string, string>) =>
  rawRequest(service.url, method, path, { authorization: `Bearer ${service.key}`, ...headers });

describe('off, the default', () => {
  beforeAll(() => share('plain'));

  test.each([
    ['GET', '/api/v1/collections', { origin: APP }, 200],
    ['OPTIONS', '/api/v1/collections', preflight, 204],
    ['GET', '/livez', { origin: APP }, 200],
  ])('%s %s has no CORS headers', async (method, path, headers, status) => {
    const answer = await send(method, path, headers);
    expect([answer.status, corsOf(answer.headers)]).toEqual([status, {}]);
  });
});

describe('on for two origins', () => {
  beforeAll(() => share('strict'));

  const ask = (origin: string, method = 'getBlockHeight') =>
    rawRequest(
      service.ledger!.url,
      'POST',
      '/',
      { origin, 'content-type': 'application/json' },
      JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    );

  test("the service's own pages may read the embedded ledger, and change nothing", async () => {
    const { port } = new URL(service.url);
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const origin = `http://${host}:${port}`;
      const answer = await ask(origin);
      expect([origin, answer.status, corsOf(answer.headers)]).toEqual([
        origin,
        200,
        { 'access-control-allow-origin': origin, vary: 'Origin' },
      ]);
      expect(JSON.parse((await ask(origin, 'requestAirdrop')).text)).toMatchObject({ error: { code: -32600 } });
    }
    for (const origin of [`https://127.0.0.1:${port}`, 'http://127.0.0.1', `http://evil.example:${port}`])
      expect([origin, (await ask(origin)).status]).toEqual([origin, 403]);
  });

  test('their pages may read the embedded ledger, and pages of other origins may not', async () => {
    const answers = [await ask(APP), await ask(LOCAL), await ask('https://evil.example')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403]);
  });

  test('a preflight needs no key, and lists what may be sent', async () => {
    const answer = await send('OPTIONS', '/api/v1/collections/some/query', { ...preflight, authorization: '' });
    expect([answer.status, corsOf(answer.headers)]).toEqual([
      204,
      {
        'access-control-allow-origin': APP,
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers':
          'Authorization, Content-Type, X-Request-Id, Api-Key, X-Pinecone-Api-Version, MCP-Protocol-Version, Mcp-Method, Mcp-Name',
        'access-control-expose-headers': 'X-Request-Id, Retry-After, Location',
        'access-control-max-age': '600',
        vary: 'Origin',
      },
    ]);
  });

  test.each([
    [200, {}],
    [401, { authorization: 'Bearer wrong' }],
  ])('an answer with status %i may be read', async (status, authorization) => {
    const answer = await send('GET', '/api/v1/collections', { origin: LOCAL, ...authorization });
    expect([answer.status, corsOf(answer.headers)]).toEqual([
      status,
      {
        'access-control-allow-origin': LOCAL,
        'access-control-expose-headers': 'X-Request-Id, Retry-After, Location',
        vary: 'Origin',
      },
    ]);
  });

  test.each(['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null', ''])(
    'another origin (%j) may not read it',
    async (origin) => {
      const answer = await send('GET', '/api/v1/collections', { origin });
      expect([answer.status, corsOf(answer.headers)]).toEqual([200, { vary: 'Origin' }]);
    },
  );
});

describe('on for any origin', () => {
  beforeAll(() => share('unmanaged'));

  test('every origin may read, without credentials', async () => {
    const { headers } = await send('GET', '/api/v1/collections', { origin: 'https://anybody.example' });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });
});
