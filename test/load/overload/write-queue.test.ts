import { expect, test } from '@jest/globals';
import { FairShares } from '../../../lib/admission/fair-share.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { WriteQueue } from '../../../services/shards/shard/write-queue.ts';
import { ManualClock } from '../../support/accounts.ts';

const MIB = 1024 * 1024;
const clock = new ManualClock();

const upsertOf = (bytes: number) => ({
  kind: 'upsert' as const,
  batch: { ids: ['a'], metadata: ['{}'], vectors: new Float32Array((bytes - 3) >> 2), dimensions: 1 },
});
const DELETE = { kind: 'delete' as const, ids: ['a'] };

/** Whether the queue accepted a write. */
async function isTaken(queue: WriteQueue, write: Parameters<WriteQueue['push']>[0]): Promise<boolean> {
  const { length } = queue;
  const refused = queue.push(write, Number.POSITIVE_INFINITY).then(
    () => null,
    (error: unknown) => error,
  );
  if (queue.length > length) return true;
  expect(await refused).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });
  return false;
}

test('a queue that refuses upserts still accepts deletes', async () => {
  const queue = new WriteQueue(clock, 'big', new FairShares(2, INTERNAL_LIMITS.nodeWritesMaxBytes));
  let upserts = 0;
  while (await isTaken(queue, upsertOf(8))) upserts++;
  expect(upserts).toBe(INTERNAL_LIMITS.shardQueueMaxRequests - INTERNAL_LIMITS.shardQueueDeletesReserveRequests);
  let deletes = 0;
  while (await isTaken(queue, DELETE)) deletes++;
  expect(deletes).toBe(INTERNAL_LIMITS.shardQueueDeletesReserveRequests);
  queue.refuse(new Error('over'));
});

test("writes of one account, in any number of shards, leave room for another's", async () => {
  const budget = new FairShares(2, 90 * MIB);
  const queueOf = (accountId: string) => new WriteQueue(clock, accountId, budget);
  const big = Array.from({ length: 16 }, () => queueOf('big'));
  let taken = 0;
  for (const queue of [...big, ...big, ...big]) if (await isTaken(queue, upsertOf(4 * MIB))) taken++;
  expect(taken).toBe(15);
  const small = queueOf('small');
  expect(await isTaken(small, upsertOf(20 * MIB))).toBe(true);
  expect(await isTaken(big[0]!, upsertOf(4 * MIB))).toBe(false);
  expect(await isTaken(big[0]!, DELETE)).toBe(true);
  for (const queue of big) queue.release(queue.take());
  expect(await isTaken(big[0]!, upsertOf(4 * MIB))).toBe(true);
  for (const queue of [...big, small]) queue.refuse(new Error('over'));
  expect(budget.total).toBe(0);
  expect(budget.fits('big', 60 * MIB)).toBe(true);
});

test('a group has a bounded number of records, and a single write of any size is accepted', () => {
  const queue = new WriteQueue(clock, 'big', new FairShares(2, INTERNAL_LIMITS.nodeWritesMaxBytes));
  const { groupCommitMaxRecords: most } = INTERNAL_LIMITS;
  const deletes = (count: number) => ({
    kind: 'delete' as const,
    ids: Array.from({ length: count }, (_, i) => `r${i}`),
  });
  for (const count of [most - 1, 1, 1, 2 * most, 1]) {
    void queue.push(deletes(count), Number.POSITIVE_INFINITY).catch(() => undefined);
  }
  const groups = [queue.take(), queue.take(), queue.take(), queue.take()];
  expect(groups.map((group) => group.length)).toEqual([2, 1, 1, 1]);
});
