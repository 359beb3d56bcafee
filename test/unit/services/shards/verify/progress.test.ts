import { afterEach, expect, test } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import type { RecordScan, StoredRecord } from '../../../../../store/records.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../../support/shard-fixture.ts';
import { until } from '../../../../support/until.ts';

const BATCH = 10;
const BATCH_MS = 100;

let fixture: ShardFixture;
afterEach(() => fixture.end());

const many = (count: number, prefix: string) => batchOf(Array.from({ length: count }, (_, at) => `${prefix}${at}`));

test("progress is reported at a recomputation's first records and then every quarter of a second", async () => {
  let nowMs = 0;
  async function* slow(batches: RecordScan['batches']): AsyncGenerator<StoredRecord[], void, undefined> {
    for await (const batch of batches) {
      for (let at = 0; at < batch.length; at += BATCH) {
        yield batch.slice(at, at + BATCH);
        nowMs += BATCH_MS;
      }
    }
  }
  const clock = { ...SYSTEM_CLOCK, monotonicMs: () => nowMs };
  fixture = await shardFixture(
    {},
    (store) => ({
      ...store,
      records: {
        apply: (...given) => store.records.apply(...given),
        appliedSeq: (key) => store.records.appliedSeq(key),
        removeForeign: (...given) => store.records.removeForeign(...given),
        async scan(key) {
          const { throughSeq, batches, unreadable, stray } = await store.records.scan(key);
          return { throughSeq, batches: slow(batches), unreadable, stray, reachedSeq: throughSeq };
        },
      },
    }),
    clock,
  );
  const spec = specOf(1);
  await fixture.node.upsert({ shard: spec, batch: many(70, 'r') });
  await until('it is materialised', async () => {
    return (await fixture.store.records.appliedSeq(`${spec.collectionId}.0`)) === 1;
  });
  const told: number[] = [];
  const { head, session } = await fixture.node.recomputation.begin(spec, (records) => told.push(records));
  expect([told, head.count]).toEqual([[10, 40, 70], 70]);
  nowMs += 3 * BATCH_MS;
  const { head: later } = await fixture.node.upsert({ shard: spec, batch: many(30, 's') });
  await fixture.node.recomputation.extend(session, later.seq);
  expect(told).toEqual([10, 40, 70, 100]);
});
