/**
 * An attacker edits the index in a checkpoint, which native code reads without checks, together
 * with the checksum in the manifest. Also: an index that the process was reading when it ended.
 */

import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import type { CheckpointFile, CheckpointInfo } from '../../../store/checkpoints.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** Enough for an index, and so for a checkpoint. */
const RECORDS = 2_100;
const BATCH = 700;
const GRAPH = 'graph.usearch';
const GRAPH_HEADER_BYTES = 64;

let service: TestService;
let collection: string;

interface Manifest extends CheckpointInfo {
  files: CheckpointFile[];
}

const shardFolder = () => join(service.dataDir, 'checkpoints', collection, '0');
async function newestSeq(): Promise<number> {
  return Math.max(...(await readdir(shardFolder())).filter((name) => /^\d+$/.test(name)).map(Number));
}

/**
 * Overwrites the newest graph after its header with values that native code reads as lengths, and
 * updates its checksum in the manifest.
 */
async function editGraph(): Promise<void> {
  const folder = join(shardFolder(), String(await newestSeq()));
  const graph = await readFile(join(folder, GRAPH));
  graph.fill(0xff, GRAPH_HEADER_BYTES);
  await writeFile(join(folder, GRAPH), graph);
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  manifest.files.find(({ name }) => name === GRAPH)!.sha256 = hash('sha256', graph);
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  // The next start opens the shard without a request.
  await writeFile(join(service.dataDir, 'open-shards.json'), JSON.stringify([`${collection}.0`]));
}

async function expectAllThere(): Promise<void> {
  const vector = [1, 50, 1];
  const { body } = await service.api<{ matches: { id: string }[] }>('POST', '/collections/indexed/query', {
    vector,
    topK: 1,
  });
  expect(body.matches).toMatchObject([{ id: 'r50' }]);
  const verified = await service.api<VerifyResult>('GET', '/collections/indexed/verify');
  expect(verified.body).toMatchObject({ state: 'not_anchored', vectorCount: RECORDS });
}

/**
 * Stops the service gracefully once all records are in the graph: native code accepts nearly
 * anything as a graph of few records.
 */
async function stopIndexed(): Promise<void> {
  await until('all records are in the graph', async () => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    return /^provec_shards_unindexed_records 0$/m.test(metrics);
  });
  await service.provec.stop();
}

beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'error' });
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'indexed',
    dimensions: 3,
    metric: 'euclidean',
  });
  collection = body.collection.id;
  for (let from = 0; from < RECORDS; from += BATCH) {
    const records = Array.from({ length: BATCH }, (_, at) => ({
      id: `r${from + at}`,
      values: [1, from + at, (from + at) % 7],
    }));
    await service.api('POST', '/collections/indexed/upsert', { records });
  }
  await stopIndexed();
});
afterAll(() => service.stop());

test('a graph edited together with its checksum never reaches native code', async () => {
  await editGraph();
  await service.restart();
  await expectAllThere();
  expect(service.logged).toContain('a checkpoint is damaged, or was not written by this service, and is set aside');
  await stopIndexed();
});

test('one that the process was reading when it ended is not read again', async () => {
  const seq = await newestSeq();
  await mkdir(join(service.dataDir, 'checkpoints', 'reading'), { recursive: true });
  const mark = join(service.dataDir, 'checkpoints', 'reading', 'of-the-process-that-ended');
  await writeFile(mark, JSON.stringify({ shard: `${collection}.0`, seq }));
  await service.restart();
  await expectAllThere();
  expect(service.logged).toContain('the process ended while it read this checkpoint');
  expect(await readdir(shardFolder())).toContain(`unsound-${seq}`);
});
