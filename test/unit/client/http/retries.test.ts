import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type ClientOptions,
  ConnectionError,
  PlanLimitError,
  Provec,
  RateLimitedError,
  ServerError,
  UnavailableError,
} from '../../../../client/index.ts';

type Step = 'cut' | 'silence' | [status: number, body: object | string, headers?: Record<string, string>];

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A service that does as it is told, one step a request; after the last, that one again. */
async function scripted(steps: Step[], options: Partial<ClientOptions> = {}) {
  const seen: string[] = [];
  const answer: RequestListener = (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const step = steps[Math.min(seen.length, steps.length) - 1]!;
    if (step === 'silence') return;
    if (step === 'cut') {
      request.socket.destroy();
      return;
    }
    const [status, body, headers] = step;
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { seen, provec: new Provec({ url, apiKey: 'pv_live_key', ...options }) };
}

const refusal = (status: number, code: string, more: object = {}): Step => [
  status,
  { error: 'A sentence.', code, status, requestId: 'r', ...more },
];
const USAGE: Step = [200, { plan: 'free' }];

describe('what passes by itself is tried again', () => {
  test.each<[string, Step]>([
    ['a 503', refusal(503, 'SHARD_UNAVAILABLE')],
    ['a 429 of the rate', refusal(429, 'RATE_LIMITED')],
    ["a proxy's 502", [502, '<html>']],
    ['a connection that breaks', 'cut'],
  ])('%s', async (_, failure) => {
    const { seen, provec } = await scripted([failure, failure, USAGE]);
    expect(await provec.usage()).toEqual({ plan: 'free' });
    expect(seen).toHaveLength(3);
  });

  test('silence, each time for timeoutMs', async () => {
    const { seen, provec } = await scripted(['silence', USAGE], { timeoutMs: 300 });
    expect(await provec.usage()).toEqual({ plan: 'free' });
    expect(seen.length).toBeGreaterThanOrEqual(2);
  });
});

describe('it gives up', () => {
  test('after maxRetries, with the last error', async () => {
    const { seen, provec } = await scripted([refusal(503, 'UNAVAILABLE')], { maxRetries: 2 });
    await expect(provec.usage()).rejects.toThrow(UnavailableError);
    expect(seen).toHaveLength(3);
  });

  test('on a server that cannot be reached, and says why', async () => {
    const { provec } = await scripted(['cut'], { maxRetries: 1 });
    server!.close();
    server!.closeAllConnections();
    await expect(provec.usage()).rejects.toThrow(ConnectionError);
    await expect(provec.usage()).rejects.toThrow(/ECONNREFUSED/);
  });

  test('at once on what stays as it is', async () => {
    const { seen, provec } = await scripted([
      refusal(429, 'PLAN_LIMIT_REACHED', { retryAfterSeconds: 1 }),
      refusal(500, 'INTERNAL'),
      refusal(400, 'INVALID_ARGUMENT', { details: [{ path: 'topK', expected: 'a number', got: 'text' }] }),
      [200, '<html>'],
    ]);
    await expect(provec.usage()).rejects.toThrow(PlanLimitError);
    await expect(provec.usage()).rejects.toThrow(ServerError);
    await expect(provec.usage()).rejects.toMatchObject({ name: 'BadRequestError', details: [{ path: 'topK' }] });
    await expect(provec.usage()).rejects.toThrow(/is the address that of a Provec/);
    expect(seen).toHaveLength(4);
  });

  test('on a Retry-After longer than maxRetryAfterMs, and tells how long', async () => {
    const limited = refusal(429, 'RATE_LIMITED', { retryAfterSeconds: 31 });
    const { seen, provec } = await scripted([limited]);
    const error = await provec.usage().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterSeconds: 31 });
    expect(seen).toHaveLength(1);
  });

  test('when its signal is aborted: before, while it waits, and in the middle of an answer', async () => {
    const { seen, provec } = await scripted([refusal(503, 'UNAVAILABLE', { retryAfterSeconds: 20 }), 'silence']);
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(provec.usage({ signal: aborted })).rejects.toThrow('enough');
    expect(seen).toEqual([]);
    for (const requests of [1, 2]) {
      const controller = new AbortController();
      const call = provec.usage({ signal: controller.signal });
      while (seen.length < requests) await once(server!, 'request');
      controller.abort(new Error('enough'));
      await expect(call).rejects.toThrow('enough');
    }
  });
});

test('waits at least as long as Retry-After says', async () => {
  const { provec } = await scripted([[503, 'a proxy', { 'retry-after': '1' }], USAGE]);
  const began = performance.now();
  await provec.usage();
  expect(performance.now() - began).toBeGreaterThanOrEqual(990);
});

test('what a second time answers otherwise is not sent twice, unless nothing was done', async () => {
  const { seen, provec } = await scripted([
    'cut',
    refusal(503, 'UNAVAILABLE'),
    refusal(429, 'RATE_LIMITED'),
    [201, {}],
  ]);
  const body = { name: 'notes', dimensions: 3 };
  await expect(provec.createCollection(body)).rejects.toThrow(ConnectionError);
  await expect(provec.createCollection(body)).rejects.toThrow(UnavailableError);
  expect(seen).toHaveLength(2);
  await provec.createCollection(body);
  expect(seen).toHaveLength(4);
});

test('a redirect is not followed with the key', async () => {
  const { seen, provec } = await scripted([[301, '', { location: 'http://127.0.0.1:1/' }]]);
  await expect(provec.usage()).rejects.toMatchObject({ name: 'ServerError', status: 301, code: null });
  expect(seen).toHaveLength(1);
});

test.each(['ftp://x', 'notes', 'http://me:secret@x', '', 'http://x?key=secret'])('refuses the url %j', (url) => {
  expect(() => new Provec({ url, apiKey: 'k' })).toThrow(TypeError);
  expect(() => new Provec({ url, apiKey: 'k' })).not.toThrow(/secret/);
});

test.each(['', 'secret\n', 'secret ü', undefined])('refuses the key %j without saying it', (apiKey) => {
  expect(() => new Provec({ url: 'http://x', apiKey: apiKey! })).toThrow(/apiKey/);
  expect(() => new Provec({ url: 'http://x', apiKey: apiKey! })).not.toThrow(/secret/);
});
