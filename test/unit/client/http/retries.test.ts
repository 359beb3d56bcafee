import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Retries, retryWaitMs } from '../../../../client/http/retry.ts';
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

/** A service that follows a script, one step per request, and repeats the last step. */
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

describe('transient failures are retried', () => {
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

  test('no answer, each time for timeoutMs', async () => {
    const { seen, provec } = await scripted(['silence', USAGE], { timeoutMs: 300 });
    expect(await provec.getUsage()).toEqual(FREE);
    expect(seen.length).toBeGreaterThanOrEqual(2);
  });
});

describe('gives up', () => {
  test('after maxRetries, with the last error', async () => {
    const { seen, provec } = await scripted([refusal(503, 'UNAVAILABLE')], { maxRetries: 2 });
    const error = await provec.getUsage().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnavailableError);
    expect((error as Error).message).toMatch(/^A sentence\. The client gave up after 3 attempts in [\d.]+ s\.$/);
    expect(seen).toHaveLength(3);
  });

  test('after retryForMs', async () => {
    const { seen, provec } = await scripted([refusal(503, 'UNAVAILABLE')], { retryForMs: 600 });
    await expect(provec.getUsage()).rejects.toThrow(/gave up after \d attempts/);
    expect(seen.length).toBeGreaterThan(1);
    const before = seen.length;
    await expect(provec.getUsage({ retryForMs: 0 })).rejects.toThrow(/^A sentence\.$/);
    expect(seen).toHaveLength(before + 1);
  });

  test('on an unreachable server, and says why', async () => {
    const { provec } = await scripted(['cut'], { maxRetries: 1 });
    server!.close();
    server!.closeAllConnections();
    await expect(provec.getUsage()).rejects.toThrow(APIConnectionError);
    await expect(provec.getUsage()).rejects.toThrow(/ECONNREFUSED/);
  });

  test('at once on permanent errors', async () => {
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

  test('on a Retry-After longer than maxRetryAfterMs, and says how long', async () => {
    const limited = refusal(429, 'RATE_LIMITED', { retryAfterSeconds: 31 });
    const { seen, provec } = await scripted([limited]);
    const error = await provec.getUsage().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAfterSeconds: 31 });
    expect(seen).toHaveLength(1);
  });

  test('on a time-out of a verify, which would start again', async () => {
    const { seen, provec } = await scripted(['silence'], { timeoutMs: 50 });
    await expect(provec.collection('notes').verify()).rejects.toThrow(APITimeoutError);
    expect(seen).toHaveLength(1);
  });

  test.each<[string, Step[], number]>([
    ['before anything is sent', [USAGE], 0],
    ['while nothing arrives', ['silence'], 1],
    ['in the middle of an answer', ['half'], 1],
    ['while it waits for a retry', [refusal(503, 'UNAVAILABLE', { retryAfterSeconds: 20 })], 1],
  ])('when its signal is aborted %s', async (_, steps, requests) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    /** Resolves when the client has received the whole response. */
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

test('a signal shared by many requests does not keep them in memory', async () => {
  const { provec } = await scripted([USAGE]);
  const { signal } = new AbortController();
  for (let at = 0; at < 20; at++) await provec.getUsage({ signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('waits grow up to 8 s, are random, and add what the service asks for', () => {
  for (let retry = 0; retry < 12; retry++) {
    const waits = Array.from({ length: 200 }, () => retryWaitMs(retry, 0));
    const longest = Math.min(500 * 2 ** retry, 8_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(longest);
    expect(Math.max(...waits)).toBeGreaterThan(longest * 0.8);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(longest * 0.5);
    expect(Math.min(...waits)).toBeLessThan(longest * 0.6);
    expect(retryWaitMs(retry, 30_000)).toBeGreaterThanOrEqual(30_000);
  }
});

describe('how long it retries', () => {
  const DEFAULTS = { retryForMs: 60_000, maxRetries: Number.POSITIVE_INFINITY, maxRetryAfterMs: 30_000 };
  const unavailable = (retryAfterSeconds?: number) =>
    new UnavailableError({ error: 'It starts.', status: 503, retryAfterSeconds });

  /**
   * Runs failing attempts of `attemptMs` each, on a fake clock. Returns their times and the
   * outcome.
   */
  function attempts(attemptMs: number, failure: () => Error, options = {}) {
    let nowMs = 5_000;
    const retries = new Retries('getUsage', true, { ...DEFAULTS, ...options }, () => nowMs);
    const beganMs: number[] = [];
    for (;;) {
      beganMs.push(nowMs - 5_000);
      nowMs += attemptMs;
      try {
        nowMs += retries.waitMs(failure());
      } catch (error) {
        return { beganMs, error: error as Error };
      }
    }
  }

  test('makes the last attempt 60 s after the first failure, and counts the attempts', () => {
    const { beganMs, error } = attempts(0, unavailable);
    expect(beganMs.at(-1)).toBe(60_000);
    expect(beganMs.length).toBeGreaterThan(8);
    expect(error.message).toBe(`It starts. The client gave up after ${beganMs.length} attempts in 60.0 s.`);
    expect(error.stack).toContain(error.message);
  });

  test('an attempt that takes longer is followed by another', () => {
    const { beganMs } = attempts(90_000, () => new APITimeoutError('No answer within 90000 ms.'));
    expect(beganMs).toHaveLength(2);
  });

  test('the time is configurable', () => {
    expect(attempts(0, unavailable, { retryForMs: 300_000 }).beganMs.at(-1)).toBe(300_000);
    const once = attempts(0, unavailable, { retryForMs: 0 });
    expect([once.beganMs, once.error.message]).toEqual([[0], 'It starts.']);
    expect(attempts(0, unavailable, { maxRetries: 3 }).beganMs).toHaveLength(4);
  });

  test('no longer than makes sense', () => {
    expect(attempts(0, () => unavailable(20)).beganMs.length).toBeGreaterThan(1);
    for (const [asked, options] of [[31, {}] as const, [20, { retryForMs: 15_000 }] as const]) {
      const { beganMs, error } = attempts(0, () => unavailable(asked), options);
      expect(beganMs).toEqual([0]);
      expect(error.message).toBe(`It starts. The client gave up: the service asked it to wait ${asked} s.`);
    }
  });

  const LASTING = [
    'ENOTFOUND',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'HOSTNAME_MISMATCH',
    'INVALID_CA',
    'CRL_HAS_EXPIRED',
    'PATH_LENGTH_EXCEEDED',
    'UNSPECIFIED',
    'UND_ERR_INVALID_ARG',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'EPROTO',
    'HPE_INVALID_CONSTANT',
  ];
  const PASSING = [
    'UND_ERR_CONNECT_TIMEOUT',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'UND_ERR_SOCKET',
  ];
  test('a port that fetch blocks', async () => {
    let count = 0;
    const counted: typeof fetch = (...args) => {
      count++;
      return fetch(...args);
    };
    const provec = new Provec({ url: 'http://127.0.0.1:6000', apiKey: 'k', fetch: counted });
    await expect(provec.getUsage()).rejects.toThrow(/^No answer came: fetch failed: bad port$/);
    expect(count).toBe(1);
  });

  test.each([...LASTING, ...PASSING])('%s', async (code) => {
    let count = 0;
    const failing = async () => {
      count++;
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('why'), { code }) });
    };
    const provec = new Provec({ url: 'http://x', apiKey: 'k', fetch: failing, retryForMs: 20 });
    await expect(provec.getUsage()).rejects.toThrow(APIConnectionError);
    expect([code, count > 1]).toEqual([code, PASSING.includes(code)]);
  });

  test('does not retry a server that does not speak TLS', async () => {
    await scripted([USAGE]);
    const { port } = server!.address() as AddressInfo;
    const call = new Provec({ url: `https://127.0.0.1:${port}`, apiKey: 'k' }).getUsage();
    await expect(call).rejects.toThrow(/SSL|TLS/i);
  });

  test('waits for a service that is not up yet', async () => {
    await scripted([USAGE]);
    const { port } = server!.address() as AddressInfo;
    const handler = server!.listeners('request')[0] as RequestListener;
    server!.close();
    server!.closeAllConnections();
    let refused = 0;
    const url = `http://127.0.0.1:${port}`;
    const watched: typeof fetch = async (...args) => {
      try {
        return await fetch(...args);
      } catch (error) {
        // The server starts after two attempts, so the third one reaches it.
        if (++refused === 2) server = createServer(handler).listen(port, '127.0.0.1');
        throw error;
      }
    };
    expect(await new Provec({ url, apiKey: 'k', fetch: watched }).getUsage()).toEqual(FREE);
    expect(refused).toBe(2);
  });
});

test('uses Retry-After if the body has no wait', async () => {
  const { seen, provec } = await scripted([[503, 'a proxy', { 'retry-after': '31' }]]);
  await expect(provec.getUsage()).rejects.toMatchObject({ name: 'UnavailableError', retryAfterSeconds: 31 });
  expect(seen).toHaveLength(1);
});

test('an operation that is not repeatable is not sent twice, unless nothing was done', async () => {
  const { seen, provec } = await scripted([
    'cut',
    refusal(503, 'UNAVAILABLE'),
    refusal(429, 'RATE_LIMITED'),
    [200, { deleted: true }],
  ]);
  await expect(provec.deleteCollection('notes')).rejects.toThrow(/No answer came.*[^.]\. It was not repeated/);
  await expect(provec.deleteCollection('notes')).rejects.toThrow(UnavailableError);
  expect(seen).toHaveLength(2);
  await provec.deleteCollection('notes');
  expect(seen).toHaveLength(4);
});

test.each<[string, () => Promise<Response>, string]>([
  [
    'a question',
    async () => new Response('<html>', { status: 502 }),
    'is the address right? The client gave up after 2',
  ],
  [
    'reasons with stops',
    () => Promise.reject(new TypeError('It failed.', { cause: new Error('Reset by peer.') })),
    'No answer came: It failed: Reset by peer. The client gave up after 2',
  ],
])('the sentence that the client adds to %s follows exactly one full stop', async (_, fetch, message) => {
  const provec = new Provec({ url: 'http://x', apiKey: 'k', fetch, maxRetries: 1 });
  await expect(provec.getUsage()).rejects.toThrow(message);
});

test('a redirect is not followed with the key', async () => {
  const { seen, provec } = await scripted([[301, '', { location: 'http://127.0.0.1:1/' }]]);
  await expect(provec.getUsage()).rejects.toMatchObject({ name: 'ServerError', status: 301, code: null });
  expect(seen).toHaveLength(1);
});
