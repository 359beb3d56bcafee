import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { INTERNAL_LIMITS } from '../../../../../lib/limits.ts';
import { shardKey } from '../../../../../lib/shard/key.ts';
import type { Store } from '../../../../../store/port.ts';
import type { RecordScan } from '../../../../../store/records.ts';
import { batchOf, type ShardFixture, shardFixture, specOf } from '../../../../support/shard-fixture.ts';
import { withLog } from '../../../../support/store-log.ts';
import { until } from '../../../../support/until.ts';

const { recomputeScansMax, recomputeSessionsMax, recomputeSessionIdleMaxMs } = INTERNAL_LIMITS;

let fixture: ShardFixture;
afterEach(async () => {
  jest.useRealTimers();
  await fixture.end();
});

function withScan(
  scan: (key: string, real: () => Promise<RecordScan>) => Promise<RecordScan>,
): (store: Store) => Store {
  return (store) => ({
    ...store,
    records: {
      apply: (...given) => store.records.apply(...given),
      appliedSeq: (key) => store.records.appliedSeq(key),
      removeForeign: (...given) => store.records.removeForeign(...given),
      scan: (key) => scan(key, () => store.records.scan(key)),
    },
  });
}

const withRead = (before: () => Promise<void>) =>
  withLog((real) => ({
    async read(...given) {
      await before();
      return real.read(...given);
    },
  }));

/** A promise and the function that resolves it. */
function gate(): { opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function turns(): Promise<void> {
  for (let count = 0; count < 50; count++) await turn();
}

/** Fakes only timers that the code sets; worker threads and SQLite run normally. */
function fakeTimers(): void {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date', 'hrtime'] });
}

test('a few shards are scanned at a time, the others in order of arrival, and none fails because it waited', async () => {
  const scanned: string[] = [];
  const { opened, open } = gate();
  fixture = await shardFixture(
    {},
    withScan(async (key, real) => {
      scanned.push(key);
      await opened;
      return real();
    }),
  );
  const numbers = Array.from({ length: recomputeScansMax * 3 }, (_, at) => at + 1);
  const specs = numbers.map((number) => specOf(number));
  // Shards without writes are not opened, and so nothing else scans them.
  const begun = specs.map((spec) => fixture.node.recomputation.begin(spec));
  while (scanned.length < recomputeScansMax) await turn();
  await turns();
  expect(scanned).toHaveLength(recomputeScansMax);
  open();
  const recomputed = await Promise.all(begun);
  expect(scanned).toEqual(specs.map(({ collectionId }) => `${collectionId}.0`));
  for (const { session, head } of recomputed) {
    expect(await fixture.node.recomputation.extend(session, head.seq)).toMatchObject({ head });
    fixture.node.recomputation.release(session);
  }
});

test('a failed scan makes way for the next', async () => {
  let scans = 0;
  fixture = await shardFixture(
    {},
    withScan((_key, real) => {
      scans++;
      return scans <= recomputeScansMax ? Promise.reject(new Error('no')) : real();
    }),
  );
  const begun = Array.from({ length: recomputeScansMax + 1 }, () => fixture.node.recomputation.begin(specOf(1)));
  const outcomes = await Promise.allSettled(begun);
  expect(outcomes.map(({ status }) => status)).toEqual([...Array(recomputeScansMax).fill('rejected'), 'fulfilled']);
});

test("past the bound a scan is refused with 503, and the node's end refuses those that wait", async () => {
  const { opened, open } = gate();
  fixture = await shardFixture(
    {},
    withScan(async (_key, real) => {
      await opened;
      return real();
    }),
  );
  const begun = Array.from({ length: recomputeSessionsMax }, () => fixture.node.recomputation.begin(specOf(1)));
  const outcomes = Promise.allSettled(begun);
  await turns();
  await expect(fixture.node.recomputation.begin(specOf(1))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  fixture.node.recomputation.stop();
  open();
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
});

/** Drops the collection like another node, which does not know of the scan. */
async function drop(store: Store): Promise<void> {
  const { collectionId } = specOf(1);
  await store.catalog.dropCollection(collectionId, true);
  await store.dropCollectionData(collectionId);
}

test('a collection deleted during the scan is not found, and is not a contradiction', async () => {
  fixture = await shardFixture(
    {},
    withScan(async (_key, real) => {
      const scan = await real();
      await drop(fixture.store);
      return scan;
    }),
  );
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  await until(
    'it is materialised',
    async () => (await fixture.store.records.appliedSeq(`${specOf(1).collectionId}.0`)) === 1,
  );
  const begun = fixture.node.recomputation.begin(specOf(1));
  await expect(begun).rejects.toMatchObject({ code: 'COLLECTION_NOT_FOUND' });
});

test('nor is one whose log is deleted first, with the records still there', async () => {
  let isScanned = false;
  const appliedSeq = async () => (isScanned ? 2 : 0);
  fixture = await shardFixture({}, (store) => {
    const logged = withRead(async () => {
      if (isScanned) await drop(fixture.store);
    })(store);
    const scan = async (key: string): Promise<RecordScan> => {
      isScanned = true;
      return store.records.scan(key);
    };
    return {
      ...logged,
      records: { apply: async () => undefined, removeForeign: async () => undefined, appliedSeq, scan },
    };
  });
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) });
  const begun = fixture.node.recomputation.begin(specOf(1));
  await expect(begun).rejects.toMatchObject({ code: 'COLLECTION_NOT_FOUND' });
});

