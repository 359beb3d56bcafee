import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { type ErrorCode, unavailable } from '../../../../lib/errors.ts';
import type { PlanName } from '../../../../lib/plans.ts';
import { makeFirstKey, recordShown } from '../../../../services/keys/first-key.ts';
import { secretHash } from '../../../../services/keys/secret.ts';
import type { Scope } from '../../../../store/keys.ts';
import type { Store } from '../../../../store/port.ts';
import { ManualClock, rejectedError, startNode } from '../../../support/accounts.ts';
import { inStoreFile } from '../../../support/store-file.ts';
import { openTemporaryStore, type TemporaryStore, type World } from '../../../support/world.ts';

let opened: TemporaryStore;
let store: Store;
let clock: ManualClock;
let node: World;
let removed: string[];

const brokers: World[] = [];
async function start(plans = {}): Promise<World> {
  const started = await startNode(store, clock, plans, async (accountId) => {
    removed.push(accountId);
  });
  brokers.push(started);
  return started;
}

beforeEach(async () => {
  opened = await openTemporaryStore();
  store = opened.store;
  clock = new ManualClock();
  removed = [];
  node = await start({ free: { keys: 3 } });
});

afterEach(async () => {
  for (const { broker } of brokers.splice(0)) await broker.stop();
  await opened.destroy();
});

async function codeOf(promise: Promise<unknown>): Promise<ErrorCode> {
  return (await rejectedError(promise)).code;
}

const newAccount = (plan: 'free' | 'enterprise' = 'enterprise') =>
  node.call('keys.createAccount', { name: 'someone', plan });

const listAccounts = async () => (await node.call('keys.accountsPage', { limit: 10 })).accounts;

describe('accounts', () => {
  test('a plan change applies at once', async () => {
    const { account } = await newAccount('free');
    for (const plan of ['pro', 'enterprise', 'free', 'business'] as const) {
      expect(await node.call('keys.setPlan', { id: account.id, plan })).toMatchObject({ id: account.id, plan });
      expect(await node.call('keys.plan', { accountId: account.id })).toBe(plan);
      expect((await node.call('metering.usage', { accountId: account.id })).plan).toBe(plan);
    }
    expect((await listAccounts()).map((each) => each.plan)).toEqual(['business']);
  });

  test('invalid names and plans are refused by their paths', async () => {
    const error = await rejectedError(node.call('keys.createAccount', { name: 'x'.repeat(65), plan: 'gold' as never }));
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect(error.details!.map((detail) => detail.path)).toEqual(['name', 'plan']);
    const { account } = await newAccount();
    expect(await codeOf(node.call('keys.setPlan', { id: account.id, plan: 'constructor' as never }))).toBe(
      'INVALID_ARGUMENT',
    );
  });

  test('an unknown account is ACCOUNT_NOT_FOUND', async () => {
    expect(await codeOf(node.call('keys.plan', { accountId: 'x' }))).toBe('ACCOUNT_NOT_FOUND');
    expect(await codeOf(node.call('keys.setPlan', { id: 'x', plan: 'pro' }))).toBe('ACCOUNT_NOT_FOUND');
    expect(await codeOf(node.call('keys.deleteAccount', { id: 'x' }))).toBe('ACCOUNT_NOT_FOUND');
    expect(removed).toEqual([]);
  });

  test('a deleted account takes its collections, keys and usage with it, and no others', async () => {
    const { account, key } = await newAccount();
    const other = await newAccount();
    await node.call('keys.authenticate', { secret: key.secret! });
    await node.call('metering.takeQuery', { accountId: account.id });
    expect(await node.call('keys.deleteAccount', { id: account.id })).toEqual({ deleted: true });
    expect(new Set(removed)).toEqual(new Set([account.id]));
    expect(await codeOf(node.call('keys.authenticate', { secret: key.secret! }))).toBe('UNAUTHENTICATED');
    expect(await codeOf(node.call('keys.plan', { accountId: account.id }))).toBe('ACCOUNT_NOT_FOUND');
    expect(await codeOf(node.call('keys.deleteAccount', { id: account.id }))).toBe('ACCOUNT_NOT_FOUND');
    await node.broker.stop();
    expect(await store.usage.read(account.id, '2026-11')).toEqual({ writes: 0, queries: 0, vectors: 0 });
    expect(await store.keys.list(account.id)).toEqual([]);
    expect(await store.keys.count(other.account.id)).toBe(1);
  });

  test('a deletion is acknowledged once the account is gone, even if its data is not cleared yet', async () => {
    const { account, key } = await newAccount();
    const busy = await startNode(store, clock, {}, async () => {
      if ((await store.catalog.getAccount(account.id)) === null) throw unavailable('not cleared yet');
    });
    brokers.push(busy);
    expect(await busy.call('keys.deleteAccount', { id: account.id })).toEqual({ deleted: true });
    expect(await codeOf(busy.call('keys.authenticate', { secret: key.secret! }))).toBe('UNAUTHENTICATED');
  });

  test('an account that keeps creating collections is not deleted, and the operator is told', async () => {
    const { account, key } = await newAccount();
    const { countCollections } = store.catalog;
    store.catalog.countCollections = async (id) => (id === account.id ? 1 : countCollections(id));
    try {
      const refused = await rejectedError(node.call('keys.deleteAccount', { id: account.id }));
      expect(refused).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });
    } finally {
      store.catalog.countCollections = countCollections;
    }
    await node.call('keys.authenticate', { secret: key.secret! });
    expect(await node.call('keys.deleteAccount', { id: account.id })).toEqual({ deleted: true });
  });

  test('a key whose account is gone opens nothing', async () => {
    const secret = `pv_live_${'k'.repeat(43)}`;
    await store.keys.create(
      {
        id: 'stray',
        accountId: 'gone',
        name: 'stray',
        hash: secretHash(secret),
        prefix: 'pv_live_kkkk',
        scopes: ['read'] satisfies Scope[],
        createdAt: '2026-11-15T12:00:00.000Z',
        expiresAt: null,
        lastUsedAt: null,
      },
      null,
    );
    expect(await codeOf(node.call('keys.authenticate', { secret }))).toBe('UNAUTHENTICATED');
  });
});

