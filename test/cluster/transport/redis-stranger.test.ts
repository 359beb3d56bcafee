/**
 * An attacker who can reach Redis but does not have the installation's secret. The attacker reads
 * every message, replays all of them, and joins with another secret.
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { FORGED_TRANSPORT_KEYS } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';
import { type TestNode, TransportCluster } from './cluster.ts';

let redis: RedisServer;
let cluster: TransportCluster;
let a: TestNode;
let b: TestNode;
let ear: Redis;
let mouth: Redis;
const heard: { channel: Buffer; message: Buffer }[] = [];

beforeEach(async () => {
  redis = await startRedis();
  ear = new Redis(redis.url);
  mouth = new Redis(redis.url);
  await ear.psubscribe('*');
  heard.length = 0;
  ear.on('pmessageBuffer', (_: Buffer, channel: Buffer, message: Buffer) => void heard.push({ channel, message }));
  cluster = new TransportCluster({ kind: 'redis', url: redis.url });
  [a, b] = (await cluster.startAll('a', 'b')) as [TestNode, TestNode];
});
afterEach(async () => {
  await cluster.stop();
  ear.disconnect();
  mouth.disconnect();
  await redis.dispose();
});

/** Replays all messages seen so far, and waits until they were delivered. */
async function playAgain(): Promise<void> {
  for (const { channel, message } of [...heard]) await mouth.publish(channel, message);
  const end = `end ${heard.length}`;
  await mouth.publish('end', end);
  await until('all has come back', () => heard.some(({ message }) => message.toString() === end));
}

test('a stranger can read nothing, and replayed packets are refused by these processes and the next ones', async () => {
  await a.broker.call('b.count', { key: 'a-word-to-look-for' });
  await a.broker.call('b.echo', { words: 'another-word'.repeat(100_000) });
  expect(b.runs).toEqual(['a-word-to-look-for']);
  for (const { message } of heard) expect(message.toString('latin1')).not.toMatch(/word|count|echo|services/);

  await playAgain();
  expect(b.runs).toEqual(['a-word-to-look-for']);
  expect(await b.metric('drops_total')).toBeGreaterThan(0);

  cluster.nodes.splice(cluster.nodes.indexOf(b), 1);
  await b.stop();
  const next = await cluster.start('b');
  await cluster.meet();
  await playAgain();
  await playAgain();
  expect(next.runs).toEqual([]);
  expect(await a.broker.call('b.whoCalls')).toBe('a');
});

test('under another secret a stranger finds no node, and no node finds it', async () => {
  const stranger = await cluster.start('stranger', {}, null, FORGED_TRANSPORT_KEYS);
  for (const member of [a, b])
    await until('what he sent was dropped', async () => (await member.metric('drops_total')) > 0);
  for (const id of ['a', 'b']) {
    expect(stranger.broker.registry.hasService(id, id)).toBe(false);
    await expect(stranger.broker.call(`${id}.count`, { key: 'x' }, { nodeID: id })).rejects.toThrow();
  }
  expect(a.broker.registry.hasService('stranger', 'stranger')).toBe(false);
  expect([...a.runs, ...b.runs]).toEqual([]);
});
