import { expect, test } from '@jest/globals';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { clusteredVectors, randomFrom } from '../../../../support/random.ts';
import {
  fetchFrom,
  idsIn,
  Model,
  queryIn,
  queryWith,
  rootOf,
  settle,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';

const DIMENSIONS = 64;
const COUNT = 10_000;
const SPEC = specWith({ dimensions: DIMENSIONS });

function records(from: number, to: number, vectors: Float32Array): [string, TestRecord][] {
  return Array.from({ length: to - from }, (_, i) => {
    const row = (from + i) % COUNT;
    const values = [...vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS)];
    return [`record-${from + i}`, { values, metadata: { text: `text of record ${from + i} `.repeat(8) } }];
  });
}

test('memory follows the number of records up and down, and is steady under churn', () => {
  const vectors = clusteredVectors(randomFrom(5), COUNT, DIMENSIONS, 40);
  const shard = new Shard(SPEC, { graphMinRecords: 1e9 });
  const model = new Model(SPEC);
  const fill = (from: number, to: number) => {
    for (let i = from; i < to; i += 1_000)
      write(shard, upsertOf(records(i, Math.min(to, i + 1_000), vectors), DIMENSIONS));
  };
  const remove = (ids: string[]) => {
    for (let i = 0; i < ids.length; i += 1_000) write(shard, { kind: 'delete', ids: ids.slice(i, i + 1_000) });
  };
  fill(0, COUNT);
  settle(shard);
  const full = shard.bytes;
  expect(full / COUNT).toBeLessThan(DIMENSIONS * 4 + 210 + 200);

  for (let round = 0; round < 4; round++) {
    const [from, to] = [round * 2_500, round * 2_500 + 2_500];
    remove(records(from, to, vectors).map(([id]) => id));
    fill(COUNT + from, COUNT + to);
    settle(shard);
    expect(shard.bytes).toBeLessThan(full * 1.4);
  }
  const kept = records(COUNT, 2 * COUNT, vectors).filter((_, i) => i % 10 === 0);
  const keptIds = new Set(kept.map(([id]) => id));
  remove(idsIn(shard).filter((id) => !keptIds.has(id)));
  settle(shard);
  expect(shard.records).toBe(1_000);
  expect(shard.bytes).toBeLessThan(full / 6);
  model.apply(upsertOf(kept, DIMENSIONS));
  expect(rootOf(shard)).toBe(model.root());
  expect(fetchFrom(shard, [kept[7][0]])[0].values).toEqual(Float32Array.from(kept[7][1].values));
  expect(queryIn(shard, queryWith(kept[7][1].values, { topK: 1 }))[0].score).toBeCloseTo(1, 9);
  remove([...keptIds]);
  settle(shard);
  expect(shard.bytes).toBeLessThan(64 * 1024);
});

test('a graph is rebuilt without its stale vectors, and dropped when few records are left', () => {
  const vectors = clusteredVectors(randomFrom(6), COUNT, DIMENSIONS, 40);
  const shard = new Shard(SPEC);
  for (let i = 0; i < 3_000; i += 1_000) write(shard, upsertOf(records(i, i + 1_000, vectors), DIMENSIONS));
  settle(shard);
  const full = shard.bytes;
  expect(shard.unindexed).toBe(0);
  for (let round = 1; round <= 4; round++) {
    write(shard, upsertOf(records(0, 1_000, vectors.subarray(round * DIMENSIONS)), DIMENSIONS));
    settle(shard);
    expect(shard.bytes).toBeLessThan(full * 1.4);
  }
  write(shard, { kind: 'delete', ids: records(0, 1_000, vectors).map(([id]) => id) });
  write(shard, { kind: 'delete', ids: records(1_000, 2_000, vectors).map(([id]) => id) });
  write(shard, { kind: 'delete', ids: records(2_000, 2_500, vectors).map(([id]) => id) });
  settle(shard);
  expect(shard.records).toBe(500);
  expect(shard.bytes).toBeLessThan(full / 3);
});