describe('the first start', () => {
  const log = pino({ level: 'silent' });
  const unshownKey = (plan: PlanName, secret: string | null = null) =>
    makeFirstKey({ store, clock, log }, plan, secret);
  const firstKey = async (plan: PlanName, secret: string | null = null) => {
    const made = await unshownKey(plan, secret);
    if (made !== null) await store.firstKey.setMade();
    return made;
  };

  test('creates one account and one key, however many start at once, and never again', async () => {
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => firstKey('business')));
    const [secret, ...more] = new Set(outcomes.filter((outcome) => outcome !== null));
    expect(more).toEqual([]);
    expect(secret).toMatch(/^pv_live_/);
    const accounts = await listAccounts();
    expect(accounts).toMatchObject([{ name: 'default', plan: 'business' }]);
    expect(await store.keys.count(accounts[0].id)).toBe(1);
    await node.call('keys.authenticate', { secret: secret! });
    expect(await firstKey('free')).toBeNull();
    expect((await listAccounts())[0].plan).toBe('business');
  });

  test('warns if every key has expired, and not while one is valid', async () => {
    const lines: string[] = [];
    const warnings = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    const parts = { store, clock, log: warnings };
    const { account } = await newAccount();
    await store.firstKey.setMade();
    expect(await makeFirstKey(parts, 'free', null)).toBeNull();
    expect(lines).toEqual([]);
    const [key] = await store.keys.list(account.id);
    const expiresAt = new Date(clock.wallMs() + 1_000).toISOString();
    await store.keys.create(
      { ...key!, id: 'expiring', hash: secretHash('another'), expiresAt, scopes: ['read'] },
      null,
    );
    inStoreFile(opened.folder, 'log.db', (file) => file.exec(`DELETE FROM keys WHERE id != 'expiring'`));
    expect(await makeFirstKey(parts, 'free', null)).toBeNull();
    expect(lines).toEqual([]);
    clock.advance(1_000);
    expect(await makeFirstKey(parts, 'free', null)).toBeNull();
    expect(lines).toEqual([expect.stringMatching(/no account of the store has a key.*PROVEC_ADMIN_TOKEN/)]);
  });

  test("accepts the operator's secret in any form, and shows little of it", async () => {
    const secret = 'correct-horse-16';
    expect(await firstKey('enterprise', secret)).toBe(secret);
    const { accountId, scopes } = await node.call('keys.authenticate', { secret });
    expect(scopes).toEqual(['read', 'write', 'manage']);
    expect((await node.call('keys.page', { accountId, limit: 10 })).keys[0].key_prefix).toBe('corr');
  });

  test('interrupted between account and key is completed by the next', async () => {
    const createKey = store.keys.create;
    store.keys.create = () => Promise.reject(new Error('cut off'));
    await expect(firstKey('pro')).rejects.toThrow('cut off');
    store.keys.create = createKey;
    const secret = await firstKey('pro');
    await node.call('keys.authenticate', { secret: secret! });
    expect(await listAccounts()).toHaveLength(1);
  });

  test('does not change a store that has other accounts', async () => {
    await newAccount();
    expect(await firstKey('pro')).toBeNull();
    expect(await listAccounts()).toHaveLength(1);
  });

  test('creates no key in a store whose accounts were all deleted', async () => {
    const secret = await firstKey('pro', 'correct-horse-16');
    const [{ id }] = await listAccounts();
    await node.call('keys.deleteAccount', { id });
    expect(await firstKey('pro', secret)).toBeNull();
    expect(await listAccounts()).toEqual([]);
  });

  test('that never showed its key leaves it to the next one, which shows it, on the plan of that start', async () => {
    const untold = await unshownKey('pro');
    expect(await firstKey('free')).toBe(untold);
    const { accountId } = await node.call('keys.authenticate', { secret: untold! });
    expect(await listAccounts()).toMatchObject([{ id: accountId, plan: 'free' }]);
    expect(await firstKey('free')).toBeNull();
  });

  test('whose store fails after the key was shown tries again', async () => {
    const shown = await unshownKey('pro');
    const { setMade } = store.firstKey;
    const pauses: number[] = [];
    let failures = 3;
    store.firstKey.setMade = async () => (failures-- > 0 ? Promise.reject(new Error('no disk')) : setMade());
    const after = (ms: number, run: () => void) => {
      pauses.push(ms);
      run();
      return () => {};
    };
    await recordShown({ store, log }, { after });
    expect(pauses).toEqual([1_000, 2_000, 4_000]);
    expect(shown).not.toBeNull();
    expect(await firstKey('pro')).toBeNull();
  });

  test('that finds another key than its own makes none', async () => {
    const untold = await unshownKey('pro');
    const { accountId } = await node.call('keys.authenticate', { secret: untold! });
    await node.call('keys.create', { accountId, name: 'second', scopes: ['read'] });
    expect(await firstKey('pro')).toBeNull();
    expect(await firstKey('pro', 'correct-horse-16')).toBeNull();
    expect(await store.keys.count(accountId)).toBe(2);
  });
});
