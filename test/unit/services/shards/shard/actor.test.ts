import { expect, test } from '@jest/globals';
import { FairShares } from '../../../../../lib/admission/fair-share.ts';
import { EMPTY_HEAD } from '../../../../../lib/shard/head.ts';
import { ShardActor } from '../../../../../services/shards/shard/actor.ts';
import { ShardTransitioning } from '../../../../../services/shards/shard/failure.ts';
import { AssertionFailed } from '../../../../../services/shards/worker/pool.ts';
import type { WorkerRequests } from '../../../../../services/shards/worker/protocol.ts';
import { batchOf, specOf } from '../../../../support/shard-fixture.ts';

test('a failed assertion of the engine stores nothing of the group and reopens the shard', async () => {
  const asked: string[] = [];
  const broken: string[] = [];
  const worker: WorkerRequests = {
    async request(op) {
      asked.push(op);
      throw new AssertionFailed('AssertionError: a slot is taken twice');
    },
  };
  const actor = new ShardActor(
    { spec: specOf(1), worker, head: EMPTY_HEAD, epoch: 0, holds: () => true, barrier: null },
    {
      log: null as never,
      clock: { wallMs: () => 0, monotonicMs: () => 0 },
      events: {
        committed: () => broken.push('committed'),
        resized: () => broken.push('resized'),
        broken: (_, reason) => broken.push(reason),
      },
      writes: new FairShares(2, Number.POSITIVE_INFINITY),
      keepsWrites: false,
    },
  );
  const write = (id: string) => actor.write({ kind: 'upsert', batch: batchOf([id]) }, Number.POSITIVE_INFINITY);
  // The first write is a group of its own; the others wait and form the next one.
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(write));
  const reasons = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : null));
  expect(reasons[0]).toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('none of it was stored') });
  for (const reason of reasons.slice(1)) expect(reason).toBeInstanceOf(ShardTransitioning);
  await expect(write('d')).rejects.toBeInstanceOf(ShardTransitioning);
  expect(asked).toEqual(['stage']);
  expect(broken).toEqual(['an assertion of the engine failed']);
});
