import { expect, test } from '@jest/globals';
import { Shard } from '../../../../../../services/shards/engine/shard.ts';
import { PageCursors } from '../../../../../../services/shards/worker/page-cursor.ts';
import { readWork } from '../../../../../../services/shards/worker/reads.ts';
import { specWith, type TestRecord, upsertOf, write } from '../../../../../support/shard-engine.ts';

const FACETS = { key: '', namespace: '', filter: null, field: 'value', pageMaxBytes: 1 } as const;

function shardOf(values: unknown[]): Shard {
  const shard = new Shard(specWith({ dimensions: 1 }));
  const records = values.map((value, at): [string, TestRecord] => [`r${at}`, { values: [1], metadata: { value } }]);
  write(shard, upsertOf(records, 1));
  return shard;
}

/** How often the work pauses during a phase. */
function pauses(shard: Shard, phase: string): number {
  const request = { op: 'facets', params: { ...FACETS, limit: 1_000 } } as const;
  const work = readWork(request, { shard, readings: new PageCursors() }, () => 0);
  let count = 0;
  for (const said of { [Symbol.iterator]: () => work.steps() as Iterator<unknown> }) if (said === phase) count++;
  return count;
}

test('long values with a common beginning are ranked in steps', () => {
  const shard = shardOf(Array.from({ length: 200 }, (_, at) => `${'a'.repeat(40_000)}${at}`));
  // A step compares some tens of values.
  expect(pauses(shard, 'sending')).toBeGreaterThan(50);
});

test('lists of many elements are counted in steps', () => {
  const shard = shardOf(Array.from({ length: 100 }, () => Array.from({ length: 10_000 }, (_, at) => at % 10)));
  pauses(shard, 'building');
  // A step counts one or two values.
  expect(pauses(shard, 'reading')).toBeGreaterThan(50);
});
