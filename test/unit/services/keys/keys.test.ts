import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { ErrorCode, ProvecError } from '../../../../lib/errors.ts';
import { ReadCache } from '../../../../lib/time/read-cache.ts';
import { makeFirstKey } from '../../../../services/keys/first-key.ts';
import type { Store } from '../../../../store/port.ts';
import { eventually, ManualClock, rejectedError, startNode } from '../../../support/accounts.ts';
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

/** Reads a key's last use from the store. */
async function lastUsed(accountId: string, id: string): Promise<string | null> {
  return (await store.keys.list(accountId)).find((row) => row.id === id)!.lastUsedAt;
}

describe('creating keys', () => {
  test('a secret has 256 random bits, is shown once and opens its account', async () => {
    const { account, key } = await newAccount();
    expect(key.secret).toMatch(/^pv_live_[A-Za-z0-9_-]{43}$/);
    const created = await node.call('keys.create', { accountId: account.id, name: 'ci' });
    expect(created).toEqual({
      id: expect.any(String),
      name: 'ci',
      key_prefix: created.secret!.slice(0, 12),
      scopes: ['read', 'write', 'manage'],
      created_at: '2026-11-15T12:00:00.000Z',
      expires_at: null,
      last_used_at: null,
      revoked: false,
      secret: expect.any(String),
    });
    expect(created.secret).not.toBe(key.secret);
    expect(await node.call('keys.authenticate', { secret: created.secret! })).toEqual({
      accountId: account.id,
      keyId: created.id,
      scopes: ['read', 'write', 'manage'],
      plan: 'enterprise',
    });
    const { keys: listed } = await node.call('keys.page', { accountId: account.id, limit: 10 });
    expect(listed.map((each) => each.id).sort()).toEqual([created.id, key.id].sort());
    expect(JSON.stringify(listed)).not.toContain(created.secret!.slice(12));
    for (const each of listed) expect(each).not.toHaveProperty('secret');
  });

  test('scopes are kept as sent, and times are in UTC', async () => {
    const { account } = await newAccount();
    const key = await node.call('keys.create', {
      accountId: account.id,
      name: '🔑'.repeat(64),
      scopes: ['write', 'read'],
      expires_at: '2027-01-01T01:30:00.5+02:00',
    });
    expect(key.scopes).toEqual(['write', 'read']);
    expect(key.expires_at).toBe('2026-12-31T23:30:00.500Z');
    expect((await node.call('keys.authenticate', { secret: key.secret! })).scopes).toEqual(['write', 'read']);
  });

  const bad: [string, Record<string, unknown>, string[]][] = [
    ['no name', {}, ['name']],
    ['an empty name', { name: '' }, ['name']],
    ['a name that is a number', { name: 7 }, ['name']],
    ['a name of 65 characters', { name: 'x'.repeat(65) }, ['name']],
    ['a name of 65 emoji', { name: '🔑'.repeat(129) }, ['name']],
    ['an ill-formed name', { name: 'a\ud800' }, ['name']],
    ['no scope', { name: 'k', scopes: [] }, ['scopes']],
    ['scopes null', { name: 'k', scopes: null }, ['scopes']],
    ['scopes in a string', { name: 'k', scopes: 'read' }, ['scopes']],
    ['an unknown scope', { name: 'k', scopes: ['read', 'admin'] }, ['scopes[1]']],
    ['a scope of Object', { name: 'k', scopes: ['constructor'] }, ['scopes[0]']],
    ['a scope twice', { name: 'k', scopes: ['read', 'read'] }, ['scopes[1]']],
    ['four scopes', { name: 'k', scopes: ['read', 'write', 'manage', 'read'] }, ['scopes']],
    ['an expiry that is a number', { name: 'k', expires_at: 1_900_000_000 }, ['expires_at']],
    ['an expiry without offset', { name: 'k', expires_at: '2030-01-01T00:00:00' }, ['expires_at']],
    ['an expiry without time', { name: 'k', expires_at: '2030-01-01' }, ['expires_at']],
    ['a day that does not exist', { name: 'k', expires_at: '2030-02-30T00:00:00Z' }, ['expires_at']],
    ['a month that does not exist', { name: 'k', expires_at: '2030-13-01T00:00:00Z' }, ['expires_at']],
    ['an expiry just now', { name: 'k', expires_at: '2026-11-15T12:00:00.000Z' }, ['expires_at']],
    ['an expiry in the past', { name: 'k', expires_at: '2020-01-01T00:00:00Z' }, ['expires_at']],
    [
      'everything wrong at once',
      { name: null, scopes: ['x', 'y'], expires_at: '' },
      ['name', 'scopes[0]', 'scopes[1]', 'expires_at'],
    ],
  ];
  test('refuses faults, with the path of every invalid field', async () => {
    const { account } = await newAccount();
    for (const [label, fields, paths] of bad) {
      const error = await rejectedError(node.call('keys.create', { accountId: account.id, ...fields } as never));
      expect([label, error.code, error.details?.map((detail) => detail.path)]).toEqual([
        label,
        'INVALID_ARGUMENT',
        paths,
      ]);
      for (const path of paths) expect(error.message).toContain(`${path} must be `);
    }
    expect(await store.keys.count(account.id)).toBe(1);
  });

  test('the plan limits the keys exactly, even if many are created at once', async () => {
    const { account } = await newAccount('free');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => node.call('keys.create', { accountId: account.id, name: `k${i}` })),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(2);
    expect(await store.keys.count(account.id)).toBe(3);
    const error = await rejectedError(node.call('keys.create', { accountId: account.id, name: 'more' }));
    expect(error.code).toBe('PLAN_LIMIT_REACHED');
    expect(error.message).toMatch(/"free" allows 3 API keys; 3 are used .*https:\/\/example\.com\/pricing/);
    expect(error.retryAfterSeconds).toBeUndefined();
    const [first] = (await node.call('keys.page', { accountId: account.id, limit: 10 })).keys;
    await node.call('keys.revoke', { accountId: account.id, id: first.id });
    await node.call('keys.create', { accountId: account.id, name: 'room again' });
  });

  test('an account that does not exist gets no key', async () => {
    expect(await codeOf(node.call('keys.create', { accountId: 'nobody', name: 'k' }))).toBe('ACCOUNT_NOT_FOUND');
  });

  test('the files of the store contain no secret', async () => {
    const chosen = 'chosen-by-an-operator-0123456789';
    await makeFirstKey({ store, clock, log: pino({ level: 'silent' }) }, 'free', chosen);
    const { account, key } = await newAccount();
    const other = await node.call('keys.create', { accountId: account.id, name: 'findable-name' });
    for (const secret of [chosen, key.secret!, other.secret!]) await node.call('keys.authenticate', { secret });
    await node.broker.stop();
    const files = (await readdir(opened.folder, { recursive: true, withFileTypes: true })).filter((file) =>
      file.isFile(),
    );
    const bytes = Buffer.concat(await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name)))));
    expect(bytes.includes('findable-name')).toBe(true);
    for (const secret of [key.secret!, other.secret!, chosen]) {
      for (const part of [secret, secret.slice(12), secret.slice(-20)]) expect(bytes.includes(part)).toBe(false);
    }
  });
});

