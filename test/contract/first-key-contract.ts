import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Store } from '../../store/port.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at, entry, newAccount, newBlock, newCollection, newKey, put } from './store-rows.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SHARD = `${newCollection().id}.0`;

/** Traces of earlier use of a store. Each test leaves one of them. */
const TRACES: [what: string, leave: (store: Store) => Promise<unknown>][] = [
  ['another account', ({ catalog }) => catalog.createAccount(newAccount())],
  ['a key', ({ keys }) => keys.create(newKey(), null)],
  ['a collection', ({ catalog }) => catalog.createCollection(newCollection(), null)],
  [
    'a dropped collection',
    async ({ catalog }) => {
      const row = newCollection();
      await catalog.createCollection(row, null);
      await catalog.dropCollection(row.id);
    },
  ],
  ['a log entry', ({ log }) => log.append(entry(SHARD, 1))],
  ['a record', ({ records }) => records.apply(SHARD, 0, 1, [put('a', 1)])],
  [
    'a checkpoint',
    async ({ checkpoints }) => {
      const folder = await checkpoints.stage(SHARD);
      writeFileSync(join(folder, 'index'), 'x');
      await checkpoints.put(SHARD, 1, folder);
    },
  ],
  ['a count of queries', ({ usage }) => usage.openBlock('a', '2026-11', newBlock(), 1, null)],
  ['a contradiction', ({ contradictions }) => contradictions.record(SHARD, { seq: 1, reason: 'x', at: at(0) })],
  [
    'a claim of a shard',
    ({ owners }) => owners.claim({ shard: SHARD, epoch: 1, holder: { node: 'a', incarnation: randomUUID() } }),
  ],
];

export function firstKeyContract(subject: StoreUnderTest): void {
  describe('the mark of the first key', () => {
    beforeEach(async () => {
      await subject.fresh();
    });

    const due = async () => (await subject.store.firstKey.dueFor()) ?? 'none';
    const fresh = async () => {
      const accountId = await due();
      expect(accountId).toMatch(UUID);
      return accountId;
    };

    test('permits one key, for an account of this store only, until the key was created', async () => {
      const accountId = await fresh();
      await subject.store.catalog.createAccount(newAccount({ id: accountId }));
      expect((await subject.reopen()) && (await due())).toBe(accountId);
      await subject.store.firstKey.setMade();
      expect(await due()).toBe('none');
      await subject.reopen();
      expect(await due()).toBe('none');
      await subject.store.firstKey.setDue(accountId);
      expect(await due()).toBe(accountId);
      await subject.fresh();
      expect(await fresh()).not.toBe(accountId);
    });

    test('permits the key again if its account was deleted before the key was printed', async () => {
      const { store } = subject;
      const accountId = await fresh();
      const make = async () => {
        await store.catalog.createAccount(newAccount({ id: accountId }));
        expect(await store.keys.create(newKey({ accountId }), 1)).toBe('created');
        await store.firstKey.setMade();
      };
      await make();
      await store.catalog.deleteAccount(accountId);
      await store.firstKey.setDue(accountId);
      expect(await due()).toBe(accountId);
      await make();
      expect(await due()).toBe('none');
      // The account counts usage like any other.
      expect(await store.usage.openBlock(accountId, '2026-11', newBlock(), 1, null)).toBe(1);
      const holds = { revision: 1, holds: [], alone: null, line: [] };
      expect(await store.usage.replaceHolds(accountId, holds)).toBe(true);
    });

    test.each(TRACES)('permits none if the store has or had %s', async (_, leave) => {
      const accountId = await fresh();
      await leave(subject.store);
      expect(await due()).toBe('none');
      const mark = await subject.remark();
      expect(mark).toMatchObject({ state: 'made' });
      expect(JSON.stringify(mark)).not.toContain(accountId);
    });

    test.each(TRACES)('permits none after its removal if the store has %s', async (_, leave) => {
      await leave(subject.store);
      await subject.remark(() => undefined);
      expect(await due()).toBe('none');
      expect(await subject.remark()).toMatchObject({ state: 'made' });
    });

    test.each<[string, (mark: object, account: string) => unknown]>([
      ['another seal', (mark) => ({ ...mark, seal: '0'.repeat(64) })],
      ['no seal', (_, account) => ({ state: 'due', account })],
      ['a number for a seal', (mark) => ({ ...mark, seal: 7 })],
      ['another account', (mark) => ({ ...mark, account: randomUUID() })],
      ['a list for an account', (mark, account) => ({ ...mark, account: [account] })],
      ['no state', (_, account) => ({ account })],
      ['a text in its place', () => 'due'],
      ['a number in its place', () => 7],
      ['a list in its place', () => []],
    ])('permits none with %s', async (_, change) => {
      const accountId = await fresh();
      await subject.remark((mark) => change(mark as object, accountId));
      expect(await due()).toBe('none');
      await subject.store.firstKey.setDue(accountId);
      expect(await due()).toBe(accountId);
    });

    test('if it says that the key was created, permits none after a forgery', async () => {
      const accountId = await fresh();
      await subject.store.firstKey.setMade();
      await subject.remark((mark) => ({ ...(mark as object), state: 'due', account: accountId }));
      expect(await due()).toBe('none');
    });

    test('is added to an unused store of an earlier version', async () => {
      await subject.remark(() => undefined);
      const accountId = await fresh();
      expect(await due()).toBe(accountId);
      expect(await subject.remark()).toMatchObject({ state: 'due', account: accountId });
    });
  });
}
