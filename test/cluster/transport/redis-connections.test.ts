import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Errors } from 'moleculer';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { outcome, type TestNode, TransportCluster } from './cluster.ts';
import { NodeInProcess } from './node-in-process.ts';
import { RedisRelay } from './redis-relay.ts';

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

describe('one connection of one node ends', () => {
  let admin: Redis;
  beforeEach(async () => {
    [a, b] = await cluster.startAll('a', 'b');
    admin = new Redis(redis.url);
  });
  afterEach(() => admin.disconnect());

  /** Closes the connections of one kind that belong to the node that connected last. */
  async function endNewest(kind: 'pubsub' | 'normal'): Promise<void> {
    const clients = String(await admin.call('CLIENT', 'LIST', 'TYPE', kind))
      .trim()
      .split('\n');
    const own = String(await admin.client('ID'));
    const ids = clients.map((line) => /^id=(\d+)/.exec(line)![1]).filter((id) => id !== own);
    await admin.client('KILL', 'ID', ids.at(-1)!);
  }

  test.each(['pubsub', 'normal'] as const)('%s: an answer waits for it to reconnect', async (kind) => {
    const call = a.broker.call<Float32Array, unknown>('b.hold', { length: 200_000 });
    await until('it is there', () => b.held === 1);
    await endNewest(kind);
    b.release();
    expect((await call).length).toBe(200_000);
    expect(await b.metric('reconnects_total')).toBe(1);
    expect(await a.metric('reconnects_total')).toBe(0);
  });

  test('notices a subscription that no longer receives', async () => {
    const relay = await RedisRelay.start(redis.port);
    try {
      const deaf = new TransportCluster({ kind: 'redis', url: relay.url }, cluster.namespace);
      const c = await deaf.start('c', { redisReplyMaxMs: 500 });
      await until('a sees c', () => a.broker.registry.hasService('c', 'c'));
      relay.deafen();
      await until('it has connected again', async () => (await c.metric('reconnects_total')) === 1);
      await until('it answers', async () => 'value' in (await outcome(a.broker.call('c.echo', {}, { timeout: 1000 }))));
      await deaf.stop();
    } finally {
      await relay.stop();
    }
  });
});

describe('a node in its own process', () => {
  let node: NodeInProcess;
  beforeEach(async () => {
    a = await cluster.start('a');
    node = await NodeInProcess.start({
      nodeId: 'p',
      namespace: cluster.namespace,
      redisUrl: redis.url,
      isStock: false,
    });
    await until('a sees it', () => a.broker.registry.hasService('p', 'p'));
  });
  afterEach(() => node.dispose());

  test('that freezes while 64 MB are sent gets them when it continues', async () => {
    const call = a.broker.call<number, unknown>('p.bytes', { bytes: new Uint8Array(64 << 20) });
    await until('some of it is sent', async () => (await a.metric('parts_total')) > 20);
    node.signal('SIGSTOP');
    // Waits until the window is full: several polls in a row without a new part.
    let sent = 0;
    let still = 0;
    await until('the sender waits', async () => {
      const parts = await a.metric('parts_total');
      still = parts === sent ? still + 1 : 0;
      sent = parts;
      return still > 50;
    });
    node.signal('SIGCONT');
    expect(await call).toBe(64 << 20);
    expect((await node.order('metric', { name: 'reconnects_total' })).value).toBe(0);
  });

  test('that is killed fails the calls in flight once the next one starts', async () => {
    const held = outcome(a.broker.call('p.hold', {}));
    node.signal('SIGKILL');
    await node.ended;
    const next = await outcome(a.broker.call('p.bytes', { bytes: [] }, { timeout: 5000 }));
    expect('error' in next && isRetryable(next.error)).toBe(true);
    // The node is not given up yet, because it might only be reconnecting.
    expect(a.broker.registry.hasService('p', 'p')).toBe(true);
    const result = await held;
    expect('error' in result && isRetryable(result.error)).toBe(true);
    expect(a.broker.registry.hasService('p', 'p')).toBe(false);
    expect(a.log.join()).not.toContain('Heartbeat is not received');
  });
});
