/**
 * Copies of shards with real stores and real memory: nodes in one process over one SQLite folder,
 * with one worker thread each.
 */
import { afterEach, expect, test } from '@jest/globals';
import { shardKey } from '../../../lib/shard/key.ts';
import type { QueryOptions } from '../../../lib/shard/match.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { shardIndexOf } from '../../../services/collections/shard-routing.ts';
import type { LogEntry, ShardLog } from '../../../store/log.ts';
import { type Store, StoreError } from '../../../store/port.ts';
import { randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { type ShardCluster, shardCluster } from '../../support/shard-cluster.ts';
import { until } from '../../support/until.ts';

const MIB = 2 ** 20;
const LIMIT_MIB = 64;
const WIDE = 1_024;

let cluster: ShardCluster;
afterEach(() => cluster.end());

let written = 0;
/** Writes `count` new records to a shard. */
async function write(spec: ShardSpec, count: number): Promise<void> {
  const ids: string[] = [];
  while (ids.length < count) {
    const id = `r${written++}`;
    if (shardIndexOf(id, spec.of) === spec.index) ids.push(id);
  }
  const random = randomFrom(seed + written);
  const vectors = new Float32Array(count * spec.dimensions);
  for (let at = 0; at < vectors.length; at++) vectors[at] = random();
  const batch = { ids, dimensions: spec.dimensions, vectors, metadata: ids.map(() => '{}') };
  await cluster.call(spec, false, (node, leftMs) => node.upsert({ shard: spec, batch, waitMs: leftMs }));
}

const queryOf = ({ dimensions }: ShardSpec): QueryOptions => ({
  vector: new Float32Array(dimensions).fill(1),
  topK: 1,
  filter: null,
  includeValues: false,
  includeMetadata: false,
  scoreThreshold: null,
  exact: false,
});
const read = async (spec: ShardSpec) =>
  (await cluster.call(spec, true, (node) => node.query({ shard: spec, query: queryOf(spec) }))).items.length;
const seqAt = (node: string) => cluster.nodes.get(node)!.held()[0]?.seq;
const followerSeqAt = (node: string) => cluster.nodes.get(node)!.held()[0]?.followers[0]?.seq;

/** The store, with log reads passed through `reads`. */
function withReads(store: Store, reads: (read: () => Promise<LogEntry[]>) => Promise<LogEntry[]>): Store {
  const log = new Proxy(store.log, {
    get(target, name: keyof ShardLog) {
      if (name === 'read') return (...given: Parameters<ShardLog['read']>) => reads(() => target.read(...given));
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...store, log };
}

/**
 * A cluster of two nodes with one shard, which the second node follows. `reads` intercepts the
 * follower's log reads.
 */
async function followed(dimensions: number, reads: (read: () => Promise<LogEntry[]>) => Promise<LogEntry[]>) {
  let follower = '';
  cluster = await shardCluster(['a', 'b'], { shards: 1, replicas: 1, dimensions }, (store, name) =>
    withReads(store, (read) => (name === follower ? reads(read) : read())),
  );
  const spec = cluster.specs[0]!;
  await write(spec, 10);
  const [holder] = await cluster.holders();
  follower = holder === 'a' ? 'b' : 'a';
  await until('the shard is followed', () => followerSeqAt(holder!) === seqAt(holder!));
  return { spec, holder: holder!, follower };
}

test('a copy that was interrupted in the middle of the log continues, and takes over', async () => {
  const gate = Promise.withResolvers<void>();
  let state: 'well' | 'held' | 'failed' = 'well';
  let calls = 0;
  const { spec, holder } = await followed(WIDE, async (read) => {
    if (state !== 'held') return read();
    await gate.promise;
    // The first read finishes what began earlier; the second returns part of the new entries.
    if (++calls < 3) return read();
    state = 'failed';
    throw new StoreError('unavailable', 'The store is away for a moment.');
  });
  // Makes the shard so large that its log is kept longer.
  for (let i = 0; i < 7; i++) await write(spec, 300);
  await until('the copy has that', () => followerSeqAt(holder) === seqAt(holder));
  state = 'held';
  for (let i = 0; i < 12; i++) await write(spec, 300);
  gate.resolve();
  await until('it failed on the way', () => state === 'failed');
  await until('the copy has everything', () => followerSeqAt(holder) === seqAt(holder));
  await cluster.kill(holder);
  expect(await read(spec)).toBe(1);
});

test('a copy that is dropped while its holder ends does not take the shard with it', async () => {
  const gate = Promise.withResolvers<void>();
  let isSlow = false;
  let isWaiting = false;
  const { spec, holder, follower } = await followed(4, async (read) => {
    if (isSlow) {
      isWaiting = true;
      await gate.promise;
    }
    return read();
  });
  isSlow = true;
  await write(spec, 10);
  await until('the copy reads', () => isWaiting);
  const taker = cluster.nodes.get(follower)!;
  const dropping = taker.forget(spec.collectionId);
  isSlow = false;
  const killing = cluster.kill(holder);
  gate.resolve();
  await Promise.all([dropping, killing]);
  for (let i = 0; i < 3; i++) expect(await read(spec)).toBe(1);
});

test('shards and copies stay within the memory limit together, and copies give way to writes', async () => {
  cluster = await shardCluster(['a', 'b'], { shards: 2, replicas: 1, dimensions: WIDE }, undefined, {
    PROVEC_MEMORY_LIMIT_MB: String(LIMIT_MIB),
  });
  const { specs, nodes } = cluster;
  for (const spec of specs) await write(spec, 250);
  const [first, second] = await cluster.holders();
  const other = first === 'a' ? 'b' : 'a';
  if (first === second) await nodes.get(first!)!.cluster.move(shardKey(specs[1]!.collectionId, 1), other);
  await until('each follows the other', () => [...nodes.values()].every((node) => node.stats().copiedBytes > 0));
  let most = 0;
  let isRefused = false;
  for (let rounds = 0; !isRefused; rounds++) {
    expect(rounds).toBeLessThan(200);
    await write(specs[rounds % 2]!, 250).catch((error) => {
      expect(error).toMatchObject({ code: 'OUT_OF_CAPACITY' });
      isRefused = true;
    });
    for (const node of nodes.values()) most = Math.max(most, node.stats().bytes + node.stats().copiedBytes);
  }
  expect(most).toBeLessThan(1.05 * LIMIT_MIB * MIB);
  expect(Math.max(...[...nodes.values()].map((node) => node.stats().bytes))).toBeGreaterThan(0.85 * LIMIT_MIB * MIB);
});

test('a deleted collection uses no memory on any node, and late calls leave nothing behind', async () => {
  cluster = await shardCluster(['a', 'b'], { shards: 4, dimensions: 64 });
  const { store, nodes, row, specs } = cluster;
  for (const spec of specs) await write(spec, 200);
  const weights = async () => (await store.leases.list()).map(({ use }) => use!.bytes);
  await until('the leases say what there is', async () => (await weights()).every((bytes) => bytes > 0));
  await store.catalog.dropCollection(row.id, true);
  for (const node of nodes.values()) await node.forget(row.id);
  await nodes.get('a')!.drop(row.id);
  await until('the leases say nothing any more', async () => (await weights()).every((bytes) => bytes === 0));
  for (const spec of specs) await expect(read(spec)).rejects.toMatchObject({ code: 'COLLECTION_NOT_FOUND' });
  expect(await store.owners.list(row.id)).toEqual([]);
  expect((await store.log.heads(row.id)).size).toBe(0);
});
