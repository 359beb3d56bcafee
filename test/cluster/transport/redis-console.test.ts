import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../lib/merkle/leaf.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { startFolder } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { float32Bytes, tamperOnDisk } from '../../support/intruder.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { TEST_SECRET } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const LONG_MS = 120_000;
const BEFORE = [0.25, 0.5, -0.75];
const AFTER = [0.25, 0.5, 0.75];
const leafOf = (values: number[]) =>
  leafHashOf(keyHashOf('victim'), vecHashOf(Float32Array.from(values)), metaHashOf('{}'));

let redis: RedisServer;
let cluster: ClusterProcess;
let collectionId = '';

beforeAll(async () => {
  redis = await startRedis();
  cluster = await ClusterProcess.start(await startFolder(redis), {
    shardNodes: 1,
    environment: { PROVEC_BOOTSTRAP_PLAN: 'enterprise' },
  });
  const created = await cluster.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'vault',
    dimensions: 3,
    shards: 2,
  });
  collectionId = created.body.collection.id;
  for (const [id, values] of [
    ['first', [0, 1, 0]],
    ['victim', BEFORE],
    ['last', [0, 1, 0]],
  ] as const)
    await upsert(id, [...values]);
}, LONG_MS);
afterAll(async () => {
  await cluster?.dispose();
  await redis?.dispose();
});

/** Runs `npm run repl -- provec ...` with only the Redis URL and the secret of the cluster. */
async function provec(...words: string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    HOME: cluster.backing.dataDir,
    PROVEC_REDIS_URL: redis.url,
    PROVEC_SECRET: TEST_SECRET,
  };
  const { stdout } = await run('npm', ['run', '--silent', 'repl', '--prefix', ROOT, '--', 'provec', ...words], { env });
  return stdout;
}

async function upsert(id: string, values: number[]): Promise<void> {
  expect(await cluster.api('POST', '/collections/vault/upsert', { records: [{ id, values }] })).toMatchObject({
    status: 200,
  });
}

const verify = async () => (await cluster.api<VerifyResult>('GET', '/collections/vault/verify')).body;
const anchored = async () => (await cluster.store.anchors.get(collectionId))?.confirmed?.version ?? 0;

test('npm run repl joins a cluster over Redis and shows its nodes and shards', async () => {
  const [nodes, shards] = await Promise.all([provec('nodes'), provec('shards', 'default/vault')]);
  expect(nodes).toMatch(/^Shard node +State .*\nshards-0 +serving +2 /);
  for (const name of ['control-1', 'gateway-1']) expect(nodes).toMatch(new RegExp(`^${name} +there `, 'm'));
  const [head, ...rows] = shards.trimEnd().split('\n');
  expect(head).toMatch(/^Shard +Collection +Node +State +Epoch +Seq +Records /);
  expect(rows).toHaveLength(2);
  rows.forEach((row, index) => {
    expect(row).toMatch(new RegExp(`^${collectionId}\\.${index} +vault +shards-0 +open +\\d`));
  });
});

test(
  'after stored bytes changed, nothing is anchored until provec resume',
  async () => {
    const { store, shardNodes } = cluster;
    expect(await verify()).toMatchObject({ state: 'match' });
    for (const key of [shardKey(collectionId, 0), shardKey(collectionId, 1)]) {
      await until(
        'the records are materialised',
        async () => (await store.records.appliedSeq(key)) === ((await store.log.head(key))?.seq ?? 0),
      );
    }
    const [node] = shardNodes;
    await node!.stop();
    // Closing a lock file would release this process's locks on it.
    for (const [bytes, instead] of [
      [float32Bytes(BEFORE), float32Bytes(AFTER)],
      [leafOf(BEFORE), leafOf(AFTER)],
    ] as const)
      expect(tamperOnDisk(cluster.backing.dataDir, bytes, instead, /\.db(-wal)?$/)).toBeGreaterThan(0);
    await node!.start();
    await cluster.ready();
    const before = await anchored();
    await upsert('later', [1, 0, 0]);
    expect(await verify()).toMatchObject({ state: 'mismatch', verified: false });
    await until('anchoring is halted', async () => (await store.anchors.get(collectionId))?.halted);
    expect(await anchored()).toBe(before);
    expect(await provec('anchors', 'halted')).toMatch(new RegExp(`^vault +${collectionId} +halted `, 'm'));

    expect(await provec('resume', 'default/vault')).toBe(`${collectionId} is anchored again.\n`);
    await until('what is stored is anchored', async () => (await anchored()) > before);
    expect(await verify()).toMatchObject({ state: 'match', verified: true });
    const resumed = await anchored();
    await upsert('at last', [0, 0, 1]);
    await until('so is what is written from then on', async () => (await anchored()) > resumed);
    expect(await verify()).toMatchObject({ state: 'match', verified: true, vectorCount: 5 });
  },
  LONG_MS,
);
