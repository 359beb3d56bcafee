import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Seals } from '../../../lib/secret/seals.ts';
import { CrashGuardedCheckpoints } from '../../../store/crash-guarded-checkpoints.ts';
import { FolderCheckpoints } from '../../../store/sqlite/checkpoints.ts';
import { newCollection } from '../../contract/store-rows.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';

const COLLECTION = newCollection().id;
const SHARD = `${COLLECTION}.0`;

let folder: string;
let told: unknown[];

/** Opens the store as a starting node does. */
async function started(): Promise<CrashGuardedCheckpoints> {
  const stored = new FolderCheckpoints(
    join(folder, 'store'),
    new Seals(TEST_KEYS.checkpoints),
    join(folder, 'staging'),
  );
  await stored.open();
  const checkpoints = new CrashGuardedCheckpoints(stored, join(folder, 'reading'));
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

test('the checkpoint being read when the process ended is set aside at the next start, and nothing else', async () => {
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

test('released checkpoints, and those being read when the store was closed, are offered again', async () => {
  const before = await started();
  await before.release((await before.fetch(SHARD, 1))!);
  await before.fetch(SHARD, 2);
  await before.close();
  const checkpoints = await started();
  expect((await checkpoints.list(SHARD)).map(({ seq }) => seq)).toEqual([2, 1]);
  expect(told).toEqual([]);
});

test('an incomplete mark has no meaning', async () => {
  await writeFile(join(folder, 'reading', 'cut-short'), '{"sha');
  await started();
  expect(told).toEqual([]);
  expect(await readdir(join(folder, 'reading'))).toEqual([]);
});

describe('someone who can write to the data folder', () => {
  /** A folder that does not belong to the store, with a file in it. */
  async function elsewhere(): Promise<string> {
    const path = join(folder, 'elsewhere');
    await mkdir(path);
    await writeFile(join(path, 'keypair.json'), 'a secret');
    return path;
  }

  test('plants a mark whose seq is a path out of the store: nothing is removed there, and the start continues', async () => {
    const victim = await elsewhere();
    const aside = join(folder, 'store', COLLECTION, '0', 'unsound-');
    const seq = `/${relative(aside, victim)}`;
    // A path through a missing folder leads nowhere.
    await mkdir(aside);
    await writeFile(join(folder, 'reading', 'planted'), JSON.stringify({ shard: SHARD, seq }));
    const checkpoints = await started();
    expect(await readdir(victim)).toEqual(['keypair.json']);
    expect((await checkpoints.list(SHARD)).map((each) => each.seq)).toEqual([2, 1]);
    expect(await readdir(join(folder, 'reading'))).toEqual([]);
    expect(told).toEqual([{ file: join(folder, 'reading', 'planted') }]);
  });

  test.each([
    ['a number', 5],
    ['null', null],
    ['a list', [SHARD, 2]],
    ['no shard', { seq: 2 }],
    ['a shard that is not text', { shard: 5, seq: 2 }],
    ['a collection that is a path', { shard: '../../elsewhere.0', seq: 2 }],
    ['an invalid index', { shard: `${COLLECTION}.00`, seq: 2 }],
    ['an index that no collection has', { shard: `${COLLECTION}.1000`, seq: 2 }],
    ['a negative seq', { shard: SHARD, seq: -2 }],
    ['a fraction for a seq', { shard: SHARD, seq: 1.5 }],
    ['a seq past all numbers', { shard: SHARD, seq: 2 ** 53 }],
    ['a text for a seq', { shard: SHARD, seq: '2' }],
    ['a seq in a list', { shard: SHARD, seq: [2] }],
  ])('plants a mark with %s: it is removed and reported, and nothing else happens', async (_, mark) => {
    await writeFile(join(folder, 'reading', 'planted'), JSON.stringify(mark));
    const checkpoints = await started();
    expect(told).toEqual([{ file: join(folder, 'reading', 'planted') }]);
    expect(await readdir(join(folder, 'reading'))).toEqual([]);
    expect((await checkpoints.list(SHARD)).map(({ seq }) => seq)).toEqual([2, 1]);
    await started();
    expect(told).toHaveLength(1);
  });

  test('puts a folder, a link, or an endless file among the marks: the start continues without them', async () => {
    const victim = await elsewhere();
    const reading = join(folder, 'reading');
    await mkdir(join(reading, 'folder', 'in it'), { recursive: true });
    await symlink(victim, join(reading, 'link'));
    await symlink('/dev/zero', join(reading, 'endless'));
    await writeFile(join(reading, 'long'), JSON.stringify({ shard: SHARD, seq: 2, more: 'x'.repeat(10_000) }));
    await started();
    expect(told).toHaveLength(4);
    expect(await readdir(reading)).toEqual([]);
    expect(await readdir(victim)).toEqual(['keypair.json']);
  });

  test('makes the marks folder a link to another: nothing is removed there', async () => {
    const victim = await elsewhere();
    await rm(join(folder, 'reading'), { recursive: true });
    await symlink(victim, join(folder, 'reading'));
    const checkpoints = await started();
    expect(await readdir(victim)).toEqual(['keypair.json']);
    expect(told).toEqual([{ file: join(folder, 'reading') }]);
    expect(await checkpoints.fetch(SHARD, 2)).not.toBeNull();
    expect(await readdir(victim)).toEqual(['keypair.json']);
  });
});

test('every operation that sets a checkpoint aside refuses an invalid seq', async () => {
  const stored = new FolderCheckpoints(
    join(folder, 'store'),
    new Seals(TEST_KEYS.checkpoints),
    join(folder, 'staging'),
  );
  await expect(stored.setAside(SHARD, '/../x' as never)).rejects.toThrow(RangeError);
});
