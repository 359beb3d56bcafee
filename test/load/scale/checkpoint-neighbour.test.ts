/**
 * How long a neighbour's query waits on a worker thread while a large shard is saved and loaded.
 * The graph goes to its file, and comes back, in one step of native code.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pino from 'pino';
import { WorkerPool } from '../../../services/shards/worker/pool.ts';
import type { WorkerRequests } from '../../../services/shards/worker/protocol.ts';
import { clusteredVectors, randomFrom } from '../../support/random.ts';
import { queryWith, specWith } from '../../support/shard-engine.ts';
import { until } from '../../support/until.ts';
import { checkpointIn } from '../../support/written-checkpoint.ts';

const RECORDS = 60_000;
const BATCH = 1_000;
const DIMENSIONS = 64;
const SPEC = specWith({ collectionId: 'large', dimensions: DIMENSIONS });
const QUERY = queryWith(Array(DIMENSIONS).fill(1), { topK: 1 });
/** Bound on the longest wait for a loading shard, as a share of the whole load. */
const WAIT_SHARE_MAX = 0.4;

let pool: WorkerPool;
let worker: WorkerRequests;
const folder = mkdtempSync(join(tmpdir(), 'provec-neighbour-'));

async function upsert(key: string, from: number, vectors: Float32Array): Promise<void> {
  const count = vectors.length / DIMENSIONS;
  const batch = {
    ids: Array.from({ length: count }, (_, i) => `r${from + i}`),
    dimensions: DIMENSIONS,
    vectors: vectors.slice(),
    metadata: Array.from({ length: count }, (_, i) => `{"n":${from + i}}`),
  };
  await worker.request('stage', { key, writes: [{ kind: 'upsert', batch }] });
  await worker.request('commit', { key });
}

beforeAll(async () => {
  pool = new WorkerPool(1, pino({ level: 'silent' }));
  worker = pool.workers[0]!;
  const vectors = clusteredVectors(randomFrom(3), RECORDS, DIMENSIONS, 100);
  await worker.request('create', { key: 'large.0', spec: SPEC });
  for (let from = 0; from < RECORDS; from += BATCH)
    await upsert('large.0', from, vectors.subarray(from * DIMENSIONS, (from + BATCH) * DIMENSIONS));
  await until('the shard is indexed', async () => (await worker.request('size', { key: 'large.0' })).unindexed === 0);
  await worker.request('create', { key: 'small.0', spec: { ...SPEC, collectionId: 'small', accountId: 'neighbour' } });
  await upsert('small.0', 0, vectors.subarray(0, 100 * DIMENSIONS));
}, 300_000);
afterAll(async () => {
  await pool.end();
  rmSync(folder, { recursive: true });
});

/**
 * Sends the neighbour's queries one after the other until `work` ends. Returns their number and the
 * longest wait as a share of the whole.
 */
async function besideQueries(what: string, work: Promise<unknown>): Promise<{ queries: number; waitShare: number }> {
  const startedMs = performance.now();
  let isDone = false;
  work.then(
    () => {
      isDone = true;
    },
    () => {
      isDone = true;
    },
  );
  const waits: number[] = [];
  while (!isDone) {
    const askedMs = performance.now();
    await worker.request('query', { key: 'small.0', query: QUERY, pageMaxBytes: 1e6 });
    waits.push(performance.now() - askedMs);
  }
  await work;
  const wholeMs = performance.now() - startedMs;
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(share * (waits.length - 1))]!.toFixed(1);
  console.info(
    `${what}: ${wholeMs.toFixed(0)} ms, ${waits.length} queries, p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms`,
  );
  return { queries: waits.length, waitShare: waits.at(-1)! / wholeMs };
}

test('a neighbour waits for a slice of a checkpoint, not for the whole', async () => {
  const saving = await besideQueries('saving', worker.request('save', { key: 'large.0', folder }));
  expect(saving.queries).toBeGreaterThan(10);
  const checkpoint = checkpointIn(folder);
  const loading = await besideQueries('loading', worker.request('load', { key: 'copy.0', spec: SPEC, checkpoint }));
  expect(loading.queries).toBeGreaterThan(50);
  expect(loading.waitShare).toBeLessThan(WAIT_SHARE_MAX);
  expect(await worker.request('size', { key: 'copy.0' })).toMatchObject({ records: RECORDS });
});
