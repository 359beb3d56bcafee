/**
 * Somebody edits the index in a checkpoint, which native code reads that does not check it, together with the checksum in its manifest; and one that the service itself wrote
 * ends the process.
 */

import { hash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { Seals } from '../../lib/secret/seals.ts';
import { saidOfCheckpoint } from '../../lib/store/checkpoint-seal.ts';
import type { CheckpointFile, CheckpointInfo } from '../../lib/store/checkpoints.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEYS, TEST_SECRET } from '../support/store-keys.ts';

/** Enough for an index, and so for a checkpoint. */
const RECORDS = 2_100;
const BATCH = 700;
const GRAPH = 'graph.usearch';

let service: ServiceProcess;
let collection: string;

interface Manifest extends CheckpointInfo {
  files: CheckpointFile[];
  seal: string;
}

/** Fills the second half of the newest graph with what native code takes for lengths, and says its checksum in the manifest. */
async function editGraph(seal: (manifest: Manifest) => string): Promise<void> {
  const shard = join(service.dataDir, 'checkpoints', collection, '0');
  const seqs = (await readdir(shard)).filter((name) => /^\d+$/.test(name)).map(Number);
  const folder = join(shard, String(Math.max(...seqs)));
  const graph = await readFile(join(folder, GRAPH));
  graph.fill(0xff, graph.length >> 1);
  await writeFile(join(folder, GRAPH), graph);
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  manifest.files.find(({ name }) => name === GRAPH)!.sha256 = hash('sha256', graph);
  await writeFile(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, seal: seal(manifest) }));
  // The next start opens the shard by itself.
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

beforeAll(async () => {
  service = await startProcess({ PROVEC_SECRET: TEST_SECRET, PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'error' });
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
  await service.kill('SIGTERM');
});
afterAll(() => service.dispose());

test('a graph edited with its checksum never reaches native code', async () => {
  await editGraph(({ seal }) => seal);
  await service.restart();
  await expectAllThere();
  expect(service.stderr).toContain('a checkpoint is damaged, or was not written by this service, and is set aside');
  expect(await service.kill('SIGTERM')).toMatchObject({ code: 0 });
});

test('one that the service sealed and that ends the process is tried once', async () => {
  const seals = new Seals(TEST_KEYS.checkpoints);
  await editGraph((manifest) => seals.hex(saidOfCheckpoint(`${collection}.0`, manifest, manifest.files)));
  expect(await service.restartToEnd()).toMatchObject({ signal: 'SIGABRT' });
  await service.restart();
  await expectAllThere();
  expect(service.stderr).toContain('the process ended while it read this checkpoint');
});
