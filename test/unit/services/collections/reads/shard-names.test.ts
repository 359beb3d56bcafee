import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ValueCount } from '../../../../../lib/filter/value-counts.ts';
import { mergeLists, type OrderedList } from '../../../../../services/collections/reads/merge-lists.ts';
import { namesAtOnce, shardNames } from '../../../../../services/collections/reads/shard-names.ts';

const LIMIT = 1_001;

/** A shard with `names`, which it returns in pages of `page` names and counts. */
function shardOf(names: readonly string[], page: number) {
  const shard = {
    told: 0,
    read: async (after: string | null, limit: number): Promise<OrderedList<ValueCount>> => {
      const from = after === null ? 0 : names.findLastIndex((name) => name <= after) + 1;
      const found = names.slice(from, from + limit).map((name): ValueCount => [name, 1]);
      shard.told += found.length;
      return { items: found.splice(0, page), more: async () => found.splice(0, page) };
    },
  };
  return shard;
}

const nameOf = (at: number) => `n${String(at).padStart(6, '0')}`;
const comesBefore = ([a]: ValueCount, [b]: ValueCount) => (a as string) < (b as string);

async function firstOf(shards: ReturnType<typeof shardOf>[], limit: number): Promise<unknown[]> {
  const lists = shards.map(({ read }) => shardNames(read, null, namesAtOnce(limit, shards.length)));
  return (await mergeLists(await Promise.all(lists), limit, comesBefore)).map(([name]) => name);
}

test.each([1, 16, 256])('for a page of %i shards they send little more than it holds', async (count) => {
  const names = Array.from({ length: 20_000 }, (_, at) => nameOf(at));
  const shards = Array.from({ length: count }, (_, index) =>
    shardOf(
      names.filter((_, at) => (at * 7_919) % count === index),
      100,
    ),
  );
  expect(await firstOf(shards, LIMIT)).toEqual(names.slice(0, LIMIT));
  const told = shards.reduce((sum, each) => sum + each.told, 0);
  // SPARE_NAMES for each shard, and half as many again.
  expect(told).toBeLessThanOrEqual(1.5 * LIMIT + 17 * count);
});

test('however names are spread, each is returned once and in order', async () => {
  const spread = fc.array(fc.nat(3), { maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(
      spread,
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 60 }),
      async (at, page, limit) => {
        const names = at.map((_, i) => nameOf(i));
        const shards = [0, 1, 2, 3].map((index) =>
          shardOf(
            names.filter((_, i) => at[i] === index),
            page,
          ),
        );
        expect(await firstOf(shards, limit)).toEqual(names.slice(0, limit));
      },
    ),
  );
});
