import { expect, test } from '@jest/globals';
import { ShardMoved } from '../../../../../lib/shard/moved.ts';
import { NodeUnresponsive } from '../../../../../mixins/shard-router/unresponsive-nodes.ts';
import { StoreError } from '../../../../../store/port.ts';
import type { VirtualTime } from '../../../../simulation/ownership/virtual-time.ts';
import { keyOf, leavingNode, over } from './leaving-node.ts';

const NEVER = new AbortController().signal;
const FOREVER = new Promise<void>(() => undefined);
/** Result of a call to a halted node. */
const unresponsive = async (time: VirtualTime): Promise<void> => {
  await time.delay(1_500);
  throw new NodeUnresponsive('b');
};
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const of = (done: string[], what: string) => done.filter((step) => step.startsWith(what));

test('a shard that opens within a moment is neither saved nor copied first', async () => {
  const { time, done, drain } = leavingNode({ shards: [0, 1], quick: [0], nodes: ['a', 'b'] });
  await over(time, drain.giveAll(NEVER, 20_000));
  expect(done[0]).toBe('draining');
  expect(done.filter((step) => step.includes(' 0'))).toEqual(['let go 0', 'give 0 to b', 'opened 0 at b']);
  expect(done.filter((step) => step.includes(' 1'))).toEqual(['save 1', 'let go 1', 'give 1 to b', 'opened 1 at b']);
});

test.each([
  [['a', 'b'], 8],
  [['a', 'b', 'c'], 16],
  [['a', 'b', 'c', 'd', 'e'], 16],
])('such shards move together, as many as %j open, and 16 at most', async (nodes, lanes) => {
  const { time, done, drain } = leavingNode({ shards: upTo(40), quick: upTo(40), nodes, adopt: () => time.delay(100) });
  const drained = drain.giveAll(NEVER, 20_000);
  await time.run(time.nowMs + 50);
  expect(of(done, 'give')).toHaveLength(lanes);
  expect(of(done, 'opened')).toHaveLength(0);
  await over(time, drained);
  expect(of(done, 'opened')).toHaveLength(40);
});

test('shards that are saved and copied first have two lanes of their own, and delay no others', async () => {
  const follow = () => null;
  const { time, done, drain } = leavingNode({ shards: upTo(40), quick: upTo(36), follow });
  const drained = drain.giveAll(NEVER, 20_000);
  await time.run(time.nowMs + 1_000);
  expect(of(done, 'opened')).toHaveLength(36);
  expect(of(done, 'save')).toEqual(['save 36', 'save 37']);
  // Four shards, two at a time: 5 s each.
  await time.run(10_500);
  expect(of(done, 'opened')).toHaveLength(40);
  await over(time, drained);
});

test('a node that refuses a shard is still asked for the next one', async () => {
  const refused: string[] = [];
  const { time, done, drain } = leavingNode({
    shards: upTo(40),
    quick: upTo(40),
    adopt(node) {
      if (refused.length > 0) return;
      refused.push(node);
      throw new ShardMoved(null);
    },
  });
  await over(time, drain.giveAll(NEVER, 20_000));
  expect(of(done, 'opened')).toHaveLength(40);
  expect(done.filter((step) => step.endsWith(`at ${refused[0]}`)).length).toBeGreaterThan(8);
});

test('an unresponsive node costs a moment once: its shards go to the next, and it gets no others', async () => {
  const { time, done, drain } = leavingNode({
    shards: upTo(100),
    quick: upTo(100),
    adopt: (node) => (node === 'b' ? unresponsive(time) : time.delay(10)),
  });
  const drained = drain.giveAll(NEVER, 20_000);
  await time.run(time.nowMs + 2_500);
  expect(of(done, 'opened')).toHaveLength(100);
  expect(done.filter((step) => step.endsWith('at b'))).toEqual([]);
  // At most one per lane.
  expect(done.filter((step) => step.endsWith('to b')).length).toBeLessThanOrEqual(16);
  await over(time, drained);
  expect(drain.waiting()).toEqual([]);
});

test('a node that answers is waited for, however long its opening takes', async () => {
  const adopt = (): Promise<void> => time.delay(12_000);
  const { time, done, drain } = leavingNode({ shards: [0], quick: [0], adopt });
  await over(time, drain.giveAll(NEVER, 20_000));
  expect(of(done, 'give')).toHaveLength(1);
  expect(of(done, 'opened')).toHaveLength(1);
});

