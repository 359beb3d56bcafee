import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { KEY, startEdge, until } from '../harness.ts';

const V1 = '/api/v1';
const MIB = 1024 * 1024;
const OTHER_KEY = 'pv_live_test-key-of-another-account';
/** More than the system buffers for a client that does not read. */
const TEXT = 'x'.repeat(20 * MIB);
const NEVER = { bytesPerSecond: 1, windowMs: 600_000 };
const SOON = { bytesPerSecond: MIB, windowMs: 200 };

const start = (minimumPace: { bytesPerSecond: number; windowMs: number }) =>
  startEdge({
    minimumPace,
    actions: {
      'keys.authenticate': ({ secret }) => ({
        accountId: secret === KEY ? 'a1' : 'a2',
        keyId: secret,
        scopes: ['read', 'write'],
      }),
      'metering.usage': () => ({ text: TEXT }),
    },
  });
type Edge = Awaited<ReturnType<typeof start>>;

/** Sends `times` requests at once on a new connection, and reads nothing. */
function askWithoutReading(edge: Edge, path: string, times = 1) {
  const socket = connect(edge.port, '127.0.0.1');
  socket.on('error', () => undefined).pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`.repeat(times));
  return socket;
}

const heldBytes = async (edge: Edge) => {
  const { text } = await edge.request('GET', '/metrics');
  return Number(/^provec_http_text_answers_in_flight_bytes (\d+)$/m.exec(text)![1]);
};
async function untilHeld(edge: Edge, isEnough: (bytes: number) => boolean): Promise<void> {
  while (!isEnough(await heldBytes(edge)));
}

test.each([
  ['a large text', `${V1}/usage`, 1],
  ['small texts that add up', '/openapi.json', 100],
])('a client that does not read %s is disconnected, and holds nothing', async (_, path, times) => {
  const edge = await start(SOON);
  try {
    const socket = askWithoutReading(edge, path, times);
    await until(() => edge.log.some((line) => line.includes('"cutOff":"slow_client"')));
    socket.resume();
    if (!socket.closed) await once(socket, 'close');
    expect(await heldBytes(edge)).toBe(0);
  } finally {
    await edge.stop();
  }
});

test('a text holds memory until it is read; an account has a share of it, and its writes are answered', async () => {
  const edge = await start(NEVER);
  try {
    const usage = (key: string) => edge.request('GET', `${V1}/usage`, undefined, { authorization: `Bearer ${key}` });
    const first = askWithoutReading(edge, `${V1}/usage`);
    await untilHeld(edge, (bytes) => bytes > 20 * MIB);
    expect(await usage(KEY)).toMatchObject({ status: 503, json: { code: 'UNAVAILABLE', retryAfterSeconds: 1 } });
    expect((await usage(OTHER_KEY)).status).toBe(200);
    const records = [{ id: 'a', values: [1, 2, 3] }];
    expect((await edge.request('POST', `${V1}/collections/docs/upsert`, { records })).status).toBe(200);
    first.destroy();
    await untilHeld(edge, (bytes) => bytes === 0);
    expect((await usage(KEY)).status).toBe(200);
  } finally {
    await edge.stop();
  }
});

test('metrics that many clients have yet to read are shared with new clients, and not kept for long', async () => {
  let monotonicMs = 0;
  const clock = { monotonicMs: () => monotonicMs, wallMs: () => Date.now() };
  const edge = await startEdge({ minimumPace: NEVER, clock });
  try {
    const countOf = async () => {
      const { text } = await edge.request('GET', '/metrics');
      return Number(/^provec_http_requests_total\{route="\/livez".*\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const unread = Array.from({ length: 8 }, () => askWithoutReading(edge, '/metrics', 400));
    let count = await countOf();
    // Each new rendering would increase the count.
    for (let before = -1; before !== count; ) {
      await edge.request('GET', '/livez');
      before = count;
      count = await countOf();
    }
    monotonicMs += 5_000;
    expect(await countOf()).toBeGreaterThan(count);
    for (const socket of unread) socket.destroy();
  } finally {
    await edge.stop();
  }
});
