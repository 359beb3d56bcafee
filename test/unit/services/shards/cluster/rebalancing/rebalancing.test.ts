import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ClusterUsage, type NodeUsage } from '../../../../../../lib/placement/cluster-usage.ts';
import { Placement } from '../../../../../../lib/placement/placement.ts';
import { loadAverage } from '../../../../../../services/shards/cluster/rebalancing/load-average.ts';
import { MoveThrottle } from '../../../../../../services/shards/cluster/rebalancing/move-throttle.ts';
import { type Move, nextMove, type OwnedShard } from '../../../../../../services/shards/cluster/rebalancing/planner.ts';
import { offerRefusal } from '../../../../../../services/shards/cluster/rebalancing/shard-offer.ts';
import { propertyRuns } from '../../../../../support/effort.ts';
import { randomFrom } from '../../../../../support/random.ts';

const GIB = 2 ** 30;
const RESTED_MS = 3_600_000;

interface Sized {
  shard: string;
  bytes: number;
  load: number;
  node: string;
  followers?: string[];
  heldForMs?: number;
}

/** Nodes and their shards; moves take no time. */
class Board {
  readonly shards: Sized[];
  nodes: string[];
  readonly draining = new Set<string>();
  readonly memoryLimitBytes = 48 * GIB;
  readonly workers = 8;

  constructor(nodes: string[], shards: Sized[]) {
    this.nodes = nodes;
    this.shards = shards;
  }

  use(node: string): NodeUsage {
    const held = this.shards.filter((shard) => shard.node === node);
    return {
      node,
      draining: this.draining.has(node),
      bytes: held.reduce((sum, { bytes }) => sum + bytes, 0),
      memoryLimitBytes: this.memoryLimitBytes,
      load: held.reduce((sum, { load }) => sum + load, 0),
      workers: this.workers,
    };
  }

  cluster(): ClusterUsage {
    return new ClusterUsage(this.nodes.map((node) => this.use(node)));
  }

  get placement(): Placement {
    return new Placement(this.cluster().staying());
  }

  held(node: string): OwnedShard[] {
    return this.shards
      .filter((shard) => shard.node === node)
      .map(({ shard, bytes, load, followers = [], heldForMs = RESTED_MS }) => ({
        shard,
        bytes,
        load,
        followers,
        heldForMs,
      }));
  }

  plan(node: string, use = this.cluster(), avoided: ReadonlySet<string> = new Set()): Move | null {
    return nextMove({ node, shards: this.held(node), use, placement: new Placement(use.staying()), avoided });
  }

  /** Lets all nodes plan in turn until none has anything to do; returns the moves. */
  settle(maxRounds = 2_000): (Move & { from: string })[] {
    const moves: (Move & { from: string })[] = [];
    for (let round = 0; round < maxRounds; round++) {
      const before = moves.length;
      for (const from of this.nodes) {
        const move = this.plan(from);
        if (move === null) continue;
        const shard = this.shards.find((other) => other.shard === move.shard)!;
        const refusal = offerRefusal(this.use(move.to), this.cluster(), false, { ...shard, reason: move.reason });
        expect(refusal).toBeNull();
        expect(shard.node).toBe(from);
        shard.node = move.to;
        moves.push({ ...move, from });
      }
      if (moves.length === before) return moves;
    }
    throw new Error('It does not come to rest.');
  }

  relative(of: 'bytes' | 'load'): number[] {
    const uses = this.nodes.filter((node) => !this.draining.has(node)).map((node) => this.use(node)[of]);
    const mean = uses.reduce((sum, value) => sum + value, 0) / uses.length;
    return uses.map((value) => value / mean);
  }
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `n${at}`);
}

/** Shards of log-normal sizes, each on its home node. */
function atHome(seed: number, nodes: string[], perNode: number, sigma = 1): Board {
  const random = randomFrom(seed);
  const size = (): number => {
    const gauss = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.exp(sigma * gauss - sigma ** 2 / 2);
  };
  const shards = Array.from({ length: nodes.length * perNode }, (_, at) => ({
    shard: `c${seed}.${at}`,
    bytes: ((20 * GIB) / perNode) * size(),
    load: (4 / perNode) * size(),
    node: '',
  }));
  const board = new Board(nodes, shards);
  const { placement } = board;
  for (const shard of shards) shard.node = placement.preferred(shard.shard)!;
  return board;
}

const seeds = fc.integer({ min: 0, max: 1_000_000 });

