import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Seals } from '../../lib/secret/seals.ts';
import { OnceTriedCheckpoints } from '../../lib/store/once-tried-checkpoints.ts';
import { FolderCheckpoints } from '../../lib/store/sqlite/checkpoints.ts';
import { newCollection } from '../contract/store-rows.ts';
import { TEST_KEYS } from '../support/store-keys.ts';

const SHARD = `${newCollection().id}.0`;

let folder: string;
let told: unknown[];

/** As at a start of the node. */
async function started(): Promise<OnceTriedCheckpoints> {
  const stored = new FolderCheckpoints(
    join(folder, 'store'),
    new Seals(TEST_KEYS.checkpoints),
    join(folder, 'staging'),
  );
  await stored.open();
  const checkpoints = new OnceTriedCheckpoints(stored, join(folder, 'reading'));
  await checkpoints.open({ error: (mark: unknown) => told.push(mark) } as never);
  return checkpoints;
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-once-'));
  told = [];
  const checkpoints = await started();
  for (const seq of [1, 2]) {
    const staged = await checkpoints.stage(SHARD);
    await writeFile(join(staged, 'graph'), `at ${seq}`);
    await checkpoints.put(SHARD, seq, staged);
  }
});
afterEach(() => rm(folder, { recursive: true }));

test('what the process was reading when it ended is set aside at the next start, and nothing else', async () => {
  await (await started()).fetch(SHARD, 2);
  const checkpoints = await started();
  expect(told).toEqual([{ shard: SHARD, seq: 2 }]);
  expect(await checkpoints.fetch(SHARD, 2)).toBeNull();
  expect(await checkpoints.fetch(SHARD, 1)).not.toBeNull();
});

test('each start sets aside one', async () => {
  for (const seq of [2, 1]) await (await started()).fetch(SHARD, seq);
  expect(await (await started()).list(SHARD)).toEqual([]);
  await started();
  expect(told).toHaveLength(2);
});

test('what was released, and what was being read when the store was closed, is offered again', async () => {
  const before = await started();
  await before.release((await before.fetch(SHARD, 1))!);
  await before.fetch(SHARD, 2);
  await before.close();
  const checkpoints = await started();
  expect((await checkpoints.list(SHARD)).map(({ seq }) => seq)).toEqual([2, 1]);
  expect(told).toEqual([]);
});

test('a mark that was not written to its end says nothing', async () => {
  await writeFile(join(folder, 'reading', 'cut-short'), '{"sha');
  await started();
  expect(told).toEqual([]);
  expect(await readdir(join(folder, 'reading'))).toEqual([]);
});
