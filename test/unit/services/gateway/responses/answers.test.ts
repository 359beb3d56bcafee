import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { answerBounds, answerBudget } from '../../../../../lib/admission/answer-size.ts';
import { MemoryBudget } from '../../../../../lib/admission/memory-budget.ts';
import { INTERNAL_LIMITS, LIMITS } from '../../../../../lib/limits.ts';
import { ReadingPace } from '../../../../../services/gateway/responses/reading-pace.ts';
import { RawConnection } from '../../../../support/raw-connection.ts';
import { type Edge, KEY, startEdge, until } from '../harness.ts';

const V1 = '/api/v1';
const MIB = 1024 * 1024;
const REFUSED = {
  status: 503,
  json: {
    code: 'UNAVAILABLE',
    error: expect.stringMatching(/^The service is sending too many large answers/),
    retryAfterSeconds: 1,
  },
};
const OTHER_KEY = 'pv_live_test-key-of-another-account';
/** The largest possible response: 313 MiB. */
const LARGEST = { id: 'a', topK: 10_000, includeValues: true };

const query = (edge: Edge, body: object) => edge.request('POST', `${V1}/collections/wide/query`, body);
const fetch = (edge: Edge, count: number, key = KEY) => {
  const ids = Array.from({ length: count }, (_, at) => `r${at}`);
  return edge.request('POST', `${V1}/collections/wide/fetch`, { ids }, { authorization: `Bearer ${key}` });
};
const heldBytes = async (edge: Edge) =>
  Number(/^provec_http_answers_in_flight_bytes (\d+)$/m.exec((await edge.request('GET', '/metrics')).text)![1]);

/** A gateway whose queries are answered when the test says so. */
async function startHeldEdge() {
  const answers: ((matches: object[]) => void)[] = [];
  const edge = await startEdge({
    actions: {
      'keys.authenticate': ({ secret }) => ({
        accountId: secret === KEY ? 'a1' : 'a2',
        keyId: secret,
        scopes: ['read'],
      }),
      'collections.query': () => new Promise((resolve) => answers.push((matches) => resolve({ matches }))),
      'metering.giveBackQuery': () => null,
    },
  });
  return { edge, answers };
}

test('an answer that does not fit with those in progress is refused before it is fetched', async () => {
  const { edge, answers } = await startHeldEdge();
  try {
    const first = query(edge, LARGEST);
    await until(() => answers.length === 1);
    expect(await query(edge, LARGEST)).toMatchObject(REFUSED);
    expect(await query(edge, { ...LARGEST, topK: 3_000 })).toMatchObject(REFUSED);
    expect(edge.calls.get('collections.query')).toHaveLength(1);
    expect(await fetch(edge, 1_000)).toMatchObject(REFUSED);
    // Another account has not used more than its share.
    expect((await fetch(edge, 1_000, OTHER_KEY)).status).toBe(200);
    answers[0]!([]);
    expect((await first).status).toBe(200);
    expect(await heldBytes(edge)).toBe(0);
    const next = query(edge, LARGEST);
    await until(() => answers.length === 2);
    answers[1]!([]);
    expect((await next).status).toBe(200);
    // None of the refused queries had been counted.
    expect(edge.calls.get('metering.giveBackQuery')).toBeUndefined();
  } finally {
    await edge.stop();
  }
});

test("an account's answer does not wait for the pieces of another account's answers", async () => {
  const { edge, answers } = await startHeldEdge();
  try {
    const LARGE = 16;
    let reads = 0;
    const readsBefore: number[] = [];
    const values = new Float32Array(8_192).fill(0.123_456_7);
    const large = {
      id: 'large',
      score: 1,
      get values() {
        reads++;
        return values;
      },
    };
    const small = {
      id: 'small',
      score: 1,
      get values() {
        readsBefore.push(reads);
        return values;
      },
    };
    const body = { id: 'a', topK: 10, includeValues: true };
    const others = Array.from({ length: LARGE }, () => query(edge, body));
    await until(() => answers.length === LARGE);
    const calm = edge.request('POST', `${V1}/collections/wide/query`, body, { authorization: `Bearer ${OTHER_KEY}` });
    await until(() => answers.length === LARGE + 1);
    for (const answer of answers.slice(0, LARGE)) answer(Array.from({ length: 10 }, () => large));
    answers[LARGE]!([small]);
    expect((await calm).status).toBe(200);
    // The first read is for the answer's size, the second builds it. In order of arrival, one piece
    // of each large answer would be built between the two.
    expect(readsBefore[1]! - readsBefore[0]!).toBeLessThan(LARGE);
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
  } finally {
    await edge.stop();
  }
});

