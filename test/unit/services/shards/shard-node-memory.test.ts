import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { RecordBatch } from '../../../../lib/records/batch.ts';
import type { ShardSpec } from '../../../../lib/shard/spec.ts';
import { type ShardFixture, shardFixture, specOf } from '../../../support/shard-fixture.ts';
import { shardWorkers } from '../../../support/shard-workers.ts';
import { AppendGate } from '../../../support/store-log.ts';

const LIMIT_MIB = 64;
const MIB = 2 ** 20;
const DIMENSIONS = 2_048;
const SHARDS = 8;

let fixture: ShardFixture;
let gate: AppendGate;
const wide = (number: number): ShardSpec => specOf(number, { dimensions: DIMENSIONS });

function batch(records: number): RecordBatch {
  const ids = Array.from({ length: records }, (_, row) => `r${row}`);
  const vectors = new Float32Array(records * DIMENSIONS);
  for (let at = 0; at < vectors.length; at++) vectors[at] = 1 + ((at * 7) % 13);
  return { ids, dimensions: DIMENSIONS, vectors, metadata: ids.map(() => '{}') };
}

const query = (number: number) =>
  fixture.node.query({
    shard: wide(number),
    query: {
      vector: new Float32Array(DIMENSIONS).fill(1),
      topK: 1,
      filter: null,
      includeValues: false,
      includeMetadata: false,
      scoreThreshold: null,
      exact: false,
    },
  });

/** The most bytes that open shards used at any turn of the event loop while `work` ran. */
async function peakOf(work: Promise<unknown>): Promise<number> {
  let peak = 0;
  let running = true;
  const done = work.finally(() => {
    running = false;
  });
  while (running) {
    peak = Math.max(peak, fixture.node.stats().bytes);
    await new Promise(setImmediate);
  }
  await done;
  return peak;
}

beforeEach(async () => {
  gate = new AppendGate();
  fixture = await shardFixture({ PROVEC_MEMORY_LIMIT_MB: String(LIMIT_MIB) }, gate.wrap);
  for (let number = 1; number <= SHARDS; number++)
    await fixture.node.upsert({ shard: wide(number), batch: batch(1_500) });
  await fixture.restart();
});
afterEach(() => fixture.end());

test('closed shards requested at the same time open within the memory limit, and all answer', async () => {
  const numbers = Array.from({ length: SHARDS }, (_, at) => at + 1);
  const answers = Promise.all(numbers.map(query));
  const peak = await peakOf(answers);
  expect((await answers).map(({ items }) => items.length)).toEqual(numbers.map(() => 1));
  expect(peak).toBeGreaterThan((LIMIT_MIB / 4) * MIB);
  expect(peak).toBeLessThanOrEqual(LIMIT_MIB * MIB);
});

test('a collection can be dropped while its shard waits for room to open', async () => {
  const numbers = Array.from({ length: SHARDS }, (_, at) => at + 1);
  const answers = numbers.map((number) =>
    query(number).then(
      () => 'answered',
      (error: { code: string }) => error.code,
    ),
  );
  const dropped = wide(SHARDS).collectionId;
  await fixture.store.catalog.dropCollection(dropped, true);
  await fixture.node.drop(dropped);
  const outcomes = await Promise.all(answers);
  expect(outcomes.slice(0, -1)).toEqual(numbers.slice(1).map(() => 'answered'));
  expect(['answered', 'COLLECTION_NOT_FOUND', 'UNAVAILABLE']).toContain(outcomes.at(-1));
  expect(await fixture.store.log.head(`${dropped}.0`)).toBeNull();
});

test('a stop refuses those that wait for room instead of opening them first', async () => {
  const numbers = Array.from({ length: SHARDS }, (_, at) => at + 1);
  const answers = numbers.map((number) =>
    query(number).then(
      () => 'answered',
      (error: { code: string }) => error.code,
    ),
  );
  while (fixture.node.stats().opening < SHARDS) await new Promise(setImmediate);
  await fixture.node.stop();
  const outcomes = await Promise.all(answers);
  expect(outcomes).toContain('UNAVAILABLE');
  await fixture.restart();
});

test('a shard that cannot fit closes none in vain, and others open before it', async () => {
  const small = (number: number): ShardSpec => specOf(number, { dimensions: 4 });
  const few = (ids: string[]): RecordBatch => ({
    ids,
    dimensions: 4,
    vectors: new Float32Array(ids.length * 4).fill(1),
    metadata: ids.map(() => '{}'),
  });
  for (const number of [21, 22]) await fixture.node.upsert({ shard: small(number), batch: few(['a']) });
  await fixture.restart();
  await fixture.node.fetch({ shard: small(21), ids: ['a'] });
  // Hanging writes keep most of the memory in use.
  const reached = gate.reached + 2;
  gate.shut();
  const uses = [1, 2].map((number) => fixture.node.upsert({ shard: wide(number), batch: batch(1) }));
  while (gate.reached < reached) await new Promise(setImmediate);
  const tooLarge = query(3).then(
    () => 'answered',
    (error: { code: string }) => error.code,
  );
  while (fixture.node.stats().opening === 0) await new Promise(setImmediate);
  expect((await fixture.node.fetch({ shard: small(22), ids: ['a'] })).items).toHaveLength(1);
  expect(fixture.node.stats()).toMatchObject({ open: 4, opening: 1 });
  gate.open();
  await Promise.all(uses);
  expect(await tooLarge).toBe('answered');
});

test('shards that open together are placed on all workers', async () => {
  await fixture.end();
  fixture = await shardFixture({ PROVEC_WORKERS: '2' });
  const asked = shardWorkers().map((worker) => jest.spyOn(worker, 'postMessage'));
  const numbers = [11, 12, 13, 14];
  await Promise.all(numbers.map((number) => fixture.node.fetch({ shard: specOf(number), ids: ['a'] })));
  const fetches = asked.map(({ mock }) => mock.calls.filter(([request]) => (request as { op: string }).op === 'fetch'));
  expect(fetches.map(({ length }) => length)).toEqual([2, 2]);
});
