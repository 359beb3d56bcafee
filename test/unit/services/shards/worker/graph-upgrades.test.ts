/** Graphs of an earlier version are replaced one at a time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { Index } from 'usearch';
import { type ShardKey, shardKey } from '../../../../../lib/shard/key.ts';
import { readHeader } from '../../../../../services/shards/engine/checkpoint.ts';
import type { ShardSize } from '../../../../../services/shards/worker/protocol.ts';
import type { FetchedCheckpoint } from '../../../../../store/checkpoints.ts';
import { writeOutdatedCheckpoint } from '../../../../support/outdated-checkpoint.ts';
import { randomFrom } from '../../../../support/random.ts';
import { specWith } from '../../../../support/shard-engine.ts';
import { checkpointIn } from '../../../../support/written-checkpoint.ts';
import { HostHarness } from './shard-host-harness.ts';

const SPEC = specWith({ collectionId: 'c', dimensions: 8 });
const RECORDS = 400;
const folder = mkdtempSync(join(tmpdir(), 'provec-upgrades-'));
let checkpoint: FetchedCheckpoint;
beforeAll(() => {
  const random = randomFrom(5);
  const path = mkdtempSync(join(folder, 'outdated-'));
  const vectors = Array.from({ length: RECORDS }, () => Float32Array.from({ length: 8 }, () => random() - 0.5));
  writeOutdatedCheckpoint(path, SPEC, vectors);
  checkpoint = checkpointIn(path);
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A host that has loaded `shards` copies of the shard, all with an outdated graph. */
function loaded(shards: number): { host: HostHarness; keys: ShardKey[] } {
  const host = new HostHarness({ engine: { graphMinRecords: 64 } });
  const keys = Array.from({ length: shards }, (_, i) => shardKey(`c${i}`, 0));
  for (const load of keys.map((key) => host.send('load', { key, spec: SPEC, checkpoint }))) host.turnsUntil(load);
  return { host, keys };
}

function sizeOf(host: HostHarness, key: ShardKey): ShardSize {
  return host.result<ShardSize>(host.send('size', { key }));
}

function bytesOf(host: HostHarness, keys: ShardKey[]): number {
  return keys.reduce((sum, key) => sum + sizeOf(host, key).bytes, 0);
}

/** Peak memory growth of the shards until everything was built. */
function peakGrowth(host: HostHarness, keys: ShardKey[]): number {
  const before = bytesOf(host, keys);
  let peak = before;
  while (host.turn()) peak = Math.max(peak, bytesOf(host, keys));
  return peak - before;
}

/** Whether the shard's graph has the current version. */
function isUpgraded(host: HostHarness, key: ShardKey): boolean {
  const path = mkdtempSync(join(folder, 'saved-'));
  host.turnsUntil(host.send('save', { key, folder: path }));
  return readHeader(path).graph?.metric !== undefined;
}

test('shards that open with outdated graphs never hold more than one graph twice', () => {
  const one = loaded(1);
  const growth = peakGrowth(one.host, one.keys);
  const { host, keys } = loaded(4);
  expect(peakGrowth(host, keys)).toBeLessThan(1.5 * growth);
  expect(keys.map((key) => isUpgraded(host, key))).toEqual([true, true, true, true]);
});

test('an outdated graph does not count as unindexed, waiting or in progress', () => {
  const { host, keys } = loaded(2);
  const unindexed = new Set<number>();
  do for (const key of keys) unindexed.add(sizeOf(host, key).unindexed);
  while (host.turn());
  expect([...unindexed]).toEqual([0]);
});

test('a shard that closes, and one whose graph cannot be built, let the next one continue', () => {
  const { host, keys } = loaded(4);
  for (let i = 0; i < 5; i++) host.turn();
  host.result(host.send('close', { key: keys[0] }));
  host.result(host.send('close', { key: keys[2] }));
  const add = jest.spyOn(Index.prototype, 'add').mockImplementationOnce(() => {
    throw new Error('Out of memory!');
  });
  host.settle();
  expect(add).toHaveBeenCalled();
  expect([keys[1], keys[3]].map((key) => isUpgraded(host, key))).toEqual([false, true]);
  host.fire();
  host.settle();
  expect(isUpgraded(host, keys[1])).toBe(true);
});
