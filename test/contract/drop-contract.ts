import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { StoreUnderTest } from './store-contract.ts';
import { entry, newAccount, newCollection, put, readAll, recordsOf } from './store-rows.ts';

const MONTH = '2026-11';

export function dropContract(subject: StoreUnderTest): void {
  /**
   * Fills two shards of a collection with log, records and checkpoint, and counts `vectors` vectors
   * to the account.
   */
  async function fill(id: string, accountId: string, vectors: number): Promise<string> {
    const { log, records, checkpoints, contradictions } = subject.store;
    for (const index of [0, 1]) {
      const tally = { accountId, month: MONTH, writes: vectors, vectors: index === 0 ? vectors - 1 : 1 };
      await log.append(entry(`${id}.${index}`, 1, { tally }));
      for (let seq = 2; seq <= 700; seq++) void log.append(entry(`${id}.${index}`, seq));
      await records.apply(
        `${id}.${index}`,
        0,
        1,
        Array.from({ length: 1_300 }, (_, i) => put(`r${i}`, 1)),
      );
    }
    await log.append(entry(`${id}.1`, 701));
    await contradictions.record(`${id}.1`, { seq: 1, reason: 'Changed.', at: '2026-11-21T00:00:00.000Z' });
    const folder = await checkpoints.stage(`${id}.0`);
    writeFileSync(join(folder, 'index'), 'x');
    await checkpoints.put(`${id}.0`, 1, folder);
    return (await checkpoints.fetch(`${id}.0`, 1))!.folder;
  }

  describe('dropCollectionData', () => {
    let account: string;
    beforeEach(() => {
      account = randomUUID();
    });

    test('removes everything the collection owned and subtracts its vectors once, however often it is called', async () => {
      const [mine, other] = [newCollection().id, newCollection().id];
      const folder = await fill(mine, account, 20);
      await fill(other, account, 5);
      expect(await subject.store.usage.read(account, MONTH)).toEqual({ writes: 50, queries: 0, vectors: 25 });
      await Promise.all([subject.store.dropCollectionData(mine), subject.store.dropCollectionData(mine)]);
      await subject.store.dropCollectionData(mine);
      await (await subject.reopen()).dropCollectionData(mine);
      const { log, records, checkpoints, contradictions, usage } = subject.store;
      expect(await usage.read(account, MONTH)).toEqual({ writes: 50, queries: 0, vectors: 5 });
      expect(await log.heads(mine)).toEqual(new Map());
      expect(await contradictions.list(mine)).toEqual([]);
      expect(await contradictions.list(other)).toHaveLength(1);
      for (const shard of [`${mine}.0`, `${mine}.1`]) {
        expect(await log.head(shard)).toBeNull();
        expect(await log.firstSeq(shard)).toBeNull();
        expect(await records.appliedSeq(shard)).toBe(0);
        expect(await readAll(await records.scan(shard))).toEqual(new Map());
        expect(await checkpoints.list(shard)).toEqual([]);
      }
      expect(existsSync(folder)).toBe(false);
      expect((await log.heads(other)).size).toBe(2);
      expect((await readAll(await records.scan(`${other}.1`))).size).toBe(1_300);
      expect(await checkpoints.list(`${other}.0`)).toHaveLength(1);
    });

    test('removes the log before any record, so that an interrupted drop leaves no log to restore records from', async () => {
      const { id } = newCollection();
      await fill(id, account, 20);
      const { log, records } = subject.store;
      const shards = [`${id}.0`, `${id}.1`];
      const dropping = subject.store.dropCollectionData(id);
      const isWhole = async (shard: string) => (await recordsOf(records, shard, ['r0', 'r1299'])).length === 2;
      while ((await Promise.all(shards.map(isWhole))).every((whole) => whole)) await new Promise(setImmediate);
      for (const shard of shards) {
        expect(await log.firstSeq(shard)).toBeNull();
        expect(await log.head(shard)).toBeNull();
      }
      await dropping;
    });

    test('continues after a restart in the middle', async () => {
      const { id } = newCollection();
      await fill(id, account, 20);
      const interrupted = subject.store.dropCollectionData(id).catch((error: unknown) => error);
      const closing = subject.close();
      await Promise.all([interrupted, closing]);
      const store = await subject.reopen();
      await store.dropCollectionData(id);
      expect((await store.usage.read(account, MONTH)).vectors).toBe(0);
      expect(await store.log.heads(id)).toEqual(new Map());
      expect((await readAll(await store.records.scan(`${id}.0`))).size).toBe(0);
    });

    test('leaves no count behind after its account was deleted', async () => {
      const { catalog } = subject.store;
      const account = newAccount();
      await catalog.createAccount(account);
      const { id } = newCollection();
      await fill(id, account.id, 4);
      await catalog.deleteAccount(account.id);
      await subject.store.dropCollectionData(id);
      expect(await subject.store.usage.read(account.id, MONTH)).toEqual({ writes: 0, queries: 0, vectors: 0 });
    });
  });
}
