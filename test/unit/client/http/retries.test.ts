import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { retryWaitMs } from '../../../../client/http/retry.ts';
import {
  APIConnectionError,
  APITimeoutError,
  type ClientOptions,
  PlanLimitError,
  Provec,
  RateLimitedError,
  ServerError,
  UnavailableError,
} from '../../../../client/index.ts';

type Step = 'cut' | 'silence' | 'half' | [status: number, body: object | string, headers?: Record<string, string>];

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
    if (step === 'half') {
      response.writeHead(200).write('{"plan"');
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
const COUNTS = { write_count: 0, query_count: 0, vector_count: 0, collection_count: 0, key_count: 1 };
const FREE = {
  month: '2026-01',
  plan: 'free',
  usage: COUNTS,
  limits: COUNTS,
  query_count_uncertainty: 0,
  resets_at: '2026-02-01T00:00:00.000Z',
  pricing_url: 'https://provec.dev/pricing',
};
const USAGE: Step = [200, FREE];

describe('what passes by itself is tried again', () => {
  test.each<[string, Step]>([
    ['a 503', refusal(503, 'SHARD_UNAVAILABLE')],
    ['a 429 of the rate', refusal(429, 'RATE_LIMITED')],
    ["a proxy's 502", [502, '<html>']],
    ['a connection that breaks', 'cut'],
  ])('%s', async (_, failure) => {
    const { seen, provec } = await scripted([failure, failure, USAGE]);
    expect(await provec.getUsage()).toEqual(FREE);
    expect(seen).toHaveLength(3);
  });

  test('silence, each time for timeoutMs', async () => {
    const { seen, provec } = await scripted(['silence', USAGE], { timeoutMs: 300 });
    expect(await provec.getUsage()).toEqual(FREE);
    expect(seen.length).toBeGreaterThanOrEqual(2);
  });
});

describe('it gives up', () => {
  test('after maxRetries, with the last error', async () => {
    const { seen, provec } = await scripted([refusal(503, 'UNAVAILABLE')], { maxRetries: 2 });
    await expect(provec.getUsage()).rejects.toThrow(UnavailableError);
    expect(seen).toHaveLength(3);
  });

  test('on a server that cannot be reached, and says why', async () => {
    const { provec } = await scripted(['cut'], { maxRetries: 1 });
    server!.close();
    server!.closeAllConnections();
    await expect(provec.getUsage()).rejects.toThrow(APIConnectionError);
    await expect(provec.getUsage()).rejects.toThrow(/ECONNREFUSED/);
  });

  test('at once on what stays as it is', async () => {
    const { seen, provec } = await scripted([
      refusal(429, 'PLAN_LIMIT_REACHED', { retryAfterSeconds: 1 }),
      refusal(500, 'INTERNAL'),
      refusal(400, 'INVALID_ARGUMENT', { details: [{ path: 'topK', expected: 'a number', got: 'text' }] }),
      [200, '<html>'],
      [200, 'null'],
      [200, '[]'],
    ]);
    await expect(provec.getUsage()).rejects.toThrow(PlanLimitError);
    await expect(provec.getUsage()).rejects.toThrow(ServerError);
    await expect(provec.getUsage()).rejects.toMatchObject({ name: 'BadRequestError', details: [{ path: 'topK' }] });
    await expect(provec.getUsage()).rejects.toThrow(/is this the address of a Provec/);
    await expect(provec.getUsage()).rejects.toThrow(ServerError);
    await expect(provec.getUsage()).rejects.toThrow(ServerError);
    expect(seen).toHaveLength(6);
  });

  test('on a Retry-After longer than maxRetryAfterMs, and tells how long', async () => {
    const limited = refusal(429, 'RATE_LIMITED', { retryAfterSeconds: 31 });
    const { seen, provec } = await scripted([limited]);
    const error = await provec.getUsage().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterSeconds: 31 });
    expect(seen).toHaveLength(1);
  });

  test('on a time-out of a verify, which would begin anew', async () => {
    const { seen, provec } = await scripted(['silence'], { timeoutMs: 50 });
    await expect(provec.collection('notes').verify()).rejects.toThrow(APITimeoutError);
    expect(seen).toHaveLength(1);
  });

  test.each<[string, Step[], number]>([
    ['before anything is sent', [USAGE], 0],
    ['while nothing comes', ['silence'], 1],
    ['in the middle of an answer', ['half'], 1],
    ['while it waits for a retry', [refusal(503, 'UNAVAILABLE', { retryAfterSeconds: 20 })], 1],
  ])('when its signal is aborted %s', async (_, steps, requests) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    /** Resolves when the client has all that it is sent. */
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const watched: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      setImmediate(resolve);
      return response;
    };
    const { seen, provec } = await scripted(steps, { fetch: watched });
    if (requests === 0) controller.abort(reason);
    const call = provec.getUsage({ signal: controller.signal });
    if (steps[0] === 'silence') await once(server!, 'request');
    else if (requests > 0) await answered;
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(seen).toHaveLength(requests);
  });
});