test('an answer is held until its action has ended, even if the client disconnects', async () => {
  const { edge, answers } = await startHeldEdge();
  try {
    const body = JSON.stringify(LARGEST);
    const gone = new RawConnection(edge.port);
    gone.write(
      `POST ${V1}/collections/wide/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: gone\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => answers.length === 1);
    gone.destroy();
    await until(() => edge.log.some((line) => line.includes('"gone"')));
    expect(await query(edge, LARGEST)).toMatchObject(REFUSED);
    answers[0]!([]);
    const next = query(edge, LARGEST);
    await until(() => answers.length === 2);
    answers[1]!([]);
    expect((await next).status).toBe(200);
  } finally {
    await edge.stop();
  }
});

test('metadata counts when it arrives; a query refused for it is returned to the plan', async () => {
  const { edge, answers } = await startHeldEdge();
  try {
    const first = query(edge, LARGEST);
    await until(() => answers.length === 1);
    const second = query(edge, { id: 'a', topK: 10_000 });
    await until(() => answers.length === 2);
    const metadata = `{"a":"${'x'.repeat(MIB)}"}`;
    answers[1]!(Array.from({ length: 100 }, (_, at) => ({ id: `r${at}`, score: 1, metadata })));
    expect(await second).toMatchObject(REFUSED);
    expect(edge.calls.get('metering.giveBackQuery')).toEqual([
      { accountId: 'a1', count: 1, month: expect.stringMatching(/^\d{4}-\d{2}$/) },
    ]);
    answers[0]!([]);
    expect((await first).status).toBe(200);
    expect(await heldBytes(edge)).toBe(0);
  } finally {
    await edge.stop();
  }
});

test('after an answer was refused, queries that may answer as much are refused before they run', async () => {
  const { edge, answers } = await startHeldEdge();
  try {
    const first = query(edge, LARGEST);
    await until(() => answers.length === 1);
    const large = { id: 'a', topK: 10_000 };
    const second = query(edge, large);
    await until(() => answers.length === 2);
    const metadata = `{"a":"${'x'.repeat(MIB)}"}`;
    answers[1]!(Array.from({ length: 100 }, (_, at) => ({ id: `r${at}`, score: 1, metadata })));
    expect(await second).toMatchObject(REFUSED);
    for (let at = 0; at < 3; at++) expect(await query(edge, large)).toMatchObject(REFUSED);
    expect(answers).toHaveLength(2);
    // They cannot answer as much.
    const others = [
      { ...large, includeMetadata: false },
      { ...large, topK: 10 },
    ].map((body) => query(edge, body));
    await until(() => answers.length === 4);
    for (const answer of answers.slice(2)) answer([]);
    for (const { status } of await Promise.all(others)) expect(status).toBe(200);
    answers[0]!([]);
    expect((await first).status).toBe(200);
    const next = query(edge, large);
    await until(() => answers.length === 5);
    answers[4]!([]);
    expect((await next).status).toBe(200);
  } finally {
    await edge.stop();
  }
});

function smallBudget() {
  const seen = { held: 0, refused: 0 };
  const budget = new MemoryBudget({ maxBytes: 100, smallReserveBytes: 20, smallMaxBytes: 5 }, 'Too much.', {
    held: (bytes) => {
      seen.held = bytes;
    },
    refused: () => {
      seen.refused++;
    },
  });
  return { budget, seen };
}

test('nothing larger than the free memory is admitted, and small answers have room that large ones leave', () => {
  const { budget, seen } = smallBudget();
  const accounts = ['b', 'c', 'd', 'e', 'f'];
  for (const bytes of [1_000, 81]) expect(() => budget.take('a', bytes)).toThrow('Too much.');
  expect(() => budget.expect('a', 81)).toThrow('Too much.');
  const largest = budget.take('a', 80);
  largest.resize(70);
  const large = budget.take('b', 10);
  expect(() => budget.take('c', 6)).toThrow('Too much.');
  const small = accounts.slice(1).map((account) => budget.take(account, 5));
  expect(() => budget.take('g', 1)).toThrow('Too much.');
  expect(() => large.resize(11)).toThrow('Too much.');
  for (const hold of [...small, largest, large, largest]) hold.release();
  expect(seen).toEqual({ held: 0, refused: 6 });
});

test('what could not grow to a size refuses others that may, until it would fit', () => {
  const { budget } = smallBudget();
  const [held, growing] = [budget.take('a', 40), budget.take('a', 0, 50)];
  expect(() => growing.resize(30)).toThrow('Too much.');
  expect(() => budget.take('a', 0, 50)).toThrow('Too much.');
  budget.take('a', 0, 10).release();
  budget.take('b', 0, 50).release();
  held.resize(10);
  const other = budget.take('a', 0, 50);
  other.resize(30);
  for (const hold of [held, other]) hold.release();
  budget.take('a', 0, 50).release();
});

test('the largest body and the largest answer fit if nothing else is held, with any heap', () => {
  const { bodiesInFlightMaxBytes, bodiesSmallReserveBytes } = INTERNAL_LIMITS;
  expect(LIMITS.bodyMaxBytes).toBeLessThan(bodiesInFlightMaxBytes - bodiesSmallReserveBytes);
  for (const heapBytes of [1, 1_000, 64 * MIB + 7, 400 * MIB, 4096 * MIB, 65_536 * MIB]) {
    const bounds = answerBounds(heapBytes);
    const budget = answerBudget(undefined, bounds);
    expect(() => budget.take('a', bounds.one!.maxBytes)).not.toThrow();
  }
});

test('an answer that leaves no room for others is refused permanently, and holds nothing', () => {
  const one = { maxBytes: 60, message: 'Ask for less.' };
  const budget = new MemoryBudget({ maxBytes: 100, smallReserveBytes: 20, smallMaxBytes: 5, one }, 'Too much.');
  expect(() => budget.take('a', 61)).toThrow('Ask for less.');
  const largest = budget.take('a', 60);
  for (const account of ['b', 'c']) budget.take(account, 10);
  expect(() => largest.resize(61)).toThrow('Ask for less.');
  expect(() => budget.take('d', 60)).not.toThrow();
});

test('many queries whose answers take too much together are refused before they run', async () => {
  const edge = await startEdge({ actions: { 'collections.queries': () => ({ results: [] }) } });
  try {
    const queries = Array.from({ length: 2 }, () => ({ id: 'a', topK: 10_000, includeValues: true }));
    const one = await edge.request('POST', `${V1}/collections/wide/queries`, { queries: queries.slice(1) });
    expect(one.status).toBe(200);
    const two = await edge.request('POST', `${V1}/collections/wide/queries`, { queries });
    expect([two.status, two.text]).toEqual([400, expect.stringContaining('INVALID_ARGUMENT')]);
    expect(two.text).toContain('The answer would take more than');
    expect(edge.calls.get('collections.queries')).toHaveLength(1);
    expect(await heldBytes(edge)).toBe(0);
  } finally {
    await edge.stop();
  }
});

test('an account that holds much leaves room for one that holds nothing', () => {
  const { budget, seen } = smallBudget();
  const greedy: { release(): void }[] = [];
  for (;;) {
    try {
      greedy.push(budget.take('greedy', 6));
    } catch {
      break;
    }
  }
  // Two thirds of the limit for all large responses.
  expect(seen.held).toBe(48);
  const others = ['b', 'c', 'd'].map((account) => budget.take(account, 10));
  expect(() => budget.take('greedy', 6)).toThrow('Too much.');
  for (const hold of greedy) hold.release();
  expect(() => budget.take('greedy', 6)).not.toThrow();
  for (const hold of others) hold.release();
});

test('what a disconnected client leaves is released when its action fails', async () => {
  const failures: ((error: Error) => void)[] = [];
  const edge = await startEdge({
    actions: { 'collections.query': () => new Promise((_, reject) => failures.push(reject)) },
  });
  try {
    const body = JSON.stringify(LARGEST);
    const gone = new RawConnection(edge.port);
    gone.write(
      `POST ${V1}/collections/wide/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: gone\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => failures.length === 1);
    gone.destroy();
    await until(() => edge.log.some((line) => line.includes('"gone"')));
    expect(await heldBytes(edge)).toBeGreaterThan(300 * MIB);
    failures[0]!(new Error('out of order'));
    await until(() => edge.log.some((line) => line.includes('out of order')));
    const metrics = await edge.request('GET', '/metrics');
    expect(metrics.text).toMatch(/^provec_http_answers_in_flight_bytes 0$/m);
    expect(metrics.text).toMatch(/^provec_http_request_bodies_in_flight_bytes 0$/m);
    expect(metrics.text).toMatch(/^provec_gateway_seats_taken\{queue="query"\} 0$/m);
  } finally {
    await edge.stop();
  }
});

