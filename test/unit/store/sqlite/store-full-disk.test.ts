import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Store, StoreError } from '../../../../store/port.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { entry, newAccount, newCollection, put, recordsOf } from '../../../contract/store-rows.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

const DISK_MIB = 48;
const SHARDS = 8;
const MONTH = '2026-11';
const { id } = newCollection();

/** Mounts a small disk; returns false when that is not permitted. */
function mountSmallDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const probe = mkdtempSync(join(tmpdir(), 'provec-full-'));
const permitted = mountSmallDisk(probe);
if (permitted) execFileSync('umount', [probe]);
else console.warn('SKIPPED: the tests on a full disk need root on Linux, to mount a small tmpfs.');

(permitted ? describe : describe.skip)('on a full disk', () => {
  let store: Store;
  const acknowledged = Array.from({ length: SHARDS }, () => 0);
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  const ballast = join(probe, 'ballast');

  beforeAll(() => {
    process.on('unhandledRejection', onUnhandled);
  });
  afterAll(() => {
    process.off('unhandledRejection', onUnhandled);
    rmSync(probe, { recursive: true, force: true });
  });
  beforeEach(async () => {
    mountSmallDisk(probe);
    store = await openSqliteStore(probe, { keys: TEST_KEYS });
    acknowledged.fill(0);
  });
  afterEach(async () => {
    await store.close();
    execFileSync('umount', [probe]);
    expect(unhandled).toEqual([]);
  });

  const nextEntry = (index: number, bytes: number) => {
    const tally = { accountId: 'a', month: MONTH, writes: 1, vectors: 1 };
    const seq = acknowledged[index] + 1;
    return entry(`${id}.${index}`, seq, { tally, body: Buffer.alloc(bytes, seq) });
  };

  /** Appends to all shards at once until each was refused twice; returns the errors. */
  async function fillUp(): Promise<unknown[]> {
    const errors: unknown[] = [];
    await Promise.all(
      acknowledged.map(async (_, index) => {
        for (let refused = 0; refused < 2; ) {
          try {
            await store.log.append(nextEntry(index, 20_000));
            acknowledged[index]++;
          } catch (error) {
            errors.push(error);
            refused++;
          }
        }
      }),
    );
    return errors;
  }

  async function expectAcknowledgedOnly(): Promise<void> {
    const total = acknowledged.reduce((sum, seq) => sum + seq);
    for (let index = 0; index < SHARDS; index++) {
      const entries = await store.log.read(`${id}.${index}`, 0, Number.MAX_SAFE_INTEGER);
      expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: acknowledged[index] }, (_, i) => i + 1));
      expect(entries.every(({ seq, body }) => body.every((byte) => byte === seq % 256))).toBe(true);
      expect((await store.log.head(`${id}.${index}`))?.seq).toBe(acknowledged[index]);
    }
    expect(await store.usage.read('a', MONTH)).toEqual({ writes: total, queries: 0, vectors: total });
  }

  test('a write is refused for capacity, leaves nothing behind, and works again when there is space', async () => {
    writeFileSync(ballast, Buffer.alloc(4 << 20));
    for (let round = 0; round < 3; round++) {
      const errors = await fillUp();
      expect(errors.length).toBe(SHARDS * 2);
      for (const error of errors) {
        expect(error).toBeInstanceOf(StoreError);
        expect((error as StoreError).kind).toBe('capacity');
      }
      await expectAcknowledgedOnly();
    }
    rmSync(ballast);
    for (let index = 0; index < SHARDS; index++) {
      expect(await store.log.append(nextEntry(index, 20_000))).toBe('committed');
      acknowledged[index]++;
    }
    await store.catalog.createAccount(newAccount());
    await expectAcknowledgedOnly();
    await store.close();
    store = await openSqliteStore(probe, { keys: TEST_KEYS });
    await expectAcknowledgedOnly();
  });

  test('space freed by trimming is enough to continue', async () => {
    await fillUp();
    // Fills the last gap.
    while (await store.log.append(nextEntry(0, 20_000)).then(Boolean, () => false)) acknowledged[0]++;
    for (let index = 0; index < SHARDS; index++) await store.log.trim(`${id}.${index}`, acknowledged[index] - 1);
    for (let index = 0; index < SHARDS; index++) {
      expect(await store.log.append(nextEntry(index, 20_000))).toBe('committed');
    }
  });

  test('an entry larger than the disk is refused and the next small one is not', async () => {
    await expect(store.log.append(nextEntry(0, (DISK_MIB + 4) << 20))).rejects.toMatchObject({ kind: 'capacity' });
    expect(await store.log.append(nextEntry(0, 1_000))).toBe('committed');
  });

  test('an apply is refused entirely', async () => {
    const shard = `${id}.0`;
    const many = Array.from({ length: 3_000 }, (_, i) => put(`r${i}`, 2, 4_000));
    await store.records.apply(shard, 0, 1, [put('r0', 1)]);
    await expect(store.records.apply(shard, 1, 2, many)).rejects.toMatchObject({ kind: 'capacity' });
    expect(await store.records.appliedSeq(shard)).toBe(1);
    expect(await recordsOf(store.records, shard, ['r0', 'r1'])).toMatchObject([{ id: 'r0', seq: 1 }]);
    await store.records.apply(shard, 1, 2, many.slice(0, 10));
    expect(await store.records.appliedSeq(shard)).toBe(2);
  });

  test('a checkpoint that does not fit leaves nothing', async () => {
    const shard = `${id}.0`;
    const folder = await store.checkpoints.stage(shard);
    writeFileSync(join(folder, 'index'), Buffer.alloc(1 << 20));
    const { bavail, bsize } = statfsSync(probe);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    await expect(store.checkpoints.put(shard, 1, folder)).rejects.toMatchObject({ kind: 'capacity' });
    expect(existsSync(folder)).toBe(false);
    expect(await store.checkpoints.list(shard)).toEqual([]);
  });

  test('the store can be opened again and read', async () => {
    await fillUp();
    await store.close();
    const { bavail, bsize } = statfsSync(probe);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    await expect(openSqliteStore(probe, { keys: TEST_KEYS })).rejects.toMatchObject({
      name: 'StoreError',
      kind: 'capacity',
    });
    // Leaves the space that opening the store takes.
    truncateSync(ballast, bavail * bsize - (1 << 20));
    store = await openSqliteStore(probe, { keys: TEST_KEYS });
    await expectAcknowledgedOnly();
    for (const error of await fillUp()) expect(error).toMatchObject({ kind: 'capacity' });
    await expectAcknowledgedOnly();
    rmSync(ballast);
    expect(await store.log.append(nextEntry(0, 1_000))).toBe('committed');
  });

  test('a first start is refused for capacity', async () => {
    await store.close();
    const { bavail, bsize } = statfsSync(probe);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    await expect(openSqliteStore(join(probe, 'new'), { keys: TEST_KEYS })).rejects.toMatchObject({
      name: 'StoreError',
      kind: 'capacity',
    });
    rmSync(ballast);
    store = await openSqliteStore(join(probe, 'new'), { keys: TEST_KEYS });
    expect(await store.log.append(nextEntry(0, 1_000))).toBe('committed');
  });
});
