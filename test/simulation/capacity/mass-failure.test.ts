import { expect, test } from '@jest/globals';
import { FOUND_DEAD_MS, SEED } from './course.ts';
import { ModelledCluster } from './modelled-cluster.ts';

const NODES = 1_000;
const SHARDS = 100_000;

console.log(`1,000 nodes with 100,000 shards: seed ${SEED} (PROVEC_SCALE_SEED)`);
const cluster = new ModelledCluster(SEED, NODES, SHARDS);

test('half a minute idle and a mass failure: bounded work for the store, and all are served again', () => {
  cluster.time.run(30_000);
  const rest = cluster.traffic.between('operations', 5_000, 30_000);
  expect(rest.perSecond / NODES).toBeLessThan(3);
  expect(cluster.traffic.between('rows', 5_000, 30_000).perSecond / NODES).toBeLessThan(30);
  // For comparison: the rate of Moleculer's own heartbeats.
  expect(cluster.traffic.between('heartbeats', 5_000, 30_000).perSecond).toBeGreaterThan(490_000);
  const killed = cluster.alive().filter((node, at) => at % 10 === 0 && !node.isBusy);
  expect(killed.length).toBeGreaterThan(20);
  cluster.kill(killed);
  cluster.time.run(120_000);
  expect(cluster.foundDeadMs).toHaveLength(killed.length);
  expect(Math.max(...cluster.foundDeadMs)).toBeLessThan(FOUND_DEAD_MS);
  const away = [...cluster.shards.values()].filter(({ node }) => node === null || !node.alive);
  expect(away).toEqual([]);
  expect(cluster.traffic.between('operations', 30_000, 120_000).peak).toBeLessThan(100_000);
}, 300_000);

test('placing all shards, twice, takes seconds; a join moves the ideal share', () => {
  const { placement } = cluster;
  const joined = placement.with([...placement.nodes, { node: 'joined', weight: placement.nodes[0]!.weight }]);
  const moved = [...cluster.shards.keys()].filter((shard) => joined.preferred(shard) !== placement.preferred(shard));
  expect(moved.every((shard) => joined.preferred(shard) === 'joined')).toBe(true);
  expect(moved.length).toBeGreaterThan(60);
  expect(moved.length).toBeLessThan(140);
  const counts = new Map<string, number>();
  for (const shard of cluster.shards.keys()) {
    const node = placement.preferred(shard)!;
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  expect(Math.max(...counts.values())).toBeLessThan(150);
  expect(Math.min(...counts.values())).toBeGreaterThan(60);
});