const VALUES = new Float32Array(4_096).map((_, at) => 1 / (at + 3));
const LONG_ANSWER = Array.from({ length: 600 }, (_, at) => ({ id: `r${at}`, score: 1, values: VALUES }));

/** Requests a response of about 27 MB on a new connection, and lets the caller read it. */
function askForLong(port: number) {
  const socket = connect(port, '127.0.0.1');
  const body = '{"id":"a","topK":600,"includeValues":true}';
  socket.write(
    `POST ${V1}/collections/docs/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

test('a client that reads too slowly is disconnected and holds nothing', async () => {
  const edge = await startEdge({
    actions: { 'collections.query': () => ({ matches: LONG_ANSWER }) },
    minimumPace: { bytesPerSecond: 100 * MIB, windowMs: 200 },
  });
  try {
    const socket = askForLong(edge.port);
    let received = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      received = (received + chunk.toString('latin1')).slice(-100);
      socket.pause();
    });
    const drip = setInterval(() => socket.resume(), 20);
    await once(socket, 'close');
    clearInterval(drip);
    expect(received).not.toContain(']}');
    await until(() => edge.log.some((line) => line.includes('"cutOff":"slow_client"')));
    expect(await heldBytes(edge)).toBe(0);
  } finally {
    await edge.stop();
  }
});

test('answers to pipelined requests are sent completely, one after another', async () => {
  const edge = await startEdge({ actions: { 'collections.query': () => ({ matches: LONG_ANSWER }) } });
  try {
    const raw = new RawConnection(edge.port);
    const body = '{"id":"a","topK":600,"includeValues":true}';
    const ask = (connection: string) =>
      `POST ${V1}/collections/docs/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nConnection: ${connection}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    raw.write(ask('keep-alive') + ask('close'));
    expect((await raw.end()).split('"id":"r599"').length).toBe(3);
  } finally {
    await edge.stop();
  }
});

