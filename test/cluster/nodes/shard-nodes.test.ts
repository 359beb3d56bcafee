import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import { shardIndexOf } from '../../../services/collections/shard-routing.ts';
import type { Store } from '../../../store/port.ts';
import { type ShardCluster, shardCluster } from '../../support/shard-cluster.ts';
import { withLog } from '../../support/store-log.ts';
import { until } from '../../support/until.ts';

let cluster: ShardCluster;
afterEach(() => cluster.end());

const NUMBERS = Array.from({ length: 2_000 }, (_, at) => `r${at}`);
const idsOf = (index: number) => NUMBERS.filter((id) => shardIndexOf(id, cluster.row.shards) === index).slice(0, 20);
const batch = (ids: string[], value: number) => ({
  ids,
  dimensions: 4,
  vectors: new Float32Array(ids.length * 4).fill(value),
  metadata: ids.map(() => JSON.stringify({ value })),
});
const QUERY = {
  vector: new Float32Array(4),
  topK: 100,
  filter: null,
  includeValues: false,
  includeMetadata: true,
  scoreThreshold: null,
  exact: false,
};

const write = (index: number, value: number, ids = idsOf(index)) =>
  cluster.call(cluster.specs[index]!, false, (node, leftMs) =>
    node.upsert({ shard: cluster.specs[index]!, batch: batch(ids, value), waitMs: leftMs }),
  );
const values = async (index: number): Promise<number[]> => {
  const { items } = await cluster.call(cluster.specs[index]!, true, (node) =>
    node.query({ shard: cluster.specs[index]!, query: QUERY }),
  );
  return [...new Set(items.map(({ metadata }) => (JSON.parse(metadata!) as { value: number }).value))];
};
const everyIndex = () => cluster.specs.map(({ index }) => index);
const writeAll = (value: number) => Promise.all(everyIndex().map((index) => write(index, value)));

/**
 * Writes and reads all shards until `done`, and expects each read to return the last write
 * acknowledged before it began.
 */
async function useMeanwhile(done: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = done.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  let rounds = 0;
  await Promise.all(
    everyIndex().map(async (index) => {
      for (let value = 1; !isOver; value++) {
        await write(index, value);
        expect(await values(index)).toEqual([value]);
        rounds++;
      }
    }),
  );
  await over;
  return rounds;
}

