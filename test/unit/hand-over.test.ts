import { expect, test } from '@jest/globals';
import pino from 'pino';
import { Placement } from '../../lib/placement/placement.ts';
import { ShardMoved } from '../../lib/shard/shard-moved.ts';
import type { Catalog, CollectionRow } from '../../lib/store/catalog.ts';
import { HandOver, type HandOverOptions } from '../../services/shards/hand-over.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

const LOG = pino({ level: 'silent' });
const ROW = { id: 'c0000000-0000-4000-8000-000000000001', shards: 8, accountId: 'a' } as CollectionRow;
const keyOf = (index: number) => `${ROW.id}.${index}`;
const NEVER = new AbortController().signal;

/** The hand-over of node `a`, which holds some shards, and what it does, in order; `follow` says how far a copy is. */
function handOver(
  shards: number[],
  follow: (node: string, headSeq: number) => number | null,
  adopt: (node: string) => void | Promise<void> = () => undefined,
) {
  const time = new VirtualTime();
  const done: string[] = [];
  const held = new Set(shards.map(keyOf));
  let headSeq = 0;
  const nodes = ['a', 'b', 'c'];
  const indexOf = (key: string) => key.slice(-1);
  const options = {
    residency: {
      keys: () => [...held],
      // Something is committed all the time.
      peek: ({ index }: { index: number }) =>
        held.has(keyOf(index)) ? { key: keyOf(index), head: { seq: ++headSeq } } : null,
      save: async (key: string) => void done.push(`save ${indexOf(key)}`),
      letGo: async (key: string, save: boolean) => {
        held.delete(key);
        done.push(`${save ? 'save and let go' : 'let go'} ${indexOf(key)}`);
      },
    },
    membership: {
      node: 'a',
      placement: new Placement(nodes.map((node) => ({ node, weight: 1 }))),
      live: () => nodes.map((node) => ({ node, incarnation: `life of ${node}`, draining: false })),
      drain: async () => void done.push('draining'),
      ownership: {
        resting: () => [],
        leave: () => undefined,
        stay: () => undefined,
        giveBack: async (key: string, to: { node: string }) => void done.push(`give ${indexOf(key)} to ${to.node}`),
      },
    },
    catalog: { getCollection: async () => ROW } as Pick<Catalog, 'getCollection'>,
    adopt: async (node: string) => {
      await adopt(node);
      done.push(`opened at ${node}`);
    },
    following: {
      follow: async (node: string, _spec: unknown, seq: number) => {
        await time.delay(5);
        return { seq: follow(node, seq) };
      },
      clock: { monotonicMs: () => time.nowMs },
      timers: time,
    },
    log: LOG,
  };
  return { time, done, handOver: new HandOver(options as unknown as HandOverOptions) };
}

async function over<T>(time: VirtualTime, work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await time.run(time.nowMs + 120_000);
  return work;
}

test('a shard is let go when its copy has what was committed a moment ago, and not saved again', async () => {
  const seqs = [null, null, 1, 2, 30, 30];
  const told: number[] = [];
  const {
    time,
    done,
    handOver: it,
  } = handOver([0], (_, headSeq) => {
    told.push(headSeq);
    return seqs.shift()!;
  });
  await over(time, it.move(keyOf(0), 'b'));
  expect(told).toHaveLength(5);
  expect(done).toEqual(['save 0', 'let go 0', 'give 0 to b', 'opened at b']);
});

test('a copy that is there at once need not be told twice', async () => {
  const { time, done, handOver: it } = handOver([0], (_, headSeq) => headSeq);
  await over(time, it.move(keyOf(0), 'b'));
  expect(time.nowMs).toBeGreaterThan(0);
  expect(done).toEqual(['save 0', 'let go 0', 'give 0 to b', 'opened at b']);
});

test('a copy that does not come is not waited for beyond 30 s, and the shard is saved then', async () => {
  const { time, done, handOver: it } = handOver([0], () => null);
  const moved = it.move(keyOf(0), 'b');
  await time.run(29_900);
  expect(done).toEqual(['save 0']);
  await over(time, moved);
  expect(done).toEqual(['save 0', 'save and let go 0', 'give 0 to b', 'opened at b']);
});

test('when the other node cannot be reached the shard stays', async () => {
  const {
    time,
    done,
    handOver: it,
  } = handOver([0], () => {
    throw new ShardMoved(null);
  });
  await expect(over(time, it.move(keyOf(0), 'b'))).rejects.toBeInstanceOf(ShardMoved);
  expect(done).toEqual(['save 0']);
});

test('a node that leaves tries the next one, and waits for copies as long as there is time for all', async () => {
  const reached: string[] = [];
  const {
    time,
    done,
    handOver: it,
  } = handOver([0, 1, 2, 3], (node) => {
    if (reached.length === 0) reached.push(node);
    if (node === reached[0]) throw new ShardMoved(null);
    return null;
  });
  const drained = it.drain(NEVER, 20_000);
  // Four shards, two at a time: 5 s each.
  await time.run(10_500);
  expect(done.filter((step) => step.startsWith('opened'))).toHaveLength(4);
  await over(time, drained);
  expect(done[0]).toBe('draining');
  expect(done.filter((step) => step === `opened at ${reached[0]}`)).toEqual([]);
});

test('a move to where the shard is opens it there, and nothing is let go', async () => {
  const { time, done, handOver: it } = handOver([0], () => null);
  await over(time, it.move(keyOf(0), 'a'));
  expect(done).toEqual(['opened at a']);
});

test('a node that leaves ends when its time is over, whatever the others do', async () => {
  const end = new AbortController();
  const stuck = new Promise<void>(() => undefined);
  const {
    time,
    done,
    handOver: it,
  } = handOver(
    [0, 1, 2, 3],
    (_, headSeq) => headSeq,
    () => stuck,
  );
  let isDrained = false;
  const drained = it.drain(end.signal).then(() => {
    isDrained = true;
  });
  await time.run(time.nowMs + 60_000);
  expect(isDrained).toBe(false);
  end.abort();
  await over(time, drained);
  // Two at once, and no other began.
  expect(done.filter((what) => what.startsWith('give'))).toHaveLength(2);
});
