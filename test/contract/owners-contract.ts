import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { LeaseRow, OwnerRow } from '../../store/owners.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { newCollection } from './store-rows.ts';

export function ownersContract(subject: StoreUnderTest): void {
  const holder = (node: string) => ({ node, incarnation: randomUUID() });
  const row = (shard: string, epoch: number, node = 'a'): OwnerRow => ({ shard, epoch, holder: holder(node) });

  describe('owners', () => {
    test('a claim takes the next epoch, and of two claims of one epoch one wins', async () => {
      const { owners } = subject.store;
      const shard = `${newCollection().id}.0`;
      expect(await owners.get(shard)).toBeNull();
      expect(await owners.claim(row(shard, 2))).toBe(false);
      const claims = ['a', 'b', 'c', 'd'].map((node) => row(shard, 1, node));
      const won = await Promise.all(claims.map((claim) => owners.claim(claim)));
      expect(won.filter(Boolean)).toHaveLength(1);
      const winner = claims[won.indexOf(true)];
      expect(await (await subject.reopen()).owners.get(shard)).toEqual(winner);
      expect(await subject.store.owners.claim(row(shard, 1))).toBe(false);
      expect(await subject.store.owners.claim(row(shard, 3))).toBe(false);
      expect(await subject.store.owners.claim(row(shard, 2))).toBe(true);
    });

    test('only the current epoch can be released, and it stays the same', async () => {
      const { owners } = subject.store;
      const shard = `${newCollection().id}.0`;
      await owners.release(shard, 1);
      expect(await owners.get(shard)).toBeNull();
      await owners.claim(row(shard, 1));
      await owners.claim(row(shard, 2));
      await owners.release(shard, 1);
      expect((await owners.get(shard))?.holder).not.toBeNull();
      await owners.release(shard, 2);
      await owners.release(shard, 2);
      expect(await owners.get(shard)).toEqual({ shard, epoch: 2, holder: null });
      expect(await owners.claim(row(shard, 1))).toBe(false);
      expect(await owners.claim(row(shard, 3))).toBe(true);
    });

    test("left to a node, a shard is that node's to claim", async () => {
      const { owners } = subject.store;
      const shard = `${newCollection().id}.0`;
      const held = row(shard, 1);
      const heir = holder('heir');
      await owners.claim(held);
      await owners.release(shard, 2, heir);
      expect(await owners.get(shard)).toEqual(held);
      await owners.release(shard, 1, heir);
      expect(await owners.get(shard)).toEqual({ shard, epoch: 1, holder: heir });
      expect(await owners.claim(row(shard, 2))).toBe(true);
    });

    test('are listed by collection in the order of the shards', async () => {
      const { owners } = subject.store;
      const [mine, other] = [newCollection().id, newCollection().id];
      for (const index of [10, 2]) await owners.claim(row(`${mine}.${index}`, 1));
      await owners.claim(row(`${other}.0`, 1));
      expect((await owners.list(mine)).map(({ shard }) => shard)).toEqual([`${mine}.2`, `${mine}.10`]);
      await subject.store.dropCollectionData(mine);
      expect(await owners.list(mine)).toEqual([]);
      expect(await owners.list(other)).toHaveLength(1);
    });
  });

  describe('leases', () => {
    const lease = (node: string): LeaseRow => ({
      ...holder(node),
      beat: 1,
      process: { pid: 1, startedAt: null, place: 'here' },
      draining: false,
    });

    test('are renewed while they exist, and an ended one stays ended', async () => {
      const [mine, other] = [lease('a'), lease('a')];
      const { leases } = subject.store;
      expect(await leases.renew(mine.incarnation, 2, false)).toBe(false);
      await leases.begin(mine);
      await leases.begin(other);
      expect(await leases.renew(mine.incarnation, 7, true)).toBe(true);
      const listed = await (await subject.reopen()).leases.list();
      expect(listed).toHaveLength(2);
      expect(listed).toEqual(expect.arrayContaining([{ ...mine, beat: 7, draining: true }, other]));
      expect(await subject.store.leases.end(mine.incarnation)).toBe(true);
      expect(await subject.store.leases.end(mine.incarnation)).toBe(true);
      expect(await subject.store.leases.renew(mine.incarnation, 8, false)).toBe(false);
      expect(await subject.store.leases.list()).toEqual([other]);
    });

    test('are read by incarnation, if they exist', async () => {
      const { leases } = subject.store;
      const [first, second, third] = [lease('a'), lease('b'), lease('c')];
      for (const row of [first, second, third]) await leases.begin(row);
      const use = { bytes: 1, memoryLimitBytes: 2, load: 0.5, workers: 3 };
      await leases.renew(second.incarnation, 2, false, use);
      const read = await leases.get([third.incarnation, randomUUID(), second.incarnation]);
      expect(read).toHaveLength(2);
      expect(read).toEqual(expect.arrayContaining([third, { ...second, beat: 2, use }]));
      expect(await leases.get([])).toEqual([]);
    });

    test('a beat never decreases, even if renewals arrive late or twice', async () => {
      const { leases } = subject.store;
      const mine = lease('a');
      await leases.begin(mine);
      await leases.renew(mine.incarnation, 5, false);
      expect(await leases.renew(mine.incarnation, 3, true)).toBe(true);
      await leases.begin(mine);
      expect(await leases.get([mine.incarnation])).toEqual([{ ...mine, beat: 5, draining: true }]);
    });

    test('are ended at the beat that was read, not at a later one', async () => {
      const { leases } = subject.store;
      const mine = lease('a');
      await leases.begin(mine);
      await leases.renew(mine.incarnation, 2, false);
      expect(await leases.end(mine.incarnation, 1)).toBe(false);
      expect(await leases.get([mine.incarnation])).toHaveLength(1);
      expect(await leases.end(mine.incarnation, 2)).toBe(true);
      expect(await leases.end(mine.incarnation, 2)).toBe(true);
      expect(await leases.get([mine.incarnation])).toEqual([]);
    });
  });
}
