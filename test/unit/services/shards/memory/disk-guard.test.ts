import { expect, test } from '@jest/globals';
import { diskGuard } from '../../../../../services/shards/memory/disk-guard.ts';

const MIB = 2 ** 20;
const RESERVE_MIB = 64;

/** A guard of a disk with `freeMiB` beyond the reserve, which is looked at as its owner lets it. */
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
  /** How many of `count` writes at once are admitted. */
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

test('writes at once are held against one look at the disk, and against each other', async () => {
  const { disk, admitted } = guardOf(100);
  expect(await admitted(10, 30)).toBe(3);
  expect(disk.looks).toBe(1);
});

test('what was admitted since the disk was looked at counts, until it is looked at again', async () => {
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
