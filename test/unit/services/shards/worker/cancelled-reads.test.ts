import { afterEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { WorkerPool } from '../../../../../services/shards/worker/pool.ts';
import type { ShardSize } from '../../../../../services/shards/worker/protocol.ts';
import { queryWith, specWith, type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { batchOf, shardFixture, specOf } from '../../../../support/shard-fixture.ts';
import { HostHarness } from './shard-host-harness.ts';

const RECORDS = upsertOf(
  Array.from({ length: 400 }, (_, at): [string, TestRecord] => [
    `r${at}`,
    { values: [1, at], metadata: { text: 'x'.repeat(1_000) } },
  ]),
  2,
);
const ALL = queryWith([1, 1], { topK: 400, exact: true, includeMetadata: true });

test('a cancelled read takes no more turns, and those that wait for it continue', () => {
  const host = new HostHarness({ waitMaxMs: Number.POSITIVE_INFINITY });
  const key = host.open('c');
  host.write(key, RECORDS);
  host.settle();
  // As many queries as may run at a time, and one that waits.
  const queries = Array.from({ length: 5 }, () => host.query(key, ALL));
  const write = host.send('stage', { key, writes: [upsertOf([['new', { values: [1, 1], metadata: {} }]], 2)] });
  host.turnsUntil(write);
  const commit = host.send('commit', { key });
  expect([...queries, commit].map((id) => host.isAnswered(id))).toEqual(Array(6).fill(false));
  for (const id of queries) host.cancel(key, id);
  expect(host.isAnswered(commit)).toBe(true);
  expect(host.result<ShardSize>(commit).records).toBe(401);
  for (const id of queries) expect(host.fault(id).message).toContain('was cancelled');
  // What is cancelled late, or twice, is nothing.
  host.cancel(key, commit);
  host.cancel(key, queries[0]);
  host.cancel('absent.0', 1);
});

let pool: WorkerPool;
afterEach(() => pool?.end());

test('a request whose signal aborts fails with its reason, and what was kept for it is released', async () => {
  pool = new WorkerPool(1, pino({ level: 'silent' }));
  const [worker] = pool.workers;
  const key = 'c.0';
  await worker.request('create', { key, spec: specWith({ dimensions: 2 }) });
  await worker.request('stage', { key, writes: [RECORDS] });
  await worker.request('commit', { key });
  const asked: string[] = [];
  const { request } = worker;
  worker.request = (op, ...rest) => {
    asked.push(op);
    return request.call(worker, op, ...rest) as never;
  };
  const client = new AbortController();
  const fetch = () => worker.request('fetch', { key, ids: ['r1', 'r2'], pageMaxBytes: 1 }, [], client.signal);
  const fetched = fetch();
  client.abort(new Error('gone'));
  await expect(fetched).rejects.toThrow('gone');
  await expect(fetch()).rejects.toThrow('gone');
  // The thread had answered with the first of two pages before it learned of the cancellation.
  await worker.request('size', { key });
  expect(asked).toEqual(['fetch', 'fetch', 'size', 'leave']);
});

test('a node cancels every kind of read', async () => {
  const { node, end } = await shardFixture();
  try {
    const shard = specOf(1);
    await node.upsert({ shard, batch: batchOf(['a']) });
    const signal = AbortSignal.abort(new Error('gone'));
    const ids = ['a'];
    const query = queryWith([1, 1, 1, 1]);
    const outcomes = await Promise.allSettled([
      node.query({ shard, query }, signal),
      node.queries({ shard, queries: [query] }, signal),
      node.read({ shard, read: { op: 'count', filter: null } }, signal),
      node.fetch({ shard, ids }, signal),
      node.previewUpdates({ shard, updates: [], terms: { metadataMaxBytes: 1, countsChanges: true } }, signal),
      node.metadataBytes({ shard, ids }, signal),
      node.countNew({ shard, ids }, signal),
      node.prove({ shard, id: 'a' }, signal),
    ]);
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason?.message)).toEqual(
      Array(8).fill('gone'),
    );
  } finally {
    await end();
  }
});
