import { describe, expect, test } from '@jest/globals';
import {
  DEAD_AFTER_MS,
  RENEW_EVERY_MS,
  WATCH_EVERY_MS,
} from '../../../services/shards/cluster/ownership/lease-terms.ts';
import { type Figures, Scenario } from './scenario.ts';

const SHARDS_PER_NODE = 100;
export const SEED = Number(process.env.PROVEC_SCALE_SEED ?? 1);
/** Bound on imbalance, in multiples of the mean: the planner's bound plus about one shard. */
const BALANCED = 1.3;
/** Time, in ms, until all other nodes know that a node was killed. */
export const FOUND_DEAD_MS = DEAD_AFTER_MS + RENEW_EVERY_MS + 2 * WATCH_EVERY_MS;

function isBalanced({ after }: Figures): void {
  expect(after.bytes).toBeLessThan(BALANCED);
  expect(after.load).toBeLessThan(BALANCED);
}

/**
 * Tests every event that can happen to a cluster of `nodes` nodes, one after another.
 * `returnedMax`: share of the first balance's moves that may be undone.
 */
export function testEveryEvent(nodes: number, returnedMax = 0.1): void {
  describe(`${nodes} nodes with a hundred shards each, seed ${SEED} (PROVEC_SCALE_SEED)`, () => {
    const scenario = new Scenario(SEED, nodes, nodes * SHARDS_PER_NODE);

    test('few moves balance shards of very unequal sizes', () => {
      const figures = scenario.settle();
      isBalanced(figures);
      expect(figures.movedBytes).toBeLessThan(0.08);
      expect(figures.returned).toBeLessThan(returnedMax * figures.moves + 2);
      expect(figures.stableAfterMs).toBeLessThan(20 * 60_000);
    }, 600_000);

    test("when balanced nothing moves, and a node's calls to the store do not grow with the cluster", () => {
      const { moves, messages, operations, rows } = scenario.steady();
      expect(moves).toBe(0);
      expect(messages.perSecond).toBe(0);
      expect(operations.perSecond / nodes).toBeLessThan(3);
      expect(rows.perSecond / nodes).toBeLessThan(25);
    }, 600_000);

    test('a node that joins gets its share, and little else moves', () => {
      const figures = scenario.join();
      isBalanced(figures);
      expect(figures.movedBytes).toBeGreaterThan(0.5 * figures.idealBytes);
      expect(figures.movedBytes).toBeLessThan(2 * figures.idealBytes);
      expect(figures.returned).toBeLessThan(0.1 * figures.moves + 2);
      expect(figures.stableAfterMs).toBeLessThan(30 * 60_000);
    }, 600_000);

    test('a drained node hands over everything', () => {
      const figures = scenario.leave();
      isBalanced(figures);
      expect(figures.movedBytes).toBeGreaterThanOrEqual(figures.idealBytes);
      expect(figures.movedBytes).toBeLessThan(2 * figures.idealBytes + 0.02);
      expect(figures.stableAfterMs).toBeLessThan(30 * 60_000);
    }, 600_000);

    test.each([
      ['one node', 0],
      ['a tenth of all nodes at one moment', 0.1],
    ])(
      'the others serve the shards of %s that was killed',
      (_, part) => {
        const figures = scenario.kill(part);
        isBalanced(figures);
        expect(figures.foundDeadMs).toBeLessThan(FOUND_DEAD_MS);
        expect(figures.awayMaxMs).toBeLessThan(120_000);
        expect(figures.movedBytes).toBeGreaterThanOrEqual(figures.idealBytes);
        expect(figures.movedBytes).toBeLessThan(1.5 * figures.idealBytes + 0.01);
        for (const shard of scenario.cluster.shards.values()) {
          expect(shard.awayMs).toBeNull();
          expect(shard.node?.alive).toBe(true);
        }
      },
      600_000,
    );
  });
}