describe('the pace at which an answer must be read', () => {
  const MINIMUM = { bytesPerSecond: 1_000, windowMs: 1_000 };

  /** The part of a response that a pace uses. */
  class Response extends EventEmitter {
    socket: object | null = {};
    destroyed = false;
    writableNeedDrain = true;
    writableLength = 0;
  }
  function start(changes: Partial<Response> = {}) {
    const res = Object.assign(new Response(), changes);
    const pace = new ReadingPace(MINIMUM);
    const state: { keeps?: boolean } = {};
    const write = (bytes: number) => {
      res.writableLength += bytes;
      res.writableNeedDrain = true;
      void pace.keeps(res as unknown as ServerResponse, bytes).then((keeps) => {
        state.keeps = keeps;
      });
    };
    const drain = () => {
      res.writableLength = 0;
      res.writableNeedDrain = false;
      res.emit('drain');
    };
    return { res, state, write, drain };
  }
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('nothing read for the whole window is too slow, and not before', async () => {
    const { state, write } = start();
    write(5_000);
    await jest.advanceTimersByTimeAsync(999);
    expect(state.keeps).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    expect(state.keeps).toBe(false);
  });

  test.each([
    [1_300, true],
    [900, false],
  ])('%i bytes in a second: %p', async (bytesPerSecond, keeps) => {
    const { drain, state, write } = start();
    for (let step = 0; step < 35 && state.keeps !== false; step++) {
      write(bytesPerSecond / 10);
      await jest.advanceTimersByTimeAsync(100);
      drain();
      await jest.advanceTimersByTimeAsync(0);
    }
    expect(state.keeps).toBe(keeps);
  });

  test('bytes read of a piece that is not yet drained count', async () => {
    const { res, state, write } = start();
    write(5_000);
    res.writableLength = 2_000;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(state.keeps).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(state.keeps).toBe(false);
  });

  test('time behind an earlier answer on the connection does not count', async () => {
    const { res, state, write } = start({ socket: null });
    write(5_000);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(state.keeps).toBeUndefined();
    res.socket = {};
    res.emit('socket');
    await jest.advanceTimersByTimeAsync(999);
    expect(state.keeps).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    expect(state.keeps).toBe(false);
  });

  test('a client that has left ends the wait', async () => {
    const { res, state, write } = start();
    write(5_000);
    res.destroyed = true;
    res.emit('close');
    await jest.advanceTimersByTimeAsync(0);
    expect(state.keeps).toBe(false);
  });
});
