import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { outcome, type TestNode, TransportCluster } from './cluster.ts';

let redis: RedisServer;
let cluster: TransportCluster;
let a: TestNode;
let b: TestNode;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.dispose());
beforeEach(async () => {
  cluster = new TransportCluster({ kind: 'redis', url: redis.url });
});
afterEach(() => cluster.stop());

const isRetryable = (error: Error & Record<string, unknown>) =>
  error instanceof Errors.MoleculerRetryableError && !(error instanceof Errors.RequestTimeoutError);

/** Calls `count` on b from a in several concurrent loops until `stop`, each time with a new key. */
class Load {
  readonly succeeded: string[] = [];
  readonly failures: (Error & Record<string, unknown>)[] = [];
  readonly #callers: Promise<void>[];
  #isOver = false;

  constructor() {
    this.#callers = Array.from({ length: 8 }, (_, caller) => this.#call(caller));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }

  async #call(caller: number): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const result = await outcome(a.broker.call<string, unknown>('b.count', { key: `${caller}-${i}` }));
      if ('value' in result) this.succeeded.push(result.value);
      else this.failures.push(result.error);
      // Yields to timers and sockets, because calls may fail at once.
      await new Promise(setImmediate);
    }
  }

  async more(calls: number): Promise<void> {
    const target = this.succeeded.length + calls;
    await until(`${calls} more calls succeeded`, () => this.succeeded.length >= target);
  }
}

test('Redis restarts under load: calls fail or succeed, none runs twice, and the nodes find each other again', async () => {
  [a, b] = await cluster.startAll('a', 'b');
  const load = new Load();
  for (let round = 0; round < 2; round++) {
    await load.more(100);
    const before = load.failures.length;
    await redis.kill();
    await until('calls fail', () => load.failures.length > before);
    await redis.restart();
    await load.more(100);
  }
  await load.stop();
  expect(load.failures.filter((error) => !isRetryable(error))).toEqual([]);
  expect(new Set(b.runs).size).toBe(b.runs.length);
  expect(load.succeeded.filter((key) => !b.runs.includes(key))).toEqual([]);
  expect(await a.metric('reconnects_total')).toBe(2);
  expect(a.log.join()).toContain('the connection to Redis is lost');
});

test('large messages in flight when Redis is killed fail, and leave nothing behind', async () => {
  [a, b] = await cluster.startAll('a', 'b');
  const call = outcome(a.broker.call('b.digest', { bytes: new Uint8Array(48 << 20) }));
  await until('a part of it has arrived', async () => (await b.metric('parts_total')) > 10);
  await redis.kill();
  const result = await call;
  expect('error' in result && isRetryable(result.error)).toBe(true);
  await redis.restart();
  await until('calls succeed again', async () => 'value' in (await outcome(a.broker.call('b.echo', {}))));
  expect(await b.metric('drops_total')).toBe(1);
});

test('an answer that is ready during a Redis outage does not end anything', async () => {
  [a, b] = await cluster.startAll('a', 'b');
  const call = outcome(a.broker.call('b.hold', { length: 1 }));
  await until('it is there', () => b.held === 1);
  await redis.kill();
  const result = await call;
  expect('error' in result && isRetryable(result.error)).toBe(true);
  // Immediately, not only after missed heartbeats.
  expect(a.broker.registry.hasService('b', 'b')).toBe(true);
  b.release();
  await redis.restart();
  await until('calls succeed again', async () => 'value' in (await outcome(a.broker.call('b.echo', {}))));
});

test('a silent Redis fails the calls in flight and new ones, and calls succeed once it continues', async () => {
  a = await cluster.start('a', { redisReplyMaxMs: 400 });
  b = await cluster.start('b', { redisReplyMaxMs: 400 });
  await cluster.meet();
  const load = new Load();
  const held = outcome(a.broker.call('b.hold', { length: 1 }));
  await load.more(50);
  redis.halt();
  try {
    const before = load.failures.length;
    await until('calls fail', () => load.failures.length > before + 20);
    const result = await held;
    expect('error' in result && isRetryable(result.error)).toBe(true);
  } finally {
    redis.resume();
  }
  await load.more(50);
  await load.stop();
  expect(load.failures.filter((error) => !isRetryable(error))).toEqual([]);
  expect(new Set(b.runs).size).toBe(b.runs.length);
});

interface Line {
  time: number;
  module: string;
  err?: { type: string };
  repeated?: number;
}

/**
 * Errors of the framework's transit, which logs one for each message that it cannot send without a
 * connection.
 */
const unconnected = (node: TestNode): Line[] =>
  node.log
    .map((line) => JSON.parse(line) as Line)
    .filter(({ module, err }) => module === 'transit' && err?.type === 'BrokerDisconnectedError');

test('during a Redis outage a node logs one line a second, with the number of requests', async () => {
  [a, b] = await cluster.startAll('a', 'b');
  const load = new Load();
  await load.more(100);
  const before = load.failures.length;
  await redis.kill();
  await until('calls fail', () => load.failures.length > before + 2_000);
  const ofTransit = () => unconnected(a);
  await until('some are counted', () => ofTransit().some(({ repeated = 1 }) => repeated > 100));
  await redis.restart();
  await load.more(100);
  await load.stop();
  const failed = load.failures.filter(({ name }) => name === 'BrokerDisconnectedError').length;
  expect(failed).toBeGreaterThan(1_000);
  const standsFor = () => ofTransit().reduce((sum, { repeated = 1 }) => sum + repeated, 0);
  await until('each of them is counted', () => standsFor() >= failed);
  const lines = ofTransit();
  for (let at = 1; at < lines.length; at++) expect(lines[at].time - lines[at - 1].time).toBeGreaterThanOrEqual(990);
});
