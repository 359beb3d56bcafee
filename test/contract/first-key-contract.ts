import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Seals } from '../../lib/secret/seals.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { makeFirstKey } from '../../services/keys/first-key.ts';
import { secretHash } from '../../services/keys/secret.ts';
import type { Store } from '../../store/port.ts';
import { TEST_KEYS } from '../support/store-keys.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at, entry, newAccount, newBlock, newCollection, newKey, put } from './store-rows.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ACCOUNT = randomUUID();
const SEALS = new Seals(TEST_KEYS.installation);
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
      await catalog.dropCollection(row.id, true);
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

    const due = async () => (await subject.store.firstKey.due())?.accountId ?? 'none';
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
      await subject.fresh();
      expect(await fresh()).not.toBe(accountId);
    });

    test('permits the key again for an account that an earlier version deleted before its key was shown', async () => {
      const { store } = subject;
      const accountId = await fresh();
      const make = async () => {
        await store.catalog.createAccount(newAccount({ id: accountId }));
        expect(await store.keys.create(newKey({ accountId }), 1)).toBe('created');
      };
      await make();
      await store.catalog.deleteAccount(accountId);
      expect(await due()).toBe(accountId);
      await make();
      expect(await due()).toBe(accountId);
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
      ['another nonce', (mark) => ({ ...mark, nonce: randomUUID() })],
      ['no nonce', (mark) => ({ ...mark, nonce: undefined })],
      ['a number for a nonce', (mark) => ({ ...mark, nonce: 7 })],
      ['no state', (_, account) => ({ account })],
      ['a text in its place', () => 'due'],
      ['a number in its place', () => 7],
      ['a list in its place', () => []],
    ])('permits none with %s', async (_, change) => {
      const accountId = await fresh();
      await subject.remark((mark) => change(mark as object, accountId));
      expect(await due()).toBe('none');
      expect(await subject.remark()).toMatchObject({ state: 'made' });
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

    test.each<[string, (mark: unknown) => unknown]>([
      ['there was none', () => undefined],
      [
        'it had no nonce',
        () => ({ state: 'due', account: ACCOUNT, seal: SEALS.sealHex(['first key', 'due', ACCOUNT]) }),
      ],
    ])('if %s, a start leaves it made that another start sets meanwhile', async (_, before) => {
      await subject.remark(before);
      const starting = due();
      await subject.store.firstKey.setMade();
      await starting;
      expect(await subject.remark()).toMatchObject({ state: 'made' });
      expect(await due()).toBe('none');
    });

    test.each([
      ['the same key', false, null],
      ['the key that the operator chose', false, CHOSEN],
      ['a chosen key in place of one that was never shown', true, CHOSEN],
    ])('wherever a start is killed, the next one shows %s', async (_, isOtherThere, chosen) => {
      for (let step = 1; ; step++) {
        await subject.fresh();
        if (isOtherThere) await makeFirstKey(partsOf(subject.store), 'pro', null);
        const shown: string[] = [];
        const wasKilled = await isKilled(start(killedAfter(subject.store, step), chosen, shown));
        await subject.reopen();
        await start(subject.store, chosen, shown);
        const [secret] = shown;
        expect([step, [...new Set(shown)]]).toEqual([step, [chosen ?? expect.stringMatching(/^pv_live_[\w-]{43}$/)]]);
        const accounts = await subject.store.catalog.listAccounts();
        expect([step, accounts]).toMatchObject([step, [{ name: 'default', plan: 'pro' }]]);
        const keys = await subject.store.keys.list(accounts[0]!.id);
        expect([step, keys]).toMatchObject([step, [{ hash: secretHash(secret!) }]]);
        expect(await due()).toBe('none');
        if (wasKilled) continue;
        expect(step).toBeGreaterThan(5);
        break;
      }
    });

    test('a copy put back permits no other key than the one that was made, and none beside anything else', async () => {
      const copy = await subject.remark();
      const shown: string[] = [];
      await start(subject.store, null, shown);
      const accountId = (await subject.store.catalog.listAccounts())[0]!.id;
      await subject.store.catalog.deleteAccount(accountId);
      await start(subject.store, null, shown);
      expect(shown).toHaveLength(1);
      await subject.remark(() => copy);
      await start(subject.store, null, shown);
      expect(shown).toEqual([shown[0], shown[0]]);
      await subject.store.keys.create(newKey({ accountId }), null);
      await subject.remark(() => copy);
      await start(subject.store, null, shown);
      expect(shown).toHaveLength(2);
      expect(await subject.remark()).toMatchObject({ state: 'made' });
    });
  });
}

const CHOSEN = 'a-key-that-the-operator-chose';

type Parts = Pick<Store, 'catalog' | 'keys' | 'firstKey'>;

const partsOf = (store: Parts) => ({
  store: store as Store,
  clock: SYSTEM_CLOCK,
  log: pino({ level: 'silent' }),
});

/** Makes and shows the first key as a start of the process does. */
async function start(store: Parts, chosen: string | null, shown: string[]): Promise<void> {
  const secret = await makeFirstKey(partsOf(store), 'pro', chosen);
  if (secret === null) {
    if (chosen !== null && (await store.keys.findByHash(secretHash(chosen))) !== null) shown.push(chosen);
    return;
  }
  shown.push(secret);
  await store.firstKey.setMade();
}

class Killed extends Error {}

/** The store as a process sees it that is killed after `steps` calls. */
function killedAfter(store: Store, steps: number): Parts {
  let left = steps;
  const mortal = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          if (left-- <= 0) throw new Killed();
          return Reflect.apply(member, target, args);
        };
      },
    });
  return { catalog: mortal(store.catalog), keys: mortal(store.keys), firstKey: mortal(store.firstKey) };
}

async function isKilled(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return false;
  } catch (error) {
    if (error instanceof Killed) return true;
    throw error;
  }
}