describe('authentication', () => {
  test('a malformed secret is refused without a read of the store', async () => {
    const known = await rejectedError(node.call('keys.authenticate', { secret: `pv_live_${'A'.repeat(43)}` }));
    await store.close();
    const impossible = [
      undefined,
      null,
      7,
      {},
      [],
      '',
      'short',
      'pv_live_',
      `pv_live_${'x'.repeat(249)}`,
      'has a space in the middle of it',
      'ünïcödé-ünïcödé-ünïcödé',
      'ends-with-a-line-break-123\n',
    ];
    for (const secret of impossible) {
      const error = await rejectedError(node.call('keys.authenticate', { secret } as never));
      expect([secret, error.code, error.status, error.message, error.details]).toEqual([
        secret,
        'UNAUTHENTICATED',
        401,
        known.message,
        undefined,
      ]);
    }
  });

  test('unknown, revoked, expired and deleted keys get the same answer', async () => {
    const { account, key } = await newAccount();
    const expiring = await node.call('keys.create', {
      accountId: account.id,
      name: 'expiring',
      expires_at: '2026-11-15T12:00:10Z',
    });
    const revoked = await node.call('keys.create', { accountId: account.id, name: 'revoked' });
    await node.call('keys.revoke', { accountId: account.id, id: revoked.id });
    clock.advance(9_999);
    await node.call('keys.authenticate', { secret: expiring.secret! });
    clock.advance(1);
    const errors = [
      await rejectedError(node.call('keys.authenticate', { secret: `pv_live_${'A'.repeat(43)}` })),
      await rejectedError(
        node.call('keys.authenticate', {
          secret: `${key.secret!.slice(0, -1)}${key.secret!.endsWith('A') ? 'B' : 'A'}`,
        }),
      ),
      await rejectedError(node.call('keys.authenticate', { secret: key.secret!.toUpperCase() })),
      await rejectedError(node.call('keys.authenticate', { secret: revoked.secret! })),
      await rejectedError(node.call('keys.authenticate', { secret: expiring.secret! })),
    ];
    await node.call('keys.deleteAccount', { id: account.id });
    errors.push(await rejectedError(node.call('keys.authenticate', { secret: key.secret! })));
    for (const error of errors) {
      expect([error.code, error.message, error.details]).toEqual(['UNAUTHENTICATED', errors[0].message, undefined]);
    }
  });

  test('a revoked key opens nothing from the answer to its revocation on, even if it was cached', async () => {
    const { account } = await newAccount();
    for (let i = 0; i < 20; i++) {
      const key = await node.call('keys.create', { accountId: account.id, name: 'short-lived' });
      const secret = key.secret!;
      await node.call('keys.authenticate', { secret });
      let racing = true;
      const racers = Array.from({ length: 4 }, async () => {
        while (racing) {
          await node.call('keys.authenticate', { secret }).catch(() => undefined);
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      await node.call('keys.revoke', { accountId: account.id, id: key.id });
      expect(await codeOf(node.call('keys.authenticate', { secret }))).toBe('UNAUTHENTICATED');
      racing = false;
      await Promise.all(racers);
      expect(await codeOf(node.call('keys.authenticate', { secret }))).toBe('UNAUTHENTICATED');
    }
  });

  test('a revocation applies at once even if it cannot be announced to other nodes', async () => {
    const { account } = await newAccount();
    const key = await node.call('keys.create', { accountId: account.id, name: 'k' });
    await node.call('keys.authenticate', { secret: key.secret! });
    node.broker.broadcast = () => Promise.reject(new Error('no connection'));
    await node.call('keys.revoke', { accountId: account.id, id: key.id });
    expect(await codeOf(node.call('keys.authenticate', { secret: key.secret! }))).toBe('UNAUTHENTICATED');
  });

  test('a read that a revocation overtakes is not cached', async () => {
    const cache = new ReadCache<{ age: string }>(clock, 'late');
    let answer = (_: { age: string }): void => {};
    const overtaken = cache.get('key', () => new Promise((resolve) => (answer = resolve)));
    cache.forget(() => true);
    answer({ age: 'old' });
    expect(await overtaken).toEqual({ age: 'old' });
    expect(await cache.get('key', async () => ({ age: 'new' }))).toEqual({ age: 'new' });
    expect(await cache.get('key', async () => ({ age: 'unread' }))).toEqual({ age: 'new' });
  });

  test('changes of an account leave the keys and plans of others cached', async () => {
    const { account } = await newAccount();
    const other = await newAccount();
    const spare = await node.call('keys.create', { accountId: account.id, name: 'spare' });
    const readOther = async () => {
      await node.call('keys.authenticate', { secret: other.key.secret! });
      await node.call('keys.plan', { accountId: other.account.id });
    };
    await readOther();
    const { findByHash } = store.keys;
    const { getAccount } = store.catalog;
    let reads = 0;
    store.keys.findByHash = (hash) => {
      reads++;
      return findByHash(hash);
    };
    store.catalog.getAccount = (id) => {
      reads++;
      return getAccount(id);
    };
    await node.call('keys.revoke', { accountId: account.id, id: spare.id });
    await node.call('keys.setPlan', { id: account.id, plan: 'free' });
    reads = 0;
    await readOther();
    expect(reads).toBe(0);
    expect(await node.call('keys.plan', { accountId: account.id })).toBe('free');
    expect(reads).toBe(1);
  });

  test('another node learns of a revocation by the event, and without it within half a second', async () => {
    const { account } = await newAccount();
    const other = await start();
    const keys = [];
    for (let i = 0; i < 2; i++) keys.push(await node.call('keys.create', { accountId: account.id, name: `k${i}` }));
    for (const key of keys) await other.call('keys.authenticate', { secret: key.secret! });
    await node.call('keys.revoke', { accountId: account.id, id: keys[0].id });
    await other.call('keys.authenticate', { secret: keys[0].secret! });
    await other.broker.broadcastLocal('keys.changed', { accountId: account.id, what: 'key' });
    expect(await codeOf(other.call('keys.authenticate', { secret: keys[0].secret! }))).toBe('UNAUTHENTICATED');

    await other.call('keys.authenticate', { secret: keys[1].secret! });
    await node.call('keys.revoke', { accountId: account.id, id: keys[1].id });
    await other.call('keys.authenticate', { secret: keys[1].secret! });
    clock.advance(501);
    expect(await codeOf(other.call('keys.authenticate', { secret: keys[1].secret! }))).toBe('UNAUTHENTICATED');
  });

  test('the last use is recorded at most once a minute', async () => {
    const { account, key } = await newAccount();
    await node.call('keys.authenticate', { secret: key.secret! });
    await eventually(async () => (await lastUsed(account.id, key.id)) === '2026-11-15T12:00:00.000Z');
    clock.advance(59_999);
    await node.call('keys.authenticate', { secret: key.secret! });
    const other = await start();
    await other.call('keys.authenticate', { secret: key.secret! });
    for (const { broker } of [node, other]) await broker.stop();
    node = await start();
    expect(await lastUsed(account.id, key.id)).toBe('2026-11-15T12:00:00.000Z');
    clock.advance(10);
    await node.call('keys.authenticate', { secret: key.secret! });
    await eventually(async () => (await lastUsed(account.id, key.id)) === '2026-11-15T12:01:00.009Z');
    const [used] = (await node.call('keys.page', { accountId: account.id, limit: 10 })).keys;
    expect(used.last_used_at).toBe('2026-11-15T12:01:00.009Z');
  });
});

describe('revoking keys', () => {
  test("an unknown key, a revoked one and another account's are equally absent", async () => {
    const mine = await newAccount();
    const other = await newAccount();
    const spare = await node.call('keys.create', { accountId: other.account.id, name: 'spare' });
    const twice = await node.call('keys.create', { accountId: mine.account.id, name: 'twice' });
    await node.call('keys.revoke', { accountId: mine.account.id, id: twice.id });
    const messages = [];
    for (const id of [spare.id, twice.id, 'nothing', '__proto__', '']) {
      const error = await rejectedError(node.call('keys.revoke', { accountId: mine.account.id, id }));
      expect(error.code).toBe('KEY_NOT_FOUND');
      messages.push(error.message);
    }
    expect(new Set(messages).size).toBe(1);
    await node.call('keys.authenticate', { secret: spare.secret! });
  });

  test('the last key with manage stays, whatever other keys exist', async () => {
    const { account, key } = await newAccount();
    const revoke = (id: string) => node.call('keys.revoke', { accountId: account.id, id });
    await node.call('keys.create', { accountId: account.id, name: 'reader', scopes: ['read'] });
    expect(await codeOf(revoke(key.id))).toBe('LAST_KEY');
    const expiring = await node.call('keys.create', {
      accountId: account.id,
      name: 'expiring',
      expires_at: '2026-11-15T12:00:10Z',
    });
    clock.advance(10_000);
    expect(await codeOf(revoke(key.id))).toBe('LAST_KEY');
    expect(await revoke(expiring.id)).toEqual({ revoked: true });
    await node.call('keys.create', { accountId: account.id, name: 'manager', scopes: ['manage'] });
    await revoke(key.id);
    const { keys: left } = await node.call('keys.page', { accountId: account.id, limit: 10 });
    expect(left.map((each) => each.name).sort()).toEqual(['manager', 'reader']);
  });

  test('of two concurrent revocations of the last two manage keys exactly one succeeds', async () => {
    for (let i = 0; i < 10; i++) {
      const { account, key } = await newAccount();
      const second = await node.call('keys.create', { accountId: account.id, name: 'second' });
      const outcomes = await Promise.allSettled(
        [key.id, second.id].map((id) => node.call('keys.revoke', { accountId: account.id, id })),
      );
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
      const refused = outcomes.find((outcome) => outcome.status === 'rejected')!;
      expect((refused.reason as ProvecError).code).toBe('LAST_KEY');
      expect(await store.keys.count(account.id)).toBe(1);
    }
  });
});
