import { expect, test } from '@jest/globals';
import type { Caller } from '../../../../../contracts/actions/call.ts';
import type { ValueCount } from '../../../../../lib/filter/value-counts.ts';
import { ShardReader } from '../../../../../services/collections/reads/shard-reader.ts';
import { specOf } from '../../../../support/shard-fixture.ts';

const SHARDS = 4;
const specs = Array.from({ length: SHARDS }, (_, index) => specOf(1, { index, of: SHARDS }));

/** Counts the turns of the event loop until `work` has ended. */
async function turnsOf<T>(work: Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let ticking = setImmediate(function tick() {
    turns++;
    ticking = setImmediate(tick);
  });
  const result = await work;
  clearImmediate(ticking);
  return { result, turns };
}

test('long values of several shards are received and ranked over many turns of the event loop', async () => {
  const longValue = (at: number) => `${'a'.repeat(40_000)}${at}`;
  const caller = {
    async call(_action: string, { shard }: { shard: { index: number } }) {
      // Each shard has its own values, and shares every other one with the next shard.
      const items = Array.from({ length: 100 }, (_, at): ValueCount => [longValue(shard.index * 50 + at), 1]);
      return { missing: 1, page: { items, rest: null } };
    },
  } as unknown as Caller;
  const asked = { field: 'value', limit: 60, filter: null };
  const { result, turns } = await turnsOf(new ShardReader().facets(caller, specs, asked));
  expect(result.missing).toBe(SHARDS);
  expect(result.values).toHaveLength(60);
  const order = Array.from({ length: 150 }, (_, at) => at + 50)
    .map(longValue)
    .sort();
  expect(result.values).toEqual(order.slice(0, 60).map((value) => ({ value, count: 2 })));
  expect(turns).toBeGreaterThan(20);
});
