import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountWriteHolds } from '../../store/usage.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { entry, newBlock, newCollection, WEIRD_IDS } from './store-rows.ts';

const MONTH = '2026-11';

export function usageContract(subject: StoreUnderTest): void {
  describe('usage', () => {
    let a: string;
    let b: string;
    beforeEach(() => {
      [a, b] = [randomUUID(), randomUUID()];
    });

    test('counts every committed entry exactly once, even with concurrent appends', async () => {
      const { log, usage } = subject.store;
      const { id } = newCollection();
      let writes = 0;
      let vectors = 0;
      await Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          for (let seq = 1; seq <= 8; seq++) {
            const tally = { accountId: a, month: MONTH, writes: seq, vectors: seq % 3 === 0 ? -1 : seq };
            writes += tally.writes;
            vectors += tally.vectors;
            await log.append(entry(`${id}.${index}`, seq, { tally }));
          }
        }),
      );
      expect(await usage.read(a, MONTH)).toEqual({ writes, queries: 0, vectors });
    });

    test('writes count for their month, vectors for now', async () => {
      const { log, usage } = subject.store;
      const shard = `${newCollection().id}.0`;
      await log.append(entry(shard, 1, { tally: { accountId: a, month: '2026-10', writes: 5, vectors: 5 } }));
      await log.append(entry(shard, 2, { tally: { accountId: a, month: MONTH, writes: 2, vectors: 1 } }));
      expect(await usage.read(a, '2026-10')).toEqual({ writes: 5, queries: 0, vectors: 6 });
      expect(await usage.read(a, MONTH)).toEqual({ writes: 2, queries: 0, vectors: 6 });
      expect(await usage.read(a, '2026-12')).toEqual({ writes: 0, queries: 0, vectors: 6 });
      expect(await usage.read(b, MONTH)).toEqual({ writes: 0, queries: 0, vectors: 0 });
    });

    test('blocks never exceed the limit and are never refused early', async () => {
      const { usage } = subject.store;
      const opened = await Promise.all(Array.from({ length: 60 }, () => usage.openBlock(a, MONTH, newBlock(), 4, 150)));
      expect(opened.reduce((sum, count) => sum + count)).toBe(150);
      const { queries, blocks } = await usage.readQueries(a, MONTH);
      expect(queries).toBe(150);
      expect(blocks.map(({ granted }) => granted).sort()).toEqual(opened.filter((count) => count > 0).sort());
      expect((await usage.read(a, MONTH)).queries).toBe(150);
    });

    test('a block gets what is left, under its own limit and month', async () => {
      const { usage } = subject.store;
      expect(await usage.openBlock(a, MONTH, newBlock(), 8, 10)).toBe(8);
      expect(await usage.openBlock(a, MONTH, newBlock(), 8, 10)).toBe(2);
      expect(await usage.openBlock(a, MONTH, newBlock(), 8, 10)).toBe(0);
      expect(await usage.openBlock(a, MONTH, newBlock(), 8, 5)).toBe(0);
      expect(await usage.openBlock(a, MONTH, newBlock(), 8, 0)).toBe(0);
      await usage.openBlock(a, MONTH, newBlock(), 8, null);
      expect(await usage.openBlock(a, '2026-12', newBlock(), 8, 10)).toBe(8);
      expect((await usage.read(a, MONTH)).queries).toBe(18);
      expect((await usage.readQueries(a, MONTH)).blocks).toHaveLength(3);
      expect(await usage.readQueries(b, MONTH)).toEqual({ queries: 0, blocks: [] });
    });

    test('opening a block again grants nothing more', async () => {
      const { usage } = subject.store;
      const mine = newBlock();
      expect(await usage.openBlock(a, MONTH, mine, 8, 10)).toBe(8);
      const again = await Promise.all([8, 1, 20].map((count) => usage.openBlock(a, MONTH, mine, count, 100)));
      expect(again).toEqual([8, 8, 8]);
      expect(await usage.readQueries(a, MONTH)).toEqual({ queries: 8, blocks: [{ ...mine, granted: 8 }] });
    });

    test('a block is closed once, by anyone, and returns what was not used', async () => {
      const { usage, log } = subject.store;
      const [mine, other] = [newBlock(), newBlock()];
      await usage.openBlock(a, MONTH, mine, 10, 100);
      await usage.openBlock(a, MONTH, other, 10, 100);
      const tally = { accountId: a, month: MONTH, writes: 3, vectors: 3 };
      await log.append(entry(`${newCollection().id}.0`, 1, { tally }));
      expect(await usage.closeBlock(a, '2026-12', mine.id, 0)).toBe(false);
      const closed = await Promise.all([1, 2, 3, 4].map(() => usage.closeBlock(a, MONTH, mine.id, 7)));
      expect(closed.filter(Boolean)).toHaveLength(1);
      expect(await usage.closeBlock(a, MONTH, other.id, 25)).toBe(true);
      expect(await usage.closeBlock(b, MONTH, other.id, 0)).toBe(false);
      expect(await usage.read(a, MONTH)).toEqual({ writes: 3, queries: 17, vectors: 3 });
      expect((await usage.readQueries(a, MONTH)).blocks).toEqual([]);
    });

    test('writes count for their day as well, once, and the days of a month sum up to it', async () => {
      const { usage, log } = subject.store;
      const { id, accountId } = newCollection();
      const tally = (day: string | undefined, writes: number) => {
        const month = day?.slice(0, 7) ?? MONTH;
        return { accountId, month, ...(day !== undefined && { day }), writes, vectors: 1 };
      };
      const counts: [string | undefined, number][] = [
        ['2026-10-31', 4],
        ['2026-11-01', 2],
        ['2026-11-03', 5],
        ['2026-11-03', 7],
        [undefined, 9],
        ['2026-11-04', 0],
      ];
      for (const [at, [day, writes]] of counts.entries())
        await log.append(entry(`${id}.0`, at + 1, { tally: tally(day, writes) }));
      const days = [
        { day: '2026-11-01', writes: 2, queries: 0 },
        { day: '2026-11-03', writes: 12, queries: 0 },
      ];
      expect(await usage.readDays(accountId, '2026-11-01', '2026-11-30')).toEqual(days);
      expect(await usage.readDays(accountId, '2026-11-02', '2026-11-03')).toEqual(days.slice(1));
      expect(await usage.readDays(randomUUID(), '2026-11-01', '2026-11-30')).toEqual([]);
      expect((await usage.read(accountId, '2026-11')).writes).toBe(23);
      expect((await usage.read(accountId, '2026-10')).writes).toBe(4);
      await subject.store.dropCollectionData(id);
      const reopened = await subject.reopen();
      expect(await reopened.usage.readDays(accountId, '2026-10-01', '2026-11-30')).toEqual([
        { day: '2026-10-31', writes: 4, queries: 0 },
        ...days,
      ]);
    });

    test('the used part of a block counts for the day on which it is closed, once', async () => {
      const { usage } = subject.store;
      const { accountId } = newCollection();
      const [first, second, credit] = [newBlock(), newBlock(), newBlock()];
      await usage.openBlock(accountId, '2026-11', first, 10, null);
      await usage.openBlock(accountId, '2026-11', second, 10, null);
      for (let times = 0; times < 3; times++) await usage.closeBlock(accountId, '2026-11', first.id, 7, '2026-11-05');
      await usage.closeBlock(accountId, '2026-11', second.id, 10, '2026-11-06');
      await usage.openBlock(accountId, '2026-11', credit, 1, null);
      await usage.closeBlock(accountId, '2026-11', credit.id, -2, '2026-11-05');
      expect(await usage.readDays(accountId, '2026-11-01', '2026-11-30')).toEqual([
        { day: '2026-11-05', writes: 0, queries: 5 },
        { day: '2026-11-06', writes: 0, queries: 10 },
      ]);
      expect((await usage.read(accountId, '2026-11')).queries).toBe(15);
    });

    test('days that are no longer kept are removed', async () => {
      const { usage, log } = subject.store;
      const { id, accountId } = newCollection();
      for (const [at, day] of ['2025-01-01', '2025-10-25', '2026-11-28'].entries())
        await log.append(
          entry(`${id}.0`, at + 1, { tally: { accountId, month: day.slice(0, 7), day, writes: 1, vectors: 0 } }),
        );
      await usage.readDays(accountId, '2026-11-28', '2026-11-28');
      const kept = await usage.readDays(accountId, '2025-01-01', '2026-11-28');
      expect(kept.map(({ day }) => day)).toEqual(['2025-10-25', '2026-11-28']);
      expect((await usage.read(accountId, '2025-01')).writes).toBe(1);
    });

    test('holds are replaced by compare-and-set', async () => {
      const { usage } = subject.store;
      expect(await usage.readHolds(a)).toEqual({ revision: 0, holds: [], alone: null, line: [] });
      const next = (revision: number): AccountWriteHolds => {
        const id = randomUUID();
        const hold = { id, writes: revision, vectors: 2, baseline: revision % 2 === 0 ? null : 7, beat: 0 };
        return { revision, holds: [hold], alone: id, line: [{ instance: randomUUID(), beat: 3 }] };
      };
      expect(await usage.replaceHolds(a, next(2))).toBe(false);
      for (const revision of [1, 2]) {
        const rivals = [1, 2, 3, 4].map(() => next(revision));
        const won = await Promise.all(rivals.map((rival) => usage.replaceHolds(a, rival)));
        expect(won.filter(Boolean)).toHaveLength(1);
        expect(await usage.readHolds(a)).toEqual(rivals[won.indexOf(true)]);
      }
      expect(await usage.replaceHolds(a, next(2))).toBe(false);
      expect(await usage.replaceHolds(a, next(4))).toBe(false);
      const empty = { revision: 3, holds: [], alone: null, line: [] };
      expect(await usage.replaceHolds(a, empty)).toBe(true);
      expect(await (await subject.reopen()).usage.readHolds(a)).toEqual(empty);
      expect((await subject.store.usage.readHolds(b)).revision).toBe(0);
    });

    test('a block closed with negative use subtracts that, once, and never below zero', async () => {
      const { usage } = subject.store;
      const queries = async (): Promise<number> => (await usage.read(a, MONTH)).queries;
      const [first, credit, last] = [newBlock(), newBlock(), newBlock()];
      await usage.openBlock(a, MONTH, first, 10, 10);
      await usage.closeBlock(a, MONTH, first.id, 10);
      expect(await usage.openBlock(a, MONTH, credit, 1, null)).toBe(1);
      const closed = await Promise.all([1, 2, 3, 4].map(() => usage.closeBlock(a, MONTH, credit.id, -3)));
      expect(closed.filter(Boolean)).toHaveLength(1);
      expect(await queries()).toBe(7);
      await usage.openBlock(a, MONTH, last, 1, null);
      expect(await usage.closeBlock(a, MONTH, last.id, -9)).toBe(true);
      expect(await queries()).toBe(0);
      expect(await usage.openBlock(a, MONTH, newBlock(), 20, 10)).toBe(10);
    });

    test('a block of a plan without a limit is as large as requested, whatever others have taken', async () => {
      const { usage } = subject.store;
      const opened = await Promise.all(
        Array.from({ length: 20 }, () => usage.openBlock(a, MONTH, newBlock(), 9, null)),
      );
      expect(opened).toEqual(Array(20).fill(9));
      expect((await usage.readQueries(a, MONTH)).queries).toBe(180);
    });

    test('survives a restart', async () => {
      const { log, usage } = subject.store;
      const tally = { accountId: a, month: MONTH, writes: 4, vectors: 3 };
      await log.append(entry(`${newCollection().id}.0`, 1, { tally }));
      await usage.openBlock(a, MONTH, newBlock(), 2, null);
      expect(await (await subject.reopen()).usage.read(a, MONTH)).toEqual({ writes: 4, queries: 2, vectors: 3 });
    });

    test('account ids of any form stay apart', async () => {
      const { usage } = subject.store;
      for (const [i, id] of WEIRD_IDS.entries()) await usage.openBlock(id, MONTH, newBlock(), i + 1, null);
      for (const [i, id] of WEIRD_IDS.entries()) expect((await usage.read(id, MONTH)).queries).toBe(i + 1);
    });
  });
}
