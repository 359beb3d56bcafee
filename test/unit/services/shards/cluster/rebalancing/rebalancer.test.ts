import { describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { type NodeShard, Rebalancer } from '../../../../../../services/shards/cluster/rebalancing/rebalancer.ts';
import type { OfferRefusal } from '../../../../../../services/shards/cluster/rebalancing/shard-offer.ts';
import type { LeaseRow } from '../../../../../../store/owners.ts';
import { VirtualTime } from '../../../../../simulation/ownership/virtual-time.ts';

const LOG = pino({ level: 'silent' });
const GIB = 2 ** 30;
/** Longer than the time until the next check. */
const MOVE_MS = 5_000;
/** A shard rests this long before it moves, and each move is followed by a pause. */
const SETTLED_MS = 600_000;

interface Held extends NodeShard {
  node: string;
}

/**
 * Nodes with the real rebalancer, which publish their shards to each other at once; moves take
 * time.
 */
class Board {
  readonly time = new VirtualTime();
  readonly shards: Held[];
  readonly rebalancers = new Map<string, Rebalancer>();
  readonly draining = new Set<string>();
  readonly moves: { shard: string; from: string; to: string; atMs: number; how: 'open' | 'resting' }[] = [];
  readonly offers: { from: string; to: string; atMs: number }[] = [];
  readonly #underWay = new Map<string, number>();
  mostAtOnce = 0;
  refuses: (to: string) => OfferRefusal | null = () => null;

  constructor(nodes: string[], shards: Held[]) {
    this.shards = shards;
    for (const node of nodes) this.join(node);
  }

  join(node: string): void {
    const clock = { monotonicMs: () => this.time.nowMs };
    const rebalancer = new Rebalancer({
      clock,
      timers: this.time,
      log: LOG,
      peers: {
        node,
        offer: async (to, arrival) => {
          this.offers.push({ from: node, to, atMs: this.time.nowMs });
          return this.refuses(to) ?? this.rebalancers.get(to)!.considerOffer(arrival);
        },
      },
      own: () => this.#use(node),
      live: () => [...this.rebalancers.keys()].map((name) => this.#lease(name)),
      held: () => this.#of(node),
      handOver: {
        move: async (shard, to) => {
          this.#count(node, 1);
          await this.time.delay(MOVE_MS);
          this.#count(node, -1);
          this.#give(shard, to, 'open');
          this.rebalancers.get(to)!.arrived();
        },
        giveUnloaded: async (shard, to) => this.#give(shard, to, 'resting'),
      },
      pool: { busyThreads: 0 },
    });
    this.rebalancers.set(node, rebalancer);
    rebalancer.start();
  }

  held(node: string): string[] {
    return this.#of(node).map(({ shard }) => shard);
  }

  run(ms: number): Promise<void> {
    return this.time.run(this.time.nowMs + ms);
  }

  #of(node: string): Held[] {
    return this.shards.filter((shard) => shard.node === node);
  }

  #give(key: string, to: string, how: 'open' | 'resting'): void {
    const shard = this.shards.find((other) => other.shard === key)!;
    this.moves.push({ shard: key, from: shard.node, to, atMs: this.time.nowMs, how });
    shard.node = to;
  }

  #count(node: string, change: number): void {
    const count = (this.#underWay.get(node) ?? 0) + change;
    this.#underWay.set(node, count);
    this.mostAtOnce = Math.max(this.mostAtOnce, count);
  }

  #use(node: string) {
    const bytes = this.#of(node).reduce((sum, shard) => sum + shard.bytes, 0);
    return { node, draining: this.draining.has(node), bytes, memoryLimitBytes: 32 * GIB, load: 0, workers: 4 };
  }

  #lease(node: string): LeaseRow {
    const { draining, ...use } = this.#use(node);
    return { node, incarnation: node, beat: 1, draining, process: { pid: 1, startedAt: null, place: node }, use };
  }
}

function shardsOn(nodes: string[], count: number, busyMs: number | null = 0): Held[] {
  return Array.from({ length: count }, (_, at) => ({
    shard: `c0000000-0000-4000-8000-${String(at).padStart(12, '0')}.0`,
    bytes: GIB / 4,
    busyMs,
    followers: [],
    node: nodes[at % nodes.length]!,
  }));
}

describe('a node that joins', () => {
  test.each([
    ['open', 0],
    ['resting', null],
  ] as const)('gets its share of the shards, which are %s, and then moves end', async (how, busyMs) => {
    const board = new Board(['a', 'b'], shardsOn(['a', 'b'], 60, busyMs));
    await board.run(SETTLED_MS);
    board.join('c');
    const before = board.moves.length;
    await board.run(SETTLED_MS);
    const moves = board.moves.slice(before);
    expect(board.held('c').length).toBeGreaterThanOrEqual(12);
    expect(board.held('c').length).toBeLessThanOrEqual(26);
    expect(moves.every((move) => move.how === how)).toBe(true);
    // An unloaded shard moves without an offer to the target, because it costs the target nothing.
    expect(board.offers.length > 0).toBe(how === 'open');
    const settled = board.moves.length;
    await board.run(SETTLED_MS);
    expect(board.moves).toHaveLength(settled);
  });

  test('gets one shard at a time from each, none that arrived a moment ago, with pauses', async () => {
    const board = new Board(['a', 'b'], shardsOn(['a', 'b'], 60));
    board.join('c');
    await board.run(100_000);
    expect(board.moves).toEqual([]);
    await board.run(SETTLED_MS);
    expect(board.moves.length).toBeGreaterThan(10);
    expect(board.mostAtOnce).toBe(1);
    for (const from of ['a', 'b', 'c']) {
      const times = board.moves.filter((move) => move.from === from).map(({ atMs }) => atMs);
      times.forEach((atMs, at) => {
        // Each shard has 256 MiB, and moves are throttled to 32 MiB a second.
        if (at > 0) expect(atMs - times[at - 1]!).toBeGreaterThanOrEqual(8_000);
      });
    }
  });
});

test('a node that refused is not asked again for ten seconds', async () => {
  const board = new Board(['a', 'b'], shardsOn(['a'], 40));
  board.refuses = (to) => (to === 'b' ? 'busy' : null);
  await board.run(200_000);
  expect(board.moves).toEqual([]);
  const times = board.offers.map(({ atMs }) => atMs);
  expect(times.length).toBeGreaterThan(3);
  times.forEach((atMs, at) => {
    if (at > 0) expect(atMs - times[at - 1]!).toBeGreaterThanOrEqual(10_000);
  });
  board.refuses = () => null;
  await board.run(SETTLED_MS);
  expect(board.held('b').length).toBeGreaterThan(10);
});

test('a node that is about to leave gets nothing', async () => {
  const board = new Board(['a', 'b', 'c'], shardsOn(['a'], 40));
  board.draining.add('b');
  await board.run(SETTLED_MS);
  expect(board.held('b')).toEqual([]);
  expect(board.held('c').length).toBeGreaterThan(10);
  expect(board.offers.filter(({ to }) => to === 'b')).toEqual([]);
});