test('a session waits for the rest of its verification, and expires only if no caller returns for long', async () => {
  fixture = await shardFixture();
  const { head } = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a', 'b']) });
  fakeTimers();
  const { session } = await fixture.node.recomputation.begin(specOf(1));
  jest.advanceTimersByTime(recomputeSessionIdleMaxMs - 1);
  expect(await fixture.node.recomputation.extend(session, head.seq)).toMatchObject({ head });
  jest.advanceTimersByTime(recomputeSessionIdleMaxMs - 1);
  expect(await fixture.node.recomputation.extend(session, head.seq)).toMatchObject({ head });
  jest.advanceTimersByTime(recomputeSessionIdleMaxMs - 1);
  fixture.node.recomputation.keep(session);
  jest.advanceTimersByTime(recomputeSessionIdleMaxMs - 1);
  expect(await fixture.node.recomputation.extend(session, head.seq)).toMatchObject({ head });
  jest.advanceTimersByTime(recomputeSessionIdleMaxMs);
  fixture.node.recomputation.keep(session);
  await expect(fixture.node.recomputation.extend(session, head.seq)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a session at work does not expire', async () => {
  let before = Promise.resolve();
  fixture = await shardFixture(
    {},
    withRead(() => before),
  );
  await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['a']) });
  const { session } = await fixture.node.recomputation.begin(specOf(1));
  const { head } = await fixture.node.upsert({ shard: specOf(1), batch: batchOf(['b']) });
  const { opened, open } = gate();
  before = opened;
  fakeTimers();
  const extended = fixture.node.recomputation.extend(session, head.seq);
  await turns();
  jest.advanceTimersByTime(3 * recomputeSessionIdleMaxMs);
  open();
  expect(await extended).toMatchObject({ head });
});