describe('a cluster left alone', () => {
  test('settles with no node far over the mean, by bytes and by load, and stays so', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 2, max: 12 }), (seed, count) => {
        const board = atHome(seed, names(count), 50);
        const moves = board.settle();
        expect(Math.max(...board.relative('bytes'))).toBeLessThan(1.35);
        expect(Math.max(...board.relative('load'))).toBeLessThan(1.35);
        expect(moves.length).toBeLessThan(board.shards.length / 4);
        expect(board.settle()).toEqual([]);
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  test('gives a joining node its share, moves little else, and moves nothing back and forth', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 3, max: 12 }), (seed, count) => {
        const board = atHome(seed, names(count), 50, 0.5);
        board.settle();
        board.nodes = [...board.nodes, 'joined'];
        const moves = board.settle();
        const ideal = board.shards.length / (count + 1);
        const { placement } = board;
        const due = board.shards.filter(({ shard }) => placement.preferred(shard) === 'joined').length;
        expect(moves.length).toBeLessThan(due + ideal);
        expect(board.relative('bytes').at(-1)).toBeGreaterThan(0.4);
        const times = new Map<string, number>();
        for (const { shard } of moves) times.set(shard, (times.get(shard) ?? 0) + 1);
        expect(Math.max(...times.values())).toBeLessThanOrEqual(3);
        expect(board.settle()).toEqual([]);
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  test('takes nothing from a leaving node, which its drain empties, and gives it nothing', () => {
    const board = atHome(5, names(8), 50, 0.5);
    board.settle();
    board.draining.add('n3');
    const own = board.held('n3');
    const moves = board.settle();
    expect(moves.filter(({ from, to }) => from === 'n3' || to === 'n3')).toEqual([]);
    expect(moves.length).toBeLessThan(own.length / 2);
    expect(board.held('n3')).toEqual(own);
  });

  test('views that differ by a tenth of the mean move nothing back and forth', () => {
    const board = atHome(11, names(6), 50);
    board.settle();
    const random = randomFrom(11);
    let moves = 0;
    for (let round = 0; round < 200; round++) {
      const cluster = new ClusterUsage(
        board.nodes.map((node) => {
          const use = board.use(node);
          return { ...use, bytes: use.bytes * (0.97 + 0.06 * random()), load: use.load * (0.97 + 0.06 * random()) };
        }),
      );
      for (const node of board.nodes) {
        const move = board.plan(node, cluster);
        if (move === null) continue;
        board.shards.find(({ shard }) => shard === move.shard)!.node = move.to;
        moves++;
      }
    }
    expect(moves).toBeLessThan(board.shards.length / 10);
  });

  test('few large shards also move to a node that joins', () => {
    const shards = Array.from({ length: 12 }, (_, at) => ({
      shard: `c.${at}`,
      bytes: 5 * GIB,
      load: 0.5,
      node: `n${at % 3}`,
    }));
    const board = new Board([...names(3), 'joined'], shards);
    board.settle();
    expect(board.held('joined').length).toBeGreaterThanOrEqual(2);
  });

  test('a shard larger than all others together stays, and the others leave its node', () => {
    const shards = Array.from({ length: 20 }, (_, at) => ({ shard: `c.${at}`, bytes: GIB, load: 0.1, node: 'n0' }));
    shards[0]!.bytes = 30 * GIB;
    const board = new Board(names(4), shards);
    expect(board.settle().filter(({ shard }) => shard === 'c.0')).toEqual([]);
    expect(board.held('n0').map(({ shard }) => shard)).toEqual(['c.0']);
  });
});