test('without a successor, large shards are saved while they are served, and all are released', async () => {
  const { time, done, drain } = leavingNode({ shards: [0, 1], quick: [0], nodes: ['a'] });
  await over(time, drain.giveAll(NEVER, 20_000));
  expect(done).toEqual(['draining', 'save 1']);
  await over(time, drain.releaseAll(NEVER));
  expect(of(done, 'let go')).toHaveLength(2);
  expect(of(done, 'release')).toHaveLength(2);
});

test('a drain ends when its time is up; the rest is released in order, untaken shards with it', async () => {
  const terms = { shards: upTo(40), quick: upTo(40), adopt: () => FOREVER };
  const { time, done, drain } = leavingNode(terms);
  const end = new AbortController();
  const drained = drain.giveAll(end.signal, 1_000_000);
  await time.run(time.nowMs + 60_000);
  expect(of(done, 'give')).toHaveLength(16);
  expect(drain.waiting()).toHaveLength(20);
  expect(drain.waiting()[0]).toMatch(/^\S+ waits for [bc] to open it$/);
  expect(drain.waiting()[16]).toBe(`${keyOf(16)} waits for its turn`);
  end.abort();
  await over(time, drained, 0);
  await over(time, drain.releaseAll(NEVER), 0);
  expect(of(done, 'release')).toHaveLength(40);
  // No others were handed over, and the remaining ones finished their last write.
  expect(of(done, 'give')).toHaveLength(16);
  for (const index of upTo(40).slice(16)) {
    const steps = done.filter((step) => step.endsWith(` ${index}`));
    expect(steps).toEqual([`refuseQueued ${index}`, `let go ${index}`, `release ${index}`]);
  }
  expect(drain.waiting()).toEqual([]);
});

test('what an earlier drain offered in vain is taken back by the next, what was opened late is not', async () => {
  const terms = { shards: [0, 1], quick: [0, 1] };
  const adopt = (_node: string, index: string) => (index === '0' ? FOREVER : undefined);
  const { time, done, drain } = leavingNode({
    ...terms,
    adopt: (node, index) => adopt(node, index) ?? time.delay(90_000),
  });
  const end = new AbortController();
  time.after(60_000, () => end.abort());
  await over(time, drain.giveAll(end.signal, 1_000_000), 60_000);
  expect(drain.waiting()).toHaveLength(2);
  await over(time, drain.giveAll(NEVER, 20_000));
  expect(of(done, 'opened 1')).toHaveLength(1);
  await over(time, drain.releaseAll(NEVER));
  expect(of(done, 'release')).toEqual(['release 0']);
});

test('a checkpoint is not begun if it would not be written in time', async () => {
  const { time, done, drain } = leavingNode({ shards: [0, 1], bytes: 64 * 2 ** 20, saveMs: 2_500 });
  await over(time, drain.giveAll(NEVER, 3_000));
  expect(of(done, 'save')).toHaveLength(2);
  const late = leavingNode({ shards: [0, 1], bytes: 64 * 2 ** 20, saveMs: 2_500 });
  await over(late.time, late.drain.giveAll(NEVER, 1_000));
  expect(of(late.done, 'save')).toHaveLength(0);
  expect(of(late.done, 'opened')).toHaveLength(2);
});

test('a shard whose checkpoint is in progress when the time is up is not handed over', async () => {
  const { time, done, drain } = leavingNode({ shards: [0, 1, 2, 3], saveMs: 2_000 });
  const end = new AbortController();
  time.after(1_000, () => end.abort());
  await over(time, drain.giveAll(end.signal, 1_000), 1_000);
  await over(time, drain.releaseAll(NEVER), 0);
  await time.run(time.nowMs + 10_000);
  expect(of(done, 'release')).toHaveLength(4);
  expect([...of(done, 'give'), ...of(done, 'opened')]).toEqual([]);
});

test('an unresponsive store does not keep the release from ending, and is named', async () => {
  const { time, drain } = leavingNode({ shards: [0, 1], nodes: ['a'], quick: [0, 1], release: () => FOREVER });
  await over(time, drain.giveAll(NEVER, 20_000));
  const end = new AbortController();
  time.after(5_000, () => end.abort());
  await over(time, drain.releaseAll(end.signal));
  expect(drain.waiting()).toEqual([0, 1].map((index) => `${keyOf(index)} waits for the store to release it`));
});

test('a release that the store refuses is left to the end of the lease', async () => {
  const release = (): void => {
    throw new StoreError('unavailable', 'away');
  };
  const { time, drain } = leavingNode({ shards: [0, 1], nodes: ['a'], quick: [0, 1], release });
  await over(time, drain.giveAll(NEVER, 20_000));
  await over(time, drain.releaseAll(NEVER));
  expect(drain.waiting()).toEqual([]);
});
