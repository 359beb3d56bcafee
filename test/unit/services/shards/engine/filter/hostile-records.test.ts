/** Records and filters designed to be slow or to fill memory. */
import { expect, test } from '@jest/globals';
import { FieldColumn } from '../../../../../../services/shards/engine/filter/column.ts';
import { Shard } from '../../../../../../services/shards/engine/shard.ts';
import { queryIn, queryWith, specWith, type TestRecord, upsertOf, write } from '../../../../../support/shard-engine.ts';

function fill(shard: Shard, count: number, metadataOf: (i: number) => TestRecord['metadata']): void {
  const records = Array.from({ length: count }, (_, i): [string, TestRecord] => {
    return [`r${i}`, { values: [1, i], metadata: metadataOf(i) }];
  });
  write(shard, upsertOf(records, 2));
}
const asking = (filter: Record<string, unknown>) => queryWith([1, 1], { topK: 10, filter });

test('long strings with a common beginning are compared in many steps', () => {
  const shard = new Shard(specWith({ dimensions: 2 }));
  const prefix = 'x'.repeat(30_000);
  fill(shard, 200, (i) => ({ s: `${prefix}${i}` }));
  const query = asking({ s: { $gte: `${prefix}5` } });
  queryIn(shard, query);
  const phases = [...(shard.snapshot().query(asking({ s: { $gte: `${prefix}6` } })) as Iterable<string>)];
  expect(phases.length).toBeGreaterThan(50);
});

test('a column that writes make too large is dropped', () => {
  const elements = (i: number) => Array.from({ length: 500 }, (_, at) => (i * 500 + at) % 5_000);
  const bytesAfter = (filter: Record<string, unknown> | null): number => {
    const shard = new Shard(specWith({ dimensions: 2 }), { columnsMinBytes: 0 });
    fill(shard, 1_000, () => ({ tags: [1], text: 'x'.repeat(100) }));
    if (filter) queryIn(shard, asking(filter));
    fill(shard, 2_000, (i) => ({ tags: elements(i) }));
    return shard.bytes;
  };
  expect(bytesAfter({ tags: 7 })).toBeLessThan(2 * bytesAfter(null) + 2 ** 20);
});

test('a field without strings is known to have none', () => {
  const column = new FieldColumn('b');
  column.fill(0, { b: true });
  column.fill(1, { b: false });
  column.fill(2, { b: true });
  expect([true, false, null, 'x'].map((value) => column.count(value))).toEqual([2, 1, 0, 0]);
  column.fill(3, { b: ['x', true] });
  expect([true, 'x'].map((value) => column.count(value))).toEqual([3, 1]);
});
