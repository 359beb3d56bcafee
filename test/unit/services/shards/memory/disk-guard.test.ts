import { expect, test } from '@jest/globals';
import { diskGuard, warnOfReserve } from '../../../../../services/shards/memory/disk-guard.ts';

const MIB = 2 ** 20;
const RESERVE_MIB = 64;

/**
 * A guard of a disk with `freeMiB` beyond the reserve. The test decides when a check of the disk
 * completes.
 */
function guardOf(freeMiB: number) {
  const disk = { freeMiB, looks: 0, answers: [] as (() => void)[] };
  const freeBytes = () =>
    new Promise<number>((resolve) => {
      disk.looks++;
      disk.answers.push(() => resolve((RESERVE_MIB + disk.freeMiB) * MIB));
    });
  const clock = { nowMs: 0 };
  const monotonicMs = () => clock.nowMs;
  const admit = diskGuard(RESERVE_MIB * MIB, { freeBytes }, { monotonicMs });
  /** How many of `count` concurrent writes are admitted. */
  const admitted = async (count: number, eachMiB: number): Promise<number> => {
    const outcomes = Array.from({ length: count }, () => admit(eachMiB * MIB));
    for (const answer of disk.answers.splice(0)) answer();
    const settled = await Promise.allSettled(outcomes);
    for (const each of settled)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'OUT_OF_CAPACITY' });
    return settled.filter(({ status }) => status === 'fulfilled').length;
  };
  return { disk, clock, admitted };
}

test('concurrent writes are compared with one measurement of the disk, and with each other', async () => {
  const { disk, admitted } = guardOf(100);
  expect(await admitted(10, 30)).toBe(3);
  expect(disk.looks).toBe(1);
});

test('admitted writes count until the disk is measured again', async () => {
  const { disk, clock, admitted } = guardOf(100);
  expect(await admitted(1, 60)).toBe(1);
  expect(await admitted(1, 60)).toBe(0);
  expect(await admitted(1, 40)).toBe(1);
  expect(await admitted(1, 1)).toBe(0);
  disk.freeMiB = 50;
  clock.nowMs += 1_000;
  expect(await admitted(2, 30)).toBe(1);
  expect(disk.looks).toBe(2);
});

test('a refusal says what is short, how much is left, and which setting reserves it', async () => {
  const freeBytes = async () => (RESERVE_MIB - 3) * MIB;
  const admit = diskGuard(RESERVE_MIB * MIB, { freeBytes }, { monotonicMs: () => 0 });
  await expect(admit(1)).rejects.toThrow(
    "The service's disk has 61 MiB free, and PROVEC_DISK_RESERVE_MB keeps 64 MiB of it for deletes: the service takes no upserts and updates; reads and deletes still work.",
  );
});

test('a refusal of a large write names its size while smaller writes still fit', async () => {
  const freeBytes = async () => (RESERVE_MIB + 3) * MIB;
  const admit = diskGuard(RESERVE_MIB * MIB, { freeBytes }, { monotonicMs: () => 0 });
  await expect(admit(4.5 * MIB)).rejects.toThrow(
    "The service's disk has 67 MiB free, and PROVEC_DISK_RESERVE_MB keeps 64 MiB of it for deletes: this write of 5 MiB does not fit, smaller ones may; reads and deletes still work.",
  );
  await admit(2 * MIB);
});

test.each([
  { what: 'takes more than 80 % of the disk', diskMib: 300, freeMib: 290, leftMib: 34, isTold: true },
  { what: 'is more than what is free', diskMib: 10_000, freeMib: 200, leftMib: 0, isTold: true },
  { what: 'leaves less than a fifth with what is used', diskMib: 1_000, freeMib: 455, leftMib: 199, isTold: true },
  { what: 'leaves a fifth with what is used', diskMib: 1_000, freeMib: 456, leftMib: 200, isTold: false },
  { what: 'is of a disk that the store does not know', diskMib: null, freeMib: null, leftMib: null, isTold: false },
])('a start reports a reserve that $what: $isTold', async ({ diskMib, freeMib, leftMib, isTold }) => {
  const told: unknown[] = [];
  const log = { warn: (...words: unknown[]) => told.push(words) };
  const inBytes = (mib: number | null) => (mib === null ? null : mib * MIB);
  const store = { freeBytes: async () => inBytes(freeMib), diskBytes: async () => inBytes(diskMib) };
  await warnOfReserve(256 * MIB, store, log as never);
  const line = [{ diskMib, freeMib, reserveMib: 256, leftMib }, expect.stringContaining('PROVEC_DISK_RESERVE_MB')];
  expect(told).toEqual(isTold ? [line] : []);
});

test('a disk that cannot be measured does not stop a start', async () => {
  const told: unknown[] = [];
  const log = { warn: (_: object, words: string) => told.push(words) };
  const fails = () => Promise.reject(new Error('EIO'));
  await warnOfReserve(1, { freeBytes: fails, diskBytes: fails }, log as never);
  expect(told).toEqual(['could not measure the disk']);
});
