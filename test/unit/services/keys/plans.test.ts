/** Stored plans: which limits apply, when, and what holds when rows are missing or forged. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DEFAULT_PLANS, planLimitsText, STORED_PLANS_MAX } from '../../../../lib/plans.ts';
import type { Store } from '../../../../store/port.ts';
import { ManualClock, rejectedError, startNode } from '../../../support/accounts.ts';
import { inStoreFile } from '../../../support/store-file.ts';
import { openTemporaryStore, type TemporaryStore, type World } from '../../../support/world.ts';

const GOLD = { ...DEFAULT_PLANS.pro, vectors: 7 };
const DAMAGED = { name: 'StoreError', kind: 'damaged' };

let opened: TemporaryStore;
let store: Store;
let clock: ManualClock;
let node: World;
let other: World;
beforeEach(async () => {
  opened = await openTemporaryStore();
  store = opened.store;
  clock = new ManualClock();
  node = await startNode(store, clock, { free: { vectors: 9 } });
  other = await startNode(store, clock, { free: { vectors: 8 } });
});
afterEach(async () => {
  for (const { broker } of [node, other]) await broker.stop();
  await opened.destroy();
});

const newAccount = async (plan: string) =>
  (await node.call('keys.createAccount', { name: 'someone', plan: plan as 'free' })).account.id;
const put = (plan: string, limits: object) => node.call('keys.putPlan', { plan, ...limits } as never);
const vectorsAt = async (at: World, accountId: string) =>
  (await at.call('metering.usage', { accountId })).limits.vector_count;
const sourceOf = async (name: string) =>
  (await node.call('keys.plans', {})).plans.find((plan) => plan.name === name)?.source;

test('another instance applies a change within half a second, without an event', async () => {
  await put('gold', GOLD);
  const accountId = await newAccount('gold');
  expect(await vectorsAt(other, accountId)).toBe(7);
  await put('gold', { ...GOLD, vectors: 5 });
  expect(await vectorsAt(node, accountId)).toBe(5);
  clock.advance(500);
  expect(await vectorsAt(other, accountId)).toBe(7);
  clock.advance(1);
  expect(await vectorsAt(other, accountId)).toBe(5);
});

test('a stored plan takes precedence over the configuration of every instance, until it is deleted', async () => {
  const accountId = await newAccount('free');
  expect([await vectorsAt(node, accountId), await vectorsAt(other, accountId)]).toEqual([9, 8]);
  expect([await sourceOf('free'), await sourceOf('pro')]).toEqual(['environment', 'built-in']);
  await put('free', { ...DEFAULT_PLANS.free, vectors: 1 });
  clock.advance(501);
  expect([await vectorsAt(node, accountId), await vectorsAt(other, accountId)]).toEqual([1, 1]);
  expect(await sourceOf('free')).toBe('stored');
  await node.call('keys.deletePlan', { plan: 'free' });
  clock.advance(501);
  expect([await vectorsAt(node, accountId), await vectorsAt(other, accountId)]).toEqual([9, 8]);
});

test('a lower limit applies to queries that an instance reserved under the higher one', async () => {
  await put('gold', { ...GOLD, queries: 1_000 });
  const accountId = await newAccount('gold');
  const take = () => node.call('metering.takeQuery', { accountId });
  for (let taken = 0; taken < 3; taken++) await take();
  await put('gold', { ...GOLD, queries: 4 });
  await take();
  expect((await rejectedError(take())).code).toBe('PLAN_LIMIT_REACHED');
  await put('gold', { ...GOLD, queries: null });
  await take();
});

describe('an account whose plan', () => {
  let accountId: string;
  beforeEach(async () => {
    await put('gold', GOLD);
    accountId = await newAccount('gold');
  });
  const expectRefused = async () => {
    clock.advance(501);
    await expect(node.call('metering.usage', { accountId })).rejects.toMatchObject(DAMAGED);
    await expect(node.call('keys.create', { accountId, name: 'k' })).rejects.toMatchObject(DAMAGED);
    await put('gold', { ...GOLD, vectors: 2 });
    expect(await vectorsAt(node, accountId)).toBe(2);
  };

  test('is missing has no limits assumed, until the plan is made again', async () => {
    await store.plans.remove('gold');
    await expectRefused();
  });

  test('was changed in the file has no limits assumed, until it is set again', async () => {
    const text = planLimitsText({ ...GOLD, vectors: null });
    inStoreFile(opened.folder, 'log.db', (file) => file.exec(`UPDATE plans SET limits = '${text}'`));
    await expectRefused();
  });
});

test('no account gets a plan whose limits someone else wrote', async () => {
  const id = await newAccount('pro');
  await put('free', { ...DEFAULT_PLANS.free, vectors: 1 });
  inStoreFile(opened.folder, 'log.db', (file) => file.exec("UPDATE plans SET seal = 'x'"));
  const set = node.call('keys.setPlan', { id, plan: 'free' });
  expect((await rejectedError(set)).code).toBe('PLAN_NOT_FOUND');
  expect(await node.call('keys.account', { id })).toMatchObject({ plan: 'pro' });
  await node.call('keys.deletePlan', { plan: 'free' });
  expect(await node.call('keys.setPlan', { id, plan: 'free' })).toMatchObject({ plan: 'free' });
});

test('of a plan that is deleted and an account that gets it, one is refused', async () => {
  for (let round = 0; round < 20; round++) {
    await put('gold', GOLD);
    const id = await newAccount('free');
    const results = await Promise.allSettled([
      node.call('keys.deletePlan', { plan: 'gold' }),
      other.call('keys.setPlan', { id, plan: 'gold' as never }),
    ]);
    const { plan } = await node.call('keys.account', { id });
    const exists = (await sourceOf('gold')) === 'stored';
    expect({ plan, exists }).not.toEqual({ plan: 'gold', exists: false });
    expect(results.map(({ status }) => status)).toContain('rejected');
    await node.call('keys.setPlan', { id, plan: 'free' });
    await store.plans.remove('gold');
  }
});

test('the store takes a limited number of plans', async () => {
  for (let at = 0; at < STORED_PLANS_MAX; at++) await put(`plan-${at}`, GOLD);
  expect((await rejectedError(put('gold', GOLD))).code).toBe('PLANS_LIMIT_REACHED');
  expect(await put('plan-0', { ...GOLD, vectors: 1 })).toMatchObject({ vectors: 1 });
  await node.call('keys.deletePlan', { plan: 'plan-1' });
  await put('gold', GOLD);
  expect((await rejectedError(put('plan-1', GOLD))).code).toBe('PLANS_LIMIT_REACHED');
});

test('limits of deleted plans are kept for accounts that have them, and otherwise until room is needed', async () => {
  await put('kept', GOLD);
  await node.call('keys.deletePlan', { plan: 'kept' });
  const accountId = await newAccount('free');
  // As a process leaves it that dies while it gives the plan to the account.
  await store.catalog.setPlan(accountId, 'kept');
  for (let at = 0; at < STORED_PLANS_MAX + 5; at++) {
    await put(`plan-${at}`, GOLD);
    await node.call('keys.deletePlan', { plan: `plan-${at}` });
  }
  clock.advance(501);
  expect(await vectorsAt(node, accountId)).toBe(GOLD.vectors);
  expect((await store.plans.list()).length).toBeLessThanOrEqual(STORED_PLANS_MAX);
  expect((await node.call('keys.plans', {})).plans.map(({ source }) => source)).not.toContain('stored');
  expect((await rejectedError(newAccount('kept'))).code).toBe('INVALID_ARGUMENT');
});