describe('one move', () => {
  /** Twenty equal shards at home on each of four nodes, except one that is elsewhere. */
  const away = (changes: Partial<Sized> = {}): Board => {
    const board = new Board(names(4), []);
    const { placement } = board;
    for (let at = 0; board.shards.length < 80; at++) {
      const node = placement.preferred(`c.${at}`)!;
      if (board.held(node).length < 20) board.shards.push({ shard: `c.${at}`, bytes: GIB, load: 0.2, node });
    }
    const [shard] = board.shards;
    Object.assign(shard!, { node: shard!.node === 'n0' ? 'n1' : 'n0', ...changes });
    return board;
  };

  test('brings a shard home', () => {
    const board = away();
    const { placement } = board;
    const shard = board.shards[0]!;
    expect(board.plan(shard.node)).toEqual({
      shard: shard.shard,
      to: placement.preferred(shard.shard),
      reason: 'home',
    });
  });

  test('does not happen in a nearly empty cluster, however uneven', () => {
    const shards = names(40).map((_, at) => ({ shard: `c.${at}`, bytes: GIB / 20, load: 0.05, node: '' }));
    const board = new Board(names(10), shards);
    for (const shard of shards) shard.node = board.placement.preferred(shard.shard)!;
    expect(board.settle()).toEqual([]);
  });

  test('waits until the shard has stayed long enough', () => {
    const board = away({ heldForMs: 60_000 });
    expect(board.plan(board.shards[0]!.node)).toBeNull();
  });

  test('does not go to a node that refused a moment ago', () => {
    const board = away();
    const to = board.plan(board.shards[0]!.node)!.to;
    expect(board.plan(board.shards[0]!.node, board.cluster(), new Set([to]))).toBeNull();
  });

  const pressed = (node: string, changes: Partial<NodeUsage>, board: Board): ClusterUsage =>
    new ClusterUsage(board.nodes.map((other) => ({ ...board.use(other), ...(other === node ? changes : {}) })));

  test.each([
    ['short of memory', { bytes: 39 * GIB }],
    ['overloaded', { load: 7 }],
    ['about to leave', { draining: true }],
  ])('does not go to a node that is %s', (_, changes) => {
    const board = away();
    const { node } = board.shards[0]!;
    const { to } = board.plan(node)!;
    expect(board.plan(node, pressed(to, changes, board))?.to).not.toBe(to);
  });

  test('an overloaded node brings no shard home, but gives load away', () => {
    const board = away();
    const { node } = board.shards[0]!;
    expect(board.plan(node, pressed(node, { load: 7.5 }, board))).toMatchObject({ reason: 'load' });
    const busy = new ClusterUsage(board.nodes.map((other) => ({ ...board.use(other), load: 7.5 })));
    expect(board.plan(node, busy)).toBeNull();
  });

  test('moving to a follower relieves load, not memory', () => {
    const followers = ['n1'];
    const shards = Array.from({ length: 8 }, (_, at) => ({
      shard: `c.${at}`,
      bytes: 4 * GIB,
      load: 0,
      node: 'n0',
      followers,
    }));
    expect(new Board(['n0', 'n1'], shards).plan('n0')).toMatchObject({ reason: 'home' });
    const other = new Board(['n0', 'n1', 'n2'], shards);
    expect(other.plan('n0')).toMatchObject({ to: 'n2', reason: 'memory' });
    const busy = shards.map((shard) => ({ ...shard, bytes: 1, load: 0.8 }));
    expect(new Board(['n0', 'n1'], busy).plan('n0')).toMatchObject({ to: 'n1', reason: 'load' });
  });

  test('the same view gives the same move, and a node missing from it none', () => {
    const board = atHome(9, names(5), 30);
    for (const node of board.nodes) expect(board.plan(node)).toEqual(board.plan(node));
    expect(board.plan('elsewhere')).toBeNull();
  });
});

describe('the target', () => {
  const board = atHome(1, names(4), 20, 0.1);
  const own = board.use('n0');
  const use = board.cluster();
  const small = { bytes: GIB / 10, load: 0, reason: 'home' } as const;

  test('accepts what it has room for, one at a time, by its own count', () => {
    const empty = { ...own, bytes: 0, load: 0 };
    expect(offerRefusal(empty, use, false, small)).toBeNull();
    expect(offerRefusal(empty, use, true, small)).toBe('busy');
    expect(offerRefusal({ ...empty, draining: true }, use, false, small)).toBe('draining');
    expect(offerRefusal({ ...own, bytes: 39 * GIB }, use, false, small)).toBe('room');
    expect(offerRefusal({ ...own, bytes: 24 * GIB }, use, false, small)).toBe('share');
    expect(offerRefusal({ ...own, bytes: 24 * GIB }, use, false, { ...small, reason: 'memory' })).toBeNull();
  });
});

describe('the pace', () => {
  test('is one move at a time and a bounded number of bytes a second over time', () => {
    const pace = new MoveThrottle(1_000);
    expect(pace.nextMs).toBeLessThan(0);
    pace.began();
    expect(pace.nextMs).toBe(Number.POSITIVE_INFINITY);
    pace.ended(60_000, 10_000, 12_000);
    expect(pace.nextMs).toBe(70_000);
    pace.began();
    pace.ended(1, 70_000, 70_500);
    expect(pace.nextMs).toBe(71_500);
  });

  test('leaves out a node that refused, and longer one that failed', () => {
    const pace = new MoveThrottle(1_000);
    pace.began();
    pace.refused('a', 1_000);
    pace.failed('b', 1_000);
    expect(pace.nextMs).toBe(2_000);
    expect([...pace.avoided(2_000)].sort()).toEqual(['a', 'b']);
    expect([...pace.avoided(12_000)]).toEqual(['b']);
    expect([...pace.avoided(62_000)]).toEqual([]);
  });
});

test('load is averaged over a minute', () => {
  const load = loadAverage(0);
  let average = 0;
  for (let nowMs = 1_000; nowMs <= 60_000; nowMs += 1_000) average = load(2 * nowMs, nowMs);
  expect(average).toBeGreaterThan(1.2);
  expect(average).toBeLessThan(1.3);
  for (let nowMs = 61_000; nowMs <= 400_000; nowMs += 1_000) average = load(2 * nowMs, nowMs);
  expect(average).toBeCloseTo(2, 1);
  expect(load(800_000, 400_000)).toBe(average);
});
