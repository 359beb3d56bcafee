import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually, isPending, ManualClock } from '../../support/accounts.ts';
import { ControlCluster, type ControlNode } from './control-cluster.ts';

let cluster: ControlCluster;
let clock: ManualClock;
let a: ControlNode;
let b: ControlNode;
let accountId: string;

beforeEach(async () => {
  clock = new ManualClock();
  cluster = await ControlCluster.open({ plans: { free: { keys: -1 } }, clock });
  [a, b] = (await cluster.start('a', 'b')) as [ControlNode, ControlNode];
  accountId = (await a.call('keys.createAccount', { name: 'someone', plan: 'free' })).account.id;
});
afterEach(() => cluster.end());

/** Creates a key and caches it on node b. */
async function knownKey(): Promise<{ id: string; secret: string }> {
  const { id, secret } = await a.call('keys.create', { accountId, name: 'k' });
  await b.call('keys.authenticate', { secret: secret! });
  return { id, secret: secret! };
}
const revoke = (id: string) => a.call('keys.revoke', { accountId, id });

async function outcome(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'let in',
    (error: Error & { code?: string; kind?: string }) => error.code ?? error.kind ?? error.message,
  );
}
const enter = (secret: string, at = b) => outcome(at.call('keys.authenticate', { secret }));

test('a revocation reaches the other nodes as an event at once', async () => {
  const { id, secret } = await knownKey();
  await revoke(id);
  expect(await enter(secret, a)).toBe('UNAUTHENTICATED');
  await eventually(async () => (await enter(secret)) === 'UNAUTHENTICATED');
});

test('a node that receives no events accepts a revoked key for at most half a second', async () => {
  const { id, secret } = await knownKey();
  b.isCut = true;
  await revoke(id);
  expect(await enter(secret)).toBe('let in');
  clock.advance(499);
  expect(await enter(secret)).toBe('let in');
  clock.advance(2);
  expect(await enter(secret)).toBe('UNAUTHENTICATED');
});

test('a node that uses a key all the time learns of its revocation as soon', async () => {
  const { id, secret } = await knownKey();
  b.isCut = true;
  clock.advance(250);
  await revoke(id);
  let lastLetInMs = 0;
  for (let ms = 0; ms <= 1_000; ms += 50) {
    if ((await enter(secret)) === 'let in') lastLetInMs = ms;
    clock.advance(50);
  }
  expect(lastLetInMs).toBeLessThan(500);
});

test('a node that is cut off from the store trusts its cache for half a second, then accepts nothing', async () => {
  const { id, secret } = await knownKey();
  b.isCut = true;
  b.reach = 'none';
  await revoke(id);
  expect(await enter(secret)).toBe('let in');
  clock.advance(501);
  expect(await enter(secret)).toBe('unavailable');
  b.reach = 'good';
  expect(await enter(secret)).toBe('UNAUTHENTICATED');
});

test('if the store does not answer, no request waits longer than the lease time', async () => {
  const { secret } = await knownKey();
  clock.advance(501);
  b.reach = 'silent';
  const waiting = enter(secret);
  expect(await isPending(waiting)).toBe(true);
  expect(await waiting).toBe('UNAVAILABLE');
});

test('a read from before the revocation counts from when it was sent, and one that took too long decides nothing', async () => {
  const { findByHash } = cluster.store.keys;
  for (const [tookMs, expected, after] of [
    [400, 'let in', 'let in'],
    [600, 'let in', 'UNAUTHENTICATED'],
    [5_001, 'UNAVAILABLE', 'UNAUTHENTICATED'],
  ] as const) {
    const { id, secret } = await knownKey();
    clock.advance(501);
    const gate = Promise.withResolvers<void>();
    let isRead = false;
    cluster.store.keys.findByHash = async (hash) => {
      const row = await findByHash.call(cluster.store.keys, hash);
      isRead = true;
      await gate.promise;
      return row;
    };
    const entering = enter(secret);
    await eventually(() => isRead);
    cluster.store.keys.findByHash = findByHash;
    b.isCut = true;
    await revoke(id);
    clock.advance(tookMs);
    gate.resolve();
    expect(await entering).toBe(expected);
    expect(await enter(secret)).toBe(after);
    clock.advance(102);
    expect(await enter(secret)).toBe('UNAUTHENTICATED');
    b.isCut = false;
  }
});

test('concurrent requests for a key share one read, and later ones do not use an old one', async () => {
  const { secret } = await knownKey();
  clock.advance(501);
  const { findByHash } = cluster.store.keys;
  const gate = Promise.withResolvers<void>();
  let readings = 0;
  cluster.store.keys.findByHash = async (hash) => {
    readings++;
    await gate.promise;
    return findByHash.call(cluster.store.keys, hash);
  };
  const early = Array.from({ length: 20 }, () => enter(secret));
  await eventually(() => readings === 1);
  expect(await isPending(Promise.race(early))).toBe(true);
  clock.advance(501);
  const late = enter(secret);
  await eventually(() => readings === 2);
  gate.resolve();
  expect(new Set(await Promise.all([...early, late]))).toEqual(new Set(['let in']));
  expect(readings).toBe(2);
});

test("a node that receives no events refuses a deleted account's key within half a second", async () => {
  const { secret } = await knownKey();
  await b.call('metering.takeQuery', { accountId });
  b.isCut = true;
  await a.call('keys.deleteAccount', { id: accountId });
  clock.advance(501);
  expect(await enter(secret)).toBe('UNAUTHENTICATED');
  for (const action of ['keys.plan', 'metering.takeQuery', 'metering.usage'] as const)
    expect(await outcome(b.call(action, { accountId }))).toBe('ACCOUNT_NOT_FOUND');
});

test('of two nodes that revoke the last two manage keys at once, one is refused', async () => {
  const [first] = (await a.call('keys.page', { accountId, limit: 10 })).keys;
  const { id } = await knownKey();
  const outcomes = await Promise.all([
    outcome(a.call('keys.revoke', { accountId, id: first.id })),
    outcome(b.call('keys.revoke', { accountId, id })),
  ]);
  expect(outcomes.sort()).toEqual(['LAST_KEY', 'let in']);
});