describe('shards on several nodes', () => {
  test('are spread, with one holder each; another node names the holder', async () => {
    cluster = await shardCluster(['a', 'b', 'c'], { shards: 16 });
    await writeAll(7);
    const holders = await cluster.holders();
    expect(new Set(holders)).toEqual(new Set(['a', 'b', 'c']));
    for (const index of everyIndex()) expect(await values(index)).toEqual([7]);
    const spec = cluster.specs[0]!;
    for (const [name, node] of cluster.nodes) {
      if (name === holders[0]) continue;
      await expect(node.query({ shard: spec, query: QUERY })).rejects.toEqual(new ShardMoved(holders[0]!));
      await expect(node.upsert({ shard: spec, batch: batch(idsOf(0), 1) })).rejects.toBeInstanceOf(ShardMoved);
    }
  });

  test('a shard moves during writes and reads, and no request fails', async () => {
    cluster = await shardCluster(['a', 'b', 'c']);
    await writeAll(0);
    const [holder] = await cluster.holders();
    const to = ['a', 'b', 'c'].find((name) => name !== holder)!;
    const key = `${cluster.row.id}.0`;
    const move = async () => {
      for (const [from, target] of [
        [holder!, to],
        [to, holder!],
        [holder!, to],
      ] as const) {
        await cluster.nodes.get(from)!.cluster.move(key, target);
        expect((await cluster.holders())[0]).toBe(target);
      }
    };
    expect(await useMeanwhile(move())).toBeGreaterThan(0);
    await expect(cluster.nodes.get(to)!.cluster.move(key, 'nobody')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('a node that leaves hands over what it holds, and no request fails', async () => {
    cluster = await shardCluster(['a', 'b', 'c'], { shards: 8 });
    await writeAll(0);
    expect(await useMeanwhile(cluster.stop('a'))).toBeGreaterThan(0);
    expect(await cluster.holders()).not.toContain('a');
    await useMeanwhile(cluster.stop('b'));
    expect(new Set(await cluster.holders())).toEqual(new Set(['c']));
    await cluster.join('d');
    await writeAll(3);
  });

  test('a node that stops while it opens a shard redirects callers', async () => {
    const looking = Promise.withResolvers<void>();
    const seen = Promise.withResolvers<void>();
    const slow = (store: Store, name: string): Store =>
      withLog((real) => ({
        async head(...given) {
          if (name === 'a') {
            looking.resolve();
            await seen.promise;
          }
          return real.head(...given);
        },
      }))(store);
    cluster = await shardCluster(['a', 'b'], { shards: 1 }, slow);
    const node = cluster.nodes.get('a')!;
    const [spec] = cluster.specs;
    const written = node.upsert({ shard: spec!, batch: batch(idsOf(0), 1) });
    written.catch(() => undefined);
    await looking.promise;
    const stopped = cluster.stop('a');
    const isRefused = () =>
      node.query({ shard: spec!, query: QUERY }).then(
        () => false,
        () => true,
      );
    await until('it takes nothing any more', () => Promise.race([isRefused(), turn(false)]));
    seen.resolve();
    await expect(written).rejects.toBeInstanceOf(ShardMoved);
    await stopped;
    await write(0, 2);
  });

  test('a drained node takes nothing until it restarts', async () => {
    cluster = await shardCluster(['a', 'b'], { shards: 8 });
    await writeAll(1);
    await cluster.nodes.get('a')!.cluster.drain();
    expect(new Set(await cluster.holders())).toEqual(new Set(['b']));
    expect(cluster.nodes.get('a')!.held()).toEqual([]);
    const move = () => cluster.nodes.get('b')!.cluster.move(`${cluster.row.id}.0`, 'a');
    await until('b knows that a takes nothing', async () => {
      const refusal: unknown = await move().catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Error);
      return (refusal as { code?: string }).code === 'INVALID_ARGUMENT';
    });
    await writeAll(2);
    expect(new Set(await cluster.holders())).toEqual(new Set(['b']));
  });

  test('the shards of a killed node are taken over with everything that it acknowledged', async () => {
    cluster = await shardCluster(['a', 'b', 'c'], { shards: 8 });
    await writeAll(5);
    const before = await Promise.all(cluster.specs.map((spec) => cluster.call(spec, true, (node) => node.head(spec))));
    const held = (await cluster.holders()).filter((holder) => holder === 'b').length;
    expect(held).toBeGreaterThan(0);
    await cluster.kill('b');
    for (const index of everyIndex()) expect(await values(index)).toEqual([5]);
    expect(await cluster.holders()).not.toContain('b');
    const after = await Promise.all(cluster.specs.map((spec) => cluster.call(spec, true, (node) => node.head(spec))));
    after.forEach(({ seq, hash, count }, at) => {
      expect({ hash, count }).toEqual({ hash: before[at]!.hash, count: before[at]!.count });
      expect(seq).toBeGreaterThanOrEqual(before[at]!.seq);
    });
  });
});

describe('followers', () => {
  const follower = async (): Promise<string> => {
    const [holder] = await cluster.holders();
    const followed = () => cluster.nodes.get(holder!)?.held()[0];
    await until('the copy is as far as the shard', () => {
      const shard = followed();
      return shard?.followers[0]?.seq === shard?.seq && shard !== undefined;
    });
    return followed()!.followers[0]!.node;
  };

  test('read what was committed, report how far they are, and take over', async () => {
    cluster = await shardCluster(['a', 'b', 'c'], { shards: 1, replicas: 1 });
    await write(0, 1);
    await write(0, 2);
    const name = await follower();
    const spec = cluster.specs[0]!;
    const copy = await cluster.nodes.get(name)!.query({ shard: spec, query: QUERY, eventual: true });
    expect(copy.items).toHaveLength(20);
    expect(copy.items.every(({ metadata }) => metadata === '{"value":2}')).toBe(true);
    await expect(cluster.nodes.get(name)!.query({ shard: spec, query: QUERY })).rejects.toBeInstanceOf(ShardMoved);
    const [holder] = await cluster.holders();
    await cluster.kill(holder!);
    expect(await values(0)).toEqual([2]);
    await write(0, 3);
    expect(await values(0)).toEqual([3]);
    expect((await follower()).length).toBe(1);
  });

  test('a copy that differs is discarded, counted, and recreated', async () => {
    let spoiled = '';
    const spoil = (store: Store, name: string): Store =>
      withLog((real) => ({
        async read(...given) {
          const entries = await real.read(...given);
          // Flips one byte of the first vector, as faulty memory or networks might.
          return name !== spoiled
            ? entries
            : entries.map((entry) => {
                if (entry.body.byteLength === 0) return entry;
                const body = Uint8Array.from(entry.body);
                body[body.byteLength - 1]! ^= 1;
                return { ...entry, body };
              });
        },
      }))(store);
    cluster = await shardCluster(['a', 'b'], { shards: 1, replicas: 1 }, spoil);
    await write(0, 1);
    const name = await follower();
    spoiled = name;
    await write(0, 2);
    await until('the difference is noticed', () => cluster.nodes.get(name)!.stats().mismatches > 0);
    spoiled = '';
    expect(await follower()).toBe(name);
    const copy = await cluster.nodes.get(name)!.query({ shard: cluster.specs[0]!, query: QUERY, eventual: true });
    expect(copy.items.every(({ metadata }) => metadata === '{"value":2}')).toBe(true);
  });
});
