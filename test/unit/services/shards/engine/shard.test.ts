import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { clusteredVectors, randomFrom } from '../../../../support/random.ts';
import {
  loadFrom,
  saveTo,
  settle,
  smallGraphShard,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../support/shard-engine.ts';
import { checkpointIn } from '../../../../support/written-checkpoint.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'provec-shard-'));
  folders.push(folder);
  return folder;
}

const spec = specWith({ dimensions: 8, metric: 'euclidean' });
const vectors = clusteredVectors(randomFrom(11), 200, 8, 12);
const some = (from: number, to: number): [string, TestRecord][] =>
  Array.from({ length: to - from }, (_, i) => {
    return [`id ${from + i}`, { values: [...vectors.subarray((from + i) * 8, (from + i + 1) * 8)], metadata: {} }];
  });

test('damaged and foreign checkpoints are refused', () => {
  const shard = smallGraphShard(spec);
  write(shard, upsertOf(some(0, 200), 8));
  settle(shard);
  const folder = temporaryFolder();
  saveTo(folder, shard);
  expect(() => loadFrom(checkpointIn(folder), { ...spec, collectionId: 'other' })).toThrow('collectionId');
  expect(() => loadFrom(checkpointIn(temporaryFolder()), spec)).toThrow();
  const file = join(folder, 'records.bin');
  const sound = readFileSync(file);
  for (const length of [4, 40, 2_000, sound.length - 1]) {
    writeFileSync(file, sound.subarray(0, length));
    expect(() => loadFrom(checkpointIn(folder), spec)).toThrow();
  }
  const flipped = Buffer.from(sound);
  flipped[sound.length - 5] ^= 1;
  writeFileSync(file, flipped);
  expect(() => loadFrom(checkpointIn(folder), spec)).toThrow('root');
  writeFileSync(file, sound);
  const written = checkpointIn(folder);
  const graph = readFileSync(join(folder, 'graph.usearch'));
  writeFileSync(join(folder, 'graph.usearch'), graph.fill(0xff, graph.length >> 1));
  expect(() => loadFrom(written, spec)).toThrow('not the one that was written');
  rmSync(join(folder, 'graph.usearch'));
  expect(() => loadFrom(written, spec)).toThrow('ENOENT');
  expect(() => loadFrom(checkpointIn(folder), spec)).toThrow('missing');
});
