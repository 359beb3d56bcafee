import { expect, test } from '@jest/globals';
import { Placement } from '../../../../lib/placement/placement.ts';
import { ShardMoved } from '../../../../lib/shard/moved.ts';
import { type Loss, ShardRouter } from '../../../../mixins/shard-router/shard-router.ts';
import { VirtualTime } from '../../../simulation/ownership/virtual-time.ts';

const SHARD = 'c0000000-0000-4000-8000-000000000001.0';
const NODES = ['a', 'b', 'c'].map((node) => ({ node, weight: 1, draining: false }));

class Lost extends Error {
  readonly loss: Loss;

  constructor(loss: Loss) {
    super(loss);
    this.loss = loss;
  }
}

/** A router over nodes that respond with `answer`. `holder`: the holder in the owners table. */
function routerOver(answer: (node: string, nth: number) => unknown, holder: string | null = null) {
  const time = new VirtualTime();
  const asked: string[] = [];
  const nodes = { live: NODES };
  let lookups = 0;
  const router = new ShardRouter({
    owners: {
      async get(shard) {
        lookups++;
        return holder === null ? null : { shard, epoch: 1, holder: { node: holder, incarnation: 'i' } };
      },
    },
    nodes: () => nodes.live,
    lossOf: (error) => (error instanceof Lost ? error.loss : 'none'),
    clock: { monotonicMs: () => time.nowMs },
    timers: time,
  });
  const call = (reads: boolean, patienceMs = 60_000, openMaxMs?: number): Promise<unknown> => {
    const result = router.call({
      shard: SHARD,
      deadlineMs: time.nowMs + patienceMs,
      reads,
      openMaxMs,
      async ask(node) {
        asked.push(node);
        const given = answer(node, asked.length);
        if (given instanceof Error) throw given;
        return given;
      },
    });
    result.catch(() => undefined);
    return result;
  };
  return { router, time, asked, nodes, call, lookups: () => lookups };
}

const settled = (time: VirtualTime, forMs = 120_000) => time.run(time.nowMs + forMs);

test('the holder is asked, and remembered', async () => {
  const { call, asked, time, lookups } = routerOver((node) => node, 'b');
  const [first, second] = [call(true), call(false)];
  await settled(time);
  expect(await first).toBe('b');
  expect(await second).toBe('b');
  const before = lookups();
  const third = call(true);
  await settled(time);
  expect(await third).toBe('b');
  expect(lookups()).toBe(before);
  expect(asked).toEqual(['b', 'b', 'b']);
});

test.each([true, false])('a node that does not hold the shard names the holder (reads: %s)', async (reads) => {
  const { call, asked, time } = routerOver((node) => (node === 'c' ? 'here' : new ShardMoved('c')), 'a');
  const result = call(reads);
  await settled(time);
  expect(await result).toBe('here');
  expect(asked).toEqual(['a', 'c']);
  expect(time.nowMs).toBeGreaterThan(0);
});

test('without a holder every node calls the same one first, and others if that one refuses', async () => {
  const first = routerOver(() => 'ok');
  const again = routerOver(() => 'ok');
  first.call(true);
  again.call(true);
  await settled(first.time);
  await settled(again.time);
  expect(first.asked).toEqual(again.asked);
  const draining = routerOver((_, nth) => (nth < 3 ? new ShardMoved(null) : 'ok'));
  const result = draining.call(false);
  await settled(draining.time);
  expect(await result).toBe('ok');
  expect(new Set(draining.asked).size).toBe(3);
});

test('a read whose node was lost is sent elsewhere; a write is not, because it may have been done', async () => {
  const answer = (_: string, nth: number) => (nth === 1 ? new Lost('unknown') : 'ok');
  const read = routerOver(answer, 'a');
  const result = read.call(true);
  await settled(read.time);
  expect(await result).toBe('ok');
  expect(read.asked).toHaveLength(2);
  expect(read.asked[1]).not.toBe('a');
  const write = routerOver(answer, 'a');
  const written = write.call(false);
  await settled(write.time);
  await expect(written).rejects.toThrow('unknown');
  expect(write.asked).toEqual(['a']);
});

test('a write that was not sent is sent elsewhere', async () => {
  const { call, asked, time } = routerOver((_, nth) => (nth === 1 ? new Lost('unsent') : 'ok'), 'a');
  const result = call(false);
  await settled(time);
  expect(await result).toBe('ok');
  expect(asked).toHaveLength(2);
});