test('a signal that is shared by many requests keeps none of them', async () => {
  const { provec } = await scripted([USAGE]);
  const { signal } = new AbortController();
  for (let at = 0; at < 20; at++) await provec.getUsage({ signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('waits grow up to 8 s, are random, and keep to Retry-After under its cap', () => {
  const asking = (retryAfterSeconds: number) =>
    new UnavailableError({ error: 'A sentence.', status: 503, retryAfterSeconds });
  for (let retry = 0; retry < 12; retry++) {
    const waits = Array.from({ length: 200 }, () => retryWaitMs(retry, new Error('x'), 30_000)!);
    const longest = Math.min(500 * 2 ** retry, 8_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(longest);
    expect(Math.max(...waits)).toBeGreaterThan(longest * 0.8);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(longest * 0.5);
    expect(Math.min(...waits)).toBeLessThan(longest * 0.6);
    expect(retryWaitMs(retry, asking(30), 30_000)).toBeGreaterThanOrEqual(30_000);
    expect(retryWaitMs(retry, asking(31), 30_000)).toBeNull();
  }
});

test('takes what Retry-After says where the body does not', async () => {
  const { seen, provec } = await scripted([[503, 'a proxy', { 'retry-after': '31' }]]);
  await expect(provec.getUsage()).rejects.toMatchObject({ name: 'UnavailableError', retryAfterSeconds: 31 });
  expect(seen).toHaveLength(1);
});

test('what a second time answers otherwise is not sent twice, unless nothing was done', async () => {
  const { seen, provec } = await scripted([
    'cut',
    refusal(503, 'UNAVAILABLE'),
    refusal(429, 'RATE_LIMITED'),
    [200, { deleted: true }],
  ]);
  await expect(provec.deleteCollection('notes')).rejects.toThrow(APIConnectionError);
  await expect(provec.deleteCollection('notes')).rejects.toThrow(UnavailableError);
  expect(seen).toHaveLength(2);
  await provec.deleteCollection('notes');
  expect(seen).toHaveLength(4);
});

test('a redirect is not followed with the key', async () => {
  const { seen, provec } = await scripted([[301, '', { location: 'http://127.0.0.1:1/' }]]);
  await expect(provec.getUsage()).rejects.toMatchObject({ name: 'ServerError', status: 301, code: null });
  expect(seen).toHaveLength(1);
});

test.each(['ftp://x', 'notes', 'http://me:secret@x', '', 'http://x?key=secret', 'http://:secret@x', 'http://x/api/v1'])(
  'refuses the url %j',
  (url) => {
    expect(() => new Provec({ url, apiKey: 'k' })).toThrow(TypeError);
    expect(() => new Provec({ url, apiKey: 'k' })).not.toThrow(/secret/);
  },
);

test.each(['', 'secret\n', 'secret ü', undefined])('refuses the key %j without saying it', (apiKey) => {
  expect(() => new Provec({ url: 'http://x', apiKey: apiKey! })).toThrow(/apiKey/);
  expect(() => new Provec({ url: 'http://x', apiKey: apiKey! })).not.toThrow(/secret/);
});
