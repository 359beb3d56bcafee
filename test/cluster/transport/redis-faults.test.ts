import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { NodeInProcess } from './node-in-process.ts';

/** Cleanup functions, newest first. */
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function redisServer(...settings: string[]): Promise<RedisServer> {
  const redis = await startRedis(...settings);
  ends.push(() => redis.dispose());
  return redis;
}

describe('Redis dies with a message in transit', () => {
  async function nodeThatLoses(
    isStock: boolean,
  ): Promise<{ node: NodeInProcess; redis: RedisServer; namespace: string }> {
    const redis = await redisServer();
    const namespace = randomUUID();
    const node = await NodeInProcess.start({ nodeId: 'node', namespace, redisUrl: redis.url, isStock });
    ends.push(() => node.dispose());
    redis.halt();
    await node.order('ping');
    await redis.kill();
    return { node, redis, namespace };
  }

  test("ends Moleculer's own process", async () => {
    const { node } = await nodeThatLoses(true);
    expect((await node.ended).code).not.toBe(0);
    expect(node.stderr).toMatch(/MaxRetriesPerRequestError|Connection is closed/);
  });

  test('does not harm ours', async () => {
    const { node, redis } = await nodeThatLoses(false);
    await redis.restart();
    await until(
      'it is connected again',
      async () => (await node.order('metric', { name: 'reconnects_total' })).value === 1,
    );
    expect(await node.order('node.bytes', { bytes: [] })).toMatchObject({ value: 0 });
    expect(node.isRunning).toBe(true);
    expect(node.stderr).toBe('');
  });
});

describe('Redis accepts one connection and at first refuses the other', () => {
  /**
   * Starts a node while Redis has room for only one of its two connections, then lets the second
   * in, and calls the node once from another.
   */
  async function calledOnce(isStock: boolean, subscriptions: number): Promise<unknown> {
    const redis = await redisServer('--maxclients', '2');
    const admin = new Redis(redis.url);
    ends.push(async () => admin.disconnect());
    const namespace = randomUUID();
    const starting = NodeInProcess.start({ nodeId: 'node', namespace, redisUrl: redis.url, isStock });
    await until('a connection was refused', async () => /rejected_connections:[1-9]/.test(await admin.info('stats')));
    await admin.config('SET', 'maxclients', '100');
    const node = await starting;
    ends.push(() => node.dispose());
    const channel = `MOL-${namespace}.REQ.node`;
    await until('it has subscribed', async () => (await admin.pubsub('NUMSUB', channel))[1] === subscriptions);
    const caller = await NodeInProcess.start({ nodeId: 'caller', namespace, redisUrl: redis.url, isStock });
    ends.push(() => caller.dispose());
    await until('the caller sees it', async () => (await caller.order('node.bytes', { bytes: [] })).value === 0);
    await caller.order('node.count', { key: 'once' });
    expect((await admin.pubsub('NUMSUB', channel))[1]).toBe(subscriptions);
    return (await node.order('runs')).value;
  }

  test("makes Moleculer's own subscribe twice, and run a call twice", async () => {
    expect(await calledOnce(true, 2)).toEqual(['once', 'once']);
  });

  test('lets ours subscribe once, and run a call once', async () => {
    expect(await calledOnce(false, 1)).toEqual(['once']);
  });
});
