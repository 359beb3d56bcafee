import { expect, test } from '@jest/globals';
import { ShardMoved } from '../../../../../lib/shard/moved.ts';
import { keyOf, leavingNode, over } from './leaving-node.ts';

test('a shard is released when its copy has what was committed a moment ago, and not saved again', async () => {
  const seqs = [null, null, 1, 2, 30, 30];
  const told: number[] = [];
  const {
    time,
    done,
    handOver: it,
  } = leavingNode({
    shards: [0],
    follow(_, headSeq) {
      told.push(headSeq);
      return seqs.shift()!;
    },
  });
  await over(time, it.move(keyOf(0), 'b'));
  expect(told).toHaveLength(5);
  expect(done).toEqual(['save 0', 'let go 0', 'give 0 to b', 'opened 0 at b']);
});

test('a copy that is ready at once need not be asked twice', async () => {
  const { time, done, handOver: it } = leavingNode({ shards: [0] });
  await over(time, it.move(keyOf(0), 'b'));
  expect(time.nowMs).toBeGreaterThan(0);
  expect(done).toEqual(['save 0', 'let go 0', 'give 0 to b', 'opened 0 at b']);
});

test('a copy that does not come is not waited for beyond 30 s, and then the shard is saved', async () => {
  const { time, done, handOver: it } = leavingNode({ shards: [0], follow: () => null });
  const moved = it.move(keyOf(0), 'b');
  await time.run(29_900);
  expect(done).toEqual(['save 0']);
  await over(time, moved);
  expect(done).toEqual(['save 0', 'save and let go 0', 'give 0 to b', 'opened 0 at b']);
});

test('if the other node cannot be reached the shard stays', async () => {
  const {
    time,
    done,
    handOver: it,
  } = leavingNode({
    shards: [0],
    follow() {
      throw new ShardMoved(null);
    },
  });
  await expect(over(time, it.move(keyOf(0), 'b'))).rejects.toBeInstanceOf(ShardMoved);
  expect(done).toEqual(['save 0']);
});

test('a move to the node that has the shard opens it there, and releases nothing', async () => {
  const { time, done, handOver: it } = leavingNode({ shards: [0], follow: () => null });
  await over(time, it.move(keyOf(0), 'a'));
  expect(done).toEqual(['opened 0 at a']);
});
