/** Later pages: how reads share them, and those that arrive after their read has failed. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { Caller } from '../../../../../contracts/actions/call.ts';
import { answerBudget } from '../../../../../lib/admission/answer-size.ts';
import { type Follow, ShardPages } from '../../../../../services/collections/reads/shard-pages.ts';
import { specOf } from '../../../../support/shard-fixture.ts';

const FAILED = new Error('the other shard fails');

/** Starts a read that fails while `late` runs. Returns the rests that were left in the end. */
async function leftAfterFailure(late: (follow: Follow, failed: Promise<void>) => Promise<unknown>): Promise<string[]> {
  const left: string[] = [];
  const failure = Promise.withResolvers<void>();
  const caller: Caller = {
    async call(action, params) {
      const { rest } = params as { rest: string };
      if (action === 'shards.leave') return void left.push(rest);
      await failure.promise;
      return { items: [], rest: `after ${rest}` };
    },
  };
  const ended = Promise.withResolvers<unknown>();
  const read = new ShardPages(answerBudget()).gather(caller, 'a', {}, async (follow) => {
    ended.resolve(late(follow, failure.promise));
    await nextTurn();
    throw FAILED;
  });
  await expect(read).rejects.toBe(FAILED);
  failure.resolve();
  await ended.promise;
  return left;
}

test('a first page that arrives too late is left at once', async () => {
  const left = await leftAfterFailure(async (follow, failed) => {
    await failed;
    const { items, more } = follow(specOf(1), { items: [], rest: 'first' });
    expect([items, await more()]).toEqual([[], []]);
  });
  expect(left).toEqual(['first']);
});

test('a later page that arrives too late is left at once', async () => {
  const left = await leftAfterFailure((follow) => follow(specOf(1), { items: [], rest: 'first' }).more());
  expect(left).toEqual(['first', 'after first']);
});

/** Starts a read of the later pages of `shards` shards, which hang. */
function readHanging(pages: ShardPages, account: string, shards: number, waits = {}) {
  const asked: string[] = [];
  const caller: Caller = {
    call: (action, params) => {
      if (action === 'shards.next') asked.push((params as { rest: string }).rest);
      return new Promise(() => undefined);
    },
  };
  const result = pages.gather(caller, account, waits, (follow) =>
    Promise.all(
      Array.from({ length: shards }, (_, at) =>
        follow(specOf(1, { index: at }), { items: [], rest: `${account}${at}` }).more(),
      ),
    ),
  );
  result.catch(() => undefined);
  return { asked, result };
}

test('the later pages of one account do not keep those of another waiting', async () => {
  const pages = new ShardPages(answerBudget());
  const { asked } = readHanging(pages, 'a', 20);
  await nextTurn();
  expect(asked.length).toBeGreaterThanOrEqual(3);
  const other = readHanging(pages, 'b', 1);
  await nextTurn();
  expect(other.asked).toEqual(['b0']);
});

test('the time limit of a page covers its wait', async () => {
  const pages = new ShardPages(answerBudget());
  readHanging(pages, 'a', 20);
  await nextTurn();
  const late = readHanging(pages, 'a', 1, { timeout: 20 });
  await expect(late.result).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(late.asked).toEqual([]);
});
