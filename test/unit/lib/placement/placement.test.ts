import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { listEveryMs, watchedLeases } from '../../../../lib/placement/lease-ring.ts';
import { Placement } from '../../../../lib/placement/placement.ts';

const NODES = 20;
const SHARDS = 20_000;
const GIB = 2 ** 30;

const nodes = Array.from({ length: NODES }, (_, at) => ({ node: `provec-shards-${at}`, weight: 1 }));
const shards = Array.from(
  { length: SHARDS },
  (_, at) => `c0000000-0000-4000-8000-${String(at >> 3).padStart(12, '0')}.${at & 7}`,
);
const placement = new Placement(nodes);

function countBy(names: Iterable<string | null>): Map<string | null, number> {
  const counts = new Map<string | null, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Chi-square divided by its degrees of freedom; near 1 for random counts. */
function unevenness(counts: Iterable<number>): number {
  const all = [...counts];
  const mean = all.reduce((sum, count) => sum + count, 0) / all.length;
  return all.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0) / (all.length - 1);
}

describe('the order of nodes for a shard', () => {
  test('chooses no node more often than chance explains, even if names differ only by a digit', () => {
    expect(unevenness(countBy(shards.map((shard) => placement.preferred(shard))).values())).toBeLessThan(2.5);
  });

  test('spreads the shards of a leaving node evenly over all others', () => {
    const next = shards
      .filter((shard) => placement.preferred(shard) === nodes[7]!.node)
      .map((shard) => placement.order(shard, 2)[1]!);
    const counts = countBy(next);
    expect(counts.size).toBe(NODES - 1);
    expect(unevenness(counts.values())).toBeLessThan(2.5);
  });

  test('is the same from any order of the nodes, and from any earlier placement', () => {
    const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 });
    const lists = fc.array(fc.record({ from: names, weight: fc.constantFrom(1, 2, 48 * GIB) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(lists, (changes) => {
        let known = new Placement([]);
        for (const { from, weight } of changes) {
          const list = from.map((node, at) => ({ node, weight: at % 2 === 0 ? weight : 1 }));
          known = known.with(list);
          const fresh = new Placement([...list].reverse());
          for (const shard of shards.slice(0, 20)) {
            expect(known.preferred(shard)).toBe(fresh.preferred(shard));
            expect(known.order(shard, 12)).toEqual(fresh.order(shard, 12));
            expect(fresh.order(shard, 12)[0]).toBe(fresh.preferred(shard));
            expect(new Set(fresh.order(shard, 12)).size).toBe(from.length);
            expect(fresh.firstOf(shard, [...from], () => true)).toBe(fresh.preferred(shard));
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test('moves only its share to a node that joins, and only that back when it leaves', () => {
    for (const shard of shards) placement.preferred(shard);
    const more = placement.with([...nodes, { node: 'joined', weight: 1 }]);
    const moved = shards.filter((shard) => more.preferred(shard) !== placement.preferred(shard));
    expect(moved.every((shard) => more.preferred(shard) === 'joined')).toBe(true);
    const ideal = SHARDS / (NODES + 1);
    expect(Math.abs(moved.length - ideal)).toBeLessThan(4 * Math.sqrt(ideal));
    const again = more.with(nodes);
    expect(shards.every((shard) => again.preferred(shard) === placement.preferred(shard))).toBe(true);
  });

  test('gives a node of three times the weight three times as much', () => {
    const weighted = placement.with(nodes.map(({ node }, at) => ({ node, weight: at === 3 ? 3 : 1 })));
    const count = countBy(shards.map((shard) => weighted.preferred(shard))).get(nodes[3]!.node)!;
    const ideal = (SHARDS * 3) / (NODES + 2);
    expect(Math.abs(count - ideal)).toBeLessThan(4 * Math.sqrt(ideal));
  });

  test('is empty without nodes, and refuses duplicate names', () => {
    expect(new Placement([]).preferred(shards[0]!)).toBeNull();
    expect(() => new Placement([nodes[0]!, nodes[0]!])).toThrow(RangeError);
    expect(() => new Placement([{ node: 'a', weight: 0 }])).toThrow(RangeError);
  });
});

describe('the leases that a node watches', () => {
  const incarnations = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 40 });

  test('are the next three of the ring, so three nodes watch each', () => {
    fc.assert(
      fc.property(incarnations, (all) => {
        const sorted = [...all].sort();
        const watchers = new Map<string, number>();
        sorted.forEach((own, at) => {
          const ring = [...sorted.slice(at + 1), ...sorted.slice(0, at)].slice(0, 3);
          expect(watchedLeases(own, all)).toEqual(ring);
          for (const watched of ring) watchers.set(watched, (watchers.get(watched) ?? 0) + 1);
        });
        for (const own of all) expect(watchers.get(own) ?? 0).toBe(Math.min(3, all.length - 1));
      }),
    );
  });

  test('the reads per second for a full view do not grow with the cluster', () => {
    for (const nodes of [1, 10, 100, 1_000, 10_000])
      expect(nodes / (listEveryMs(nodes) / 1_000)).toBeLessThanOrEqual(20);
    expect(listEveryMs(10)).toBe(1_000);
  });
});