test('an error of the shard is the answer', async () => {
  const { call, asked, time } = routerOver(() => new RangeError('of the shard'), 'a');
  const result = call(true);
  await settled(time);
  await expect(result).rejects.toThrow('of the shard');
  expect(asked).toEqual(['a']);
});

test('if no node holds it in time the answer is SHARD_UNAVAILABLE, and questions become rare', async () => {
  const { call, asked, time } = routerOver(() => new ShardMoved(null), 'a');
  const result = call(true, 10_000);
  await settled(time);
  await expect(result).rejects.toMatchObject({
    code: 'SHARD_UNAVAILABLE',
    message: 'Shard 0 of the collection has no holder yet; try again.',
    retryAfterSeconds: 1,
  });
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.length).toBeLessThan(40);
});

test.each([true, false])(
  'a caller that does not want to wait learns soon why the shard is away (reads: %s)',
  async (reads) => {
    const without = routerOver(() => new ShardMoved(null), 'a');
    const result = without.call(reads, 60_000, 300);
    await without.time.run(300);
    await expect(result).rejects.toMatchObject({ message: expect.stringContaining('has no holder yet'), shards: [0] });
    const lost = routerOver(() => new Lost('unsent'), 'a');
    const again = lost.call(reads, 60_000, 300);
    await lost.time.run(300);
    await expect(again).rejects.toMatchObject({
      message: expect.stringContaining('is held by a node that does not answer'),
    });
    const back = routerOver((_, nth) => (nth < 3 ? new ShardMoved(null) : 'ok'), 'a');
    const found = back.call(reads, 60_000, 300);
    await back.time.run(300);
    expect(await found).toBe('ok');
  },
);

test('two nodes that redirect callers to each other are asked rarely', async () => {
  const { call, asked, time } = routerOver((node) => new ShardMoved(node === 'a' ? 'b' : 'a'), 'a');
  const result = call(true, 10_000);
  await settled(time);
  await expect(result).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
  expect(asked.length).toBeLessThan(140);
});

test('without any node it waits for one', async () => {
  const { call, asked, nodes, time } = routerOver(() => 'ok');
  nodes.live = [];
  const result = call(true, 30_000);
  await time.run(5_000);
  expect(asked).toEqual([]);
  nodes.live = NODES.slice(0, 1);
  await settled(time);
  expect(await result).toBe('ok');
});

test('a store that does not name the holder costs only a detour', async () => {
  const time = new VirtualTime();
  const asked: string[] = [];
  const router = new ShardRouter({
    owners: { get: () => Promise.reject(new Error('out of reach')) },
    nodes: () => NODES,
    lossOf: () => 'none',
    clock: { monotonicMs: () => time.nowMs },
    timers: time,
  });
  const result = router.call({
    shard: SHARD,
    deadlineMs: 10_000,
    reads: true,
    async ask(node) {
      asked.push(node);
      if (node !== 'c') throw new ShardMoved('c');
      return 'ok';
    },
  });
  await settled(time);
  expect(await result).toBe('ok');
  expect(asked.at(-1)).toBe('c');
});

test("a shard without a holder goes by the nodes' memory, and not to one that leaves, unless all do", async () => {
  const time = new VirtualTime();
  const weights = { a: 1, b: 6, c: 1 };
  const draining = new Set<string>();
  const places = () =>
    Object.entries(weights).map(([node, weight]) => ({ node, weight, draining: draining.has(node) }));
  const router = new ShardRouter({
    owners: { get: async () => null },
    nodes: places,
    lossOf: () => 'none',
    clock: { monotonicMs: () => time.nowMs },
    timers: time,
  });
  const shards = Array.from({ length: 400 }, (_, at) => `c.${at}`);
  const asked = async (): Promise<Map<string, string>> => {
    const first = new Map<string, string>();
    for (const shard of shards)
      await router
        .call({
          shard,
          deadlineMs: 10_000,
          reads: true,
          async ask(node) {
            first.set(shard, node);
            // A permanent failure leaves nothing remembered.
            throw new RangeError(node);
          },
        })
        .catch(() => undefined);
    return first;
  };
  const before = await asked();
  const placement = new Placement(places().map(({ node, weight }) => ({ node, weight })));
  for (const [shard, node] of before) expect(node).toBe(placement.preferred(shard));
  expect([...before.values()].filter((node) => node === 'b').length).toBeGreaterThan(250);
  draining.add('b');
  const after = await asked();
  expect([...after.values()]).not.toContain('b');
  for (const [shard, node] of before) if (node !== 'b') expect(after.get(shard)).toBe(node);
  for (const node of ['a', 'c']) draining.add(node);
  expect((await asked()).size).toBe(shards.length);
});
