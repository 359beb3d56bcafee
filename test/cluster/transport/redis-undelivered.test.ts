import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { startRedis } from '../../support/redis-server.ts';
import { TransportCluster } from './cluster.ts';
import { NodeInProcess } from './node-in-process.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test.each([
  ['in one piece', 1_000],
  ['in parts', 3_000_000],
])('a call %s to a node killed a moment ago was not accepted, and may go elsewhere', async (_, bytes) => {
  const redis = await startRedis();
  ends.push(() => redis.dispose());
  const namespace = randomUUID();
  const node = await NodeInProcess.start({ nodeId: 'node', namespace, redisUrl: redis.url, isStock: false });
  ends.push(() => node.dispose());
  const cluster = new TransportCluster({ kind: 'redis', url: redis.url }, namespace);
  ends.push(() => cluster.stop());
  const { broker } = await cluster.start('caller');
  await broker.waitForServices('node');
  node.signal('SIGKILL');
  await node.ended;
  expect(broker.registry.nodes.get('node')).toMatchObject({ available: true });
  const call = broker.call('node.bytes', { bytes: new Uint8Array(bytes) }, { nodeID: 'node' });
  await expect(call).rejects.toBeInstanceOf(Errors.ServiceNotAvailableError);
});
