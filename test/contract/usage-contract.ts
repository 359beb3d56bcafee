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