describe('memory', () => {
  const LIMIT_MIB = 64;
  const MIB = 2 ** 20;
  const RECORD_BYTES = 254;
  const many = (count: number, prefix = 'r') => batchOf(Array.from({ length: count }, (_, at) => `${prefix}${at}`));
  const bytes = () => fixture.node.stats().bytes;

  test("a session's memory counts until it is released, once", async () => {
    fixture = await shardFixture();
    const { head } = await fixture.node.upsert({ shard: specOf(1), batch: many(5_000) });
    await fixture.restart();
    expect(bytes()).toBe(0);
    const first = await fixture.node.recomputation.begin(specOf(1));
    const second = await fixture.node.recomputation.begin(specOf(1));
    expect(first).toMatchObject({ head, differences: [] });
    expect(bytes()).toBeGreaterThanOrEqual(2 * 5_000 * RECORD_BYTES);
    expect(bytes()).toBeLessThan(3 * 5_000 * RECORD_BYTES);
    for (const { session } of [first, second, first]) fixture.node.recomputation.release(session);
    expect(bytes()).toBe(0);
  });

  test('long ids, and what is applied over the records, count as they arrive', async () => {
    fixture = await shardFixture();
    await fixture.node.upsert({ shard: specOf(1), batch: many(2_000, 'x'.repeat(400)) });
    await fixture.restart();
    const { session, head } = await fixture.node.recomputation.begin(specOf(1));
    const before = bytes();
    expect(before).toBeGreaterThan(2_000 * (RECORD_BYTES + 2 * 336));
    await fixture.node.upsert({ shard: specOf(2), batch: many(1) });
    const withOther = bytes();
    const { head: later } = await fixture.node.upsert({ shard: specOf(1), batch: many(3_000, 'late') });
    const open = bytes();
    expect(await fixture.node.recomputation.extend(session, later.seq)).toMatchObject({ head: later });
    expect(bytes() - open).toBeGreaterThanOrEqual(3_000 * RECORD_BYTES);
    expect(head.seq).toBeLessThan(later.seq);
    expect(withOther).toBeGreaterThan(before);
  });

  test('idle shards make way for a session, and one for which there is no room is refused with 503', async () => {
    fixture = await shardFixture({ PROVEC_MEMORY_LIMIT_MB: String(LIMIT_MIB) });
    const dimensions = 2_048;
    const wide = (number: number) => specOf(number, { dimensions });
    const vectors = new Float32Array(1_500 * dimensions).fill(1);
    const { ids, metadata } = many(1_500);
    for (const number of [1, 2, 3]) {
      await fixture.node.upsert({
        shard: wide(number),
        batch: { ids, dimensions, vectors: vectors.slice(), metadata },
      });
    }
    const { head } = await fixture.node.upsert({ shard: specOf(4), batch: many(20_000) });
    await fixture.node.upsert({ shard: specOf(5), batch: many(1) });
    // Entries that are not in the records yet are applied on top and counted with an upper bound. A
    // shard whose graph is being built grows by itself.
    await until('all is written and indexed', async () => {
      const applied = await fixture.store.records.appliedSeq(shardKey(specOf(4).collectionId, specOf(4).index));
      return applied === head.seq && fixture.node.stats().unindexed === 0;
    });
    const open = fixture.node.stats().open;
    const sessions: string[] = [];
    let refusal: unknown = null;
    const begin = async () => {
      await fixture.node.recomputation.begin(specOf(4)).then(
        ({ session }) => sessions.push(session),
        (error: unknown) => {
          refusal = error;
        },
      );
      expect(bytes()).toBeLessThanOrEqual(LIMIT_MIB * MIB);
    };
    // A shard whose checkpoint is being written is not idle yet.
    await until('idle shards have made way', async () => {
      if (sessions.length < 6) await begin();
      return sessions.length === 6;
    });
    refusal = null;
    while (refusal === null && sessions.length < 30) await begin();
    expect(refusal).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('not enough memory to verify'),
    });
    expect(fixture.node.stats().open).toBeLessThan(open);
    // Other requests are served meanwhile, and the scan continues once there is room.
    expect((await fixture.node.fetch({ shard: specOf(5), ids: ['r0'] })).items).toHaveLength(1);
    fixture.node.recomputation.release(sessions.pop()!);
    expect((await fixture.node.recomputation.begin(specOf(4))).differences).toEqual([]);
  });
});
