/** Recomputing a shard is long work that may wait for other requests. */
import { expect, test } from '@jest/globals';
import { shardKey } from '../../../../../lib/shard/key.ts';
import type { WorkerOps } from '../../../../../services/shards/worker/protocol.ts';
import type { StoredRecord } from '../../../../../store/records.ts';
import { Model, queryWith, specWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { HostHarness } from './shard-host-harness.ts';

const SLICE_MAX_MS = 3;
const COUNT = 500;

function filled() {
  const host = new HostHarness();
  const key = host.open('c');
  const model = new Model(specWith({ dimensions: 2 }));
  const records = Array.from({ length: COUNT }, (_, at): [string, TestRecord] => [
    `r${at}`,
    { values: [1, at], metadata: {} },
  ]);
  const upsert = upsertOf(records, 2);
  model.apply(upsert);
  host.write(key, upsert);
  host.settle();
  const session = 'a session';
  host.result(host.send('recomputeBegin', { session, spec: specWith({ collectionId: 'c', dimensions: 2 }) }));
  const stored = records.map(([id, { values }]): StoredRecord => {
    return { id, seq: 1, vector: Float32Array.from(values), metadata: Buffer.from('{}'), leaf: Buffer.alloc(32) };
  });
  return { host, key, model, session, stored };
}

test('queries and writes run between its slices, none of which is long', () => {
  const { host, key, model, session, stored } = filled();
  const query = queryWith([1, 0.5], { topK: 3 });
  const wanted = model.query(query).map(({ id }) => id);
  const recompute = host.send('recomputeRecords', { session, records: stored });
  for (let round = 0; round < 3; round++) {
    const asked = host.query(key, query);
    if (!host.isAnswered(asked)) host.turnsUntil(asked);
    expect(host.isAnswered(recompute)).toBe(false);
    expect(host.matches(asked).map(({ id }) => id)).toEqual(wanted);
  }
  host.write(key, { kind: 'delete', ids: ['r1'] });
  expect(host.isAnswered(recompute)).toBe(false);
  host.longestTurnMs = 0;
  expect(host.turnsUntil(recompute)).toBeGreaterThan(COUNT / 20);
  expect(host.longestTurnMs).toBeLessThan(SLICE_MAX_MS);
  const { head } = host.result<WorkerOps['recomputeHead']['result']>(
    host.send('recomputeHead', { session, seq: 1, version: 1 }),
  );
  expect(head.count).toBe(COUNT);
});

test('one whose session is over is refused, and what then runs does no harm', () => {
  const { host, session, stored } = filled();
  const recompute = host.send('recomputeRecords', { session, records: stored });
  host.result(host.send('recomputeEnd', { session }));
  host.turnsUntil(recompute);
  expect(host.fault(host.send('recomputeRecords', { session, records: stored })).message).toMatch(/session/);
  const spoilt = host.send('recomputeEntries', { session, entries: [] });
  expect(host.fault(spoilt).code).toBeNull();
  expect(host.result(host.send('close', { key: shardKey('c', 0) }))).toBeUndefined();
});
