import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ProvecError } from '../../../../lib/errors.ts';
import type { Store } from '../../../../store/port.ts';
import { StoreError } from '../../../../store/port.ts';
import { eventually, ManualClock, rejectedError, startNode } from '../../../support/accounts.ts';
import { queryCounter } from '../../../support/query-counter.ts';
import { openTemporaryStore, type TemporaryStore, type World } from '../../../support/world.ts';

let opened: TemporaryStore;
let store: Store;
let clock: ManualClock;
let nodes: World[];
let node: World;
let accountId: string;

const PLANS = { free: { queries: 100 }, pro: { queries: 200 } };

async function start(): Promise<World> {
  const started = await startNode(store, clock, PLANS);
  nodes.push(started);
  return started;
}

beforeAll(async () => {
  opened = await openTemporaryStore();
  store = opened.store;
});
afterAll(() => opened.destroy());

beforeEach(async () => {
  clock = new ManualClock();
  nodes = [];
  node = await start();
  accountId = (await node.call('keys.createAccount', { name: 'someone', plan: 'free' })).account.id;
});

afterEach(async () => {
  for (const { broker } of nodes) await broker.stop();
});

const take = (from = node) => from.call('metering.takeQuery', { accountId });
const giveBack = (month: string, to = node) => to.call('metering.giveBackQuery', { accountId, month });
const setPlan = (plan: 'free' | 'pro' | 'enterprise') => node.call('keys.setPlan', { id: accountId, plan });
const reported = async (by = node) => (await by.call('metering.usage', { accountId })).usage.query_count;
const inStore = async (month = '2026-11') => (await store.usage.read(accountId, month)).queries;

async function takeMany(count: number, from = node): Promise<{ passed: number; refused: ProvecError[] }> {
  const outcomes = await Promise.allSettled(Array.from({ length: count }, () => take(from)));
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected').map((outcome) => outcome.reason);
  for (const error of refused) if (!(error instanceof ProvecError)) throw error;
  return { passed: count - refused.length, refused };
}

async function stop(stopped: World): Promise<void> {
  await stopped.broker.stop();
  nodes = nodes.filter((each) => each !== stopped);
}

describe('with a limit', () => {
  test('exactly as many pass as the plan allows, at once or one by one, and usage counts them', async () => {
    expect(await take()).toEqual({ month: '2026-11' });
    expect(await reported()).toBe(1);
    expect(await inStore()).toBeLessThanOrEqual(64);
    expect((await takeMany(64)).passed).toBe(64);
    expect(await reported()).toBe(65);
    const { passed, refused } = await takeMany(64);
    expect(passed).toBe(35);
    expect(await reported()).toBe(100);
    expect(await inStore()).toBe(100);
    for (const error of refused) expect(error.code).toBe('PLAN_LIMIT_REACHED');
    expect(refused[0].message).toBe(
      'The plan "free" allows 100 queries per month; 100 are used and this request needs 1 more. ' +
        'The count starts again at 2026-12-01T00:00:00.000Z. Larger plans: https://example.com/pricing',
    );
    expect(refused[0].retryAfterSeconds).toBeUndefined();
  });

  test('a failed query is returned and can be used again, even at the limit', async () => {
    await takeMany(100);
    expect((await rejectedError(take())).code).toBe('PLAN_LIMIT_REACHED');
    await giveBack('2026-11');
    expect(await reported()).toBe(99);
    await take();
    expect((await rejectedError(take())).code).toBe('PLAN_LIMIT_REACHED');
    for (let i = 0; i < 100; i++) await giveBack('2026-11');
    expect(await reported()).toBe(0);
    expect((await takeMany(128)).passed).toBe(100);
  });

  test('none is refused while a failed one is being returned', async () => {
    await takeMany(100);
    await stop(node);
    node = await start();
    const { readQueries } = store.usage;
    const gate = Promise.withResolvers<void>();
    let asked = false;
    store.usage.readQueries = async (...args) => {
      const taken = await readQueries.apply(store.usage, args);
      asked = true;
      await gate.promise;
      return taken;
    };
    const query = take();
    await eventually(() => asked);
    const back = giveBack('2026-11');
    store.usage.readQueries = readQueries;
    gate.resolve();
    await back;
    expect(await query).toEqual({ month: '2026-11' });
    expect(await reported()).toBe(100);
  });

  test('a stop returns unused queries', async () => {
    await takeMany(8);
    const reserved = await inStore();
    expect(reserved).toBeGreaterThan(8);
    expect(reserved).toBeLessThanOrEqual(16);
    await stop(node);
    expect(await inStore()).toBe(8);
    node = await start();
    expect(await reported()).toBe(8);
    expect((await takeMany(128)).passed).toBe(92);
  });

  test("a query after the counter's end is counted, and nothing is left open", async () => {
    const { quota, take } = queryCounter(store.usage, clock);
    await Promise.all(Array.from({ length: 8 }, () => take(accountId, 100)));
    await quota.close();
    expect(await inStore()).toBe(8);
    await Promise.all(Array.from({ length: 3 }, () => take(accountId, 100)));
    expect(await inStore()).toBe(11);
    await eventually(async () => (await store.usage.readQueries(accountId, '2026-11')).blocks.length === 0);
    expect(await inStore()).toBe(11);
  });

  test('unused blocks are returned by themselves', async () => {
    await takeMany(8);
    expect(await inStore()).toBeGreaterThan(8);
    clock.advance(2_000);
    await eventually(async () => (await inStore()) === 8);
    expect(await reported()).toBe(8);
  });

  test('the count starts again with the UTC month, and a block does not outlive its own', async () => {
    clock.setWall('2026-12-31T23:59:59.999Z');
    expect(await take()).toEqual({ month: '2026-12' });
    await takeMany(7);
    expect(await inStore('2026-12')).toBeGreaterThan(8);
    clock.setWall('2027-01-01T00:00:00.000Z');
    expect(await reported()).toBe(0);
    expect((await takeMany(128)).passed).toBe(100);
    expect(await inStore('2026-12')).toBe(8);
    expect(await inStore('2027-01')).toBe(100);
    // A query of last month that fails only now.
    await giveBack('2026-12');
    expect((await rejectedError(take())).code).toBe('PLAN_LIMIT_REACHED');
    expect(await inStore('2026-12')).toBe(7);
    expect(await inStore('2027-01')).toBe(100);
  });

  test('a plan change applies at once, in both directions', async () => {
    await takeMany(100);
    await setPlan('pro');
    expect((await takeMany(50)).passed).toBe(50);
    // A block of the larger plan is left.
    expect(await inStore()).toBeGreaterThan(150);
    await setPlan('free');
    const error = await rejectedError(take());
    expect(error.message).toContain('allows 100 queries per month; 150 are used');
    await setPlan('enterprise');
    expect((await takeMany(500)).passed).toBe(500);
    expect(await reported()).toBe(650);
    await setPlan('pro');
    expect((await rejectedError(take())).code).toBe('PLAN_LIMIT_REACHED');
    expect(await inStore()).toBe(650);
  });

  test("a query that arrives with a larger plan is not refused by the smaller one's limit", async () => {
    await takeMany(100);
    const { readQueries } = store.usage;
    const read = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    store.usage.readQueries = async (...given) => {
      const found = await readQueries.call(store.usage, ...given);
      read.resolve();
      await held.promise;
      return found;
    };
    const old = rejectedError(take());
    await read.promise;
    store.usage.readQueries = readQueries;
    await setPlan('pro');
    const young = take();
    young.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    held.resolve();
    expect((await old).message).toContain('allows 100 queries per month');
    expect(await young).toEqual({ month: '2026-11' });
  });

  test('a failing store is reported and nothing is lost or granted', async () => {
    const { openBlock } = store.usage;
    store.usage.openBlock = () => Promise.reject(new StoreError('unavailable', 'out of reach'));
    await expect(take()).rejects.toThrow('out of reach');
    store.usage.openBlock = openBlock;
    expect((await takeMany(128)).passed).toBe(100);
  });
});

describe('without a limit', () => {
  beforeEach(() => setPlan('enterprise'));

  test('every query is in the next report, and the store is written ever less often', async () => {
    const { openBlock } = store.usage;
    let opened = 0;
    store.usage.openBlock = (...args) => {
      opened++;
      return openBlock.apply(store.usage, args);
    };
    for (let i = 1; i <= 100; i++) {
      await take();
      expect(await reported()).toBe(i);
    }
    store.usage.openBlock = openBlock;
    expect(opened).toBeLessThanOrEqual(10);
  });

  test('a query does not wait for anything that another node holds', async () => {
    await store.usage.openBlock(accountId, '2026-11', { id: crypto.randomUUID(), node: 'gone' }, 500, null);
    expect((await takeMany(300)).passed).toBe(300);
  });

  test('a block is returned when it is idle, on a stop, and when the plan gets a limit', async () => {
    await takeMany(20);
    expect(await inStore()).toBeGreaterThan(20);
    clock.advance(2_000);
    await eventually(async () => (await inStore()) === 20);
    await takeMany(20);
    await stop(node);
    expect(await inStore()).toBe(40);
    node = await start();
    await takeMany(20);
    await setPlan('free');
    expect((await takeMany(100)).passed).toBe(40);
    expect(await reported()).toBe(100);
  });

  test('each query counts in the month in which it was made', async () => {
    clock.setWall('2026-12-31T23:59:59.999Z');
    const { month } = await take();
    clock.setWall('2027-01-01T00:00:00.000Z');
    await take();
    await take();
    expect(await reported()).toBe(2);
    await giveBack(month);
    await stop(node);
    expect([await inStore('2026-12'), await inStore('2027-01')]).toEqual([0, 2]);
  });

  test('a failing store fails the query, and nothing is counted twice or lost', async () => {
    await takeMany(5);
    const { openBlock } = store.usage;
    store.usage.openBlock = async (...args) => {
      await openBlock.apply(store.usage, args);
      throw new StoreError('unknown', 'no answer came');
    };
    let passed = 5;
    const passes = (): Promise<boolean> =>
      take().then(
        () => true,
        () => false,
      );
    while (await passes()) passed++;
    store.usage.openBlock = openBlock;
    expect(await reported()).toBe(passed);
    expect((await takeMany(7)).passed).toBe(7);
    await stop(node);
    expect(await inStore()).toBe(passed + 7);
  });
});

describe('several at once', () => {
  const takeAtOnce = (count: number, from = node) => from.call('metering.takeQuery', { accountId, count });

  test('are counted all or not at all', async () => {
    await takeAtOnce(60);
    const refused = await rejectedError(takeAtOnce(41));
    expect(refused.code).toBe('PLAN_LIMIT_REACHED');
    expect(refused.message).toContain('100 queries per month; 60 are used and this request needs 41 more.');
    expect(await reported()).toBe(60);
    await takeAtOnce(40);
    expect(await reported()).toBe(100);
    await node.call('metering.giveBackQuery', { accountId, month: '2026-11', count: 30 });
    expect(await reported()).toBe(70);
    expect((await rejectedError(takeAtOnce(31))).code).toBe('PLAN_LIMIT_REACHED');
    await takeAtOnce(30);
    await stop(node);
    expect(await inStore()).toBe(100);
  });

  test('with other concurrent ones, on several instances, never exceed the plan', async () => {
    const other = await start();
    const sizes = [7, 1, 30, 2, 11, 1, 40, 5, 1, 9, 13, 1];
    const outcomes = await Promise.allSettled(sizes.map((count, at) => takeAtOnce(count, at % 2 ? node : other)));
    const passed = sizes.filter((_, at) => outcomes[at]!.status === 'fulfilled');
    const sum = passed.reduce((total, count) => total + count, 0);
    expect(sum).toBeLessThanOrEqual(100);
    // Every refused request was too large for the rest.
    expect(Math.min(...sizes.filter((_, at) => outcomes[at]!.status === 'rejected'))).toBeGreaterThan(100 - sum);
    expect(await reported()).toBe(sum);
  });

  test('without a limit wait for nothing, and are in the report', async () => {
    await setPlan('enterprise');
    await Promise.all([takeAtOnce(100), takeAtOnce(3), take()]);
    expect(await reported()).toBe(104);
  });
});

describe('while the disk is full', () => {
  let makeRoom: () => void;

  function fillDisk(): void {
    const { openBlock, closeBlock } = store.usage;
    const full = () => Promise.reject(new StoreError('capacity', 'no room'));
    Object.assign(store.usage, { openBlock: full, closeBlock: full });
    makeRoom = () => Object.assign(store.usage, { openBlock, closeBlock });
  }
  afterEach(() => makeRoom());

  test('queries pass, are in the report, and are in the store once there is space', async () => {
    await setPlan('enterprise');
    fillDisk();
    expect((await takeMany(30)).passed).toBe(30);
    await giveBack('2026-11').catch(() => undefined);
    expect(await reported()).toBe(29);
    expect(await inStore()).toBe(0);
    makeRoom();
    await stop(node);
    expect(await inStore()).toBe(29);
  });

  test('no more than the plan allows pass, and the count is exact once there is space', async () => {
    await takeMany(60);
    fillDisk();
    const outcomes = await Promise.allSettled(Array.from({ length: 128 }, () => take()));
    const passed = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(passed).toBeGreaterThan(0);
    expect(await reported()).toBe(60 + passed);
    makeRoom();
    expect((await takeMany(128)).passed).toBe(40 - passed);
    expect(await reported()).toBe(100);
  });
});

describe('returned after its block has closed', () => {
  beforeEach(async () => {
    await takeMany(20);
    await stop(node);
    node = await start();
  });

  test.each([
    ['openBlock', true],
    ['openBlock', false],
    ['closeBlock', true],
    ['closeBlock', false],
  ] as const)('if the outcome of %s is unknown, done: %s, each query is subtracted once', async (step, isDone) => {
    const { [step]: original } = store.usage;
    let failures = 0;
    const fail =
      (kind: 'unknown' | 'unavailable') =>
      async (...args: unknown[]) => {
        if (kind === 'unknown' && isDone && failures++ === 0) await Reflect.apply(original, store.usage, args);
        throw new StoreError(kind, kind === 'unknown' ? 'no answer came' : 'out of reach');
      };
    Object.assign(store.usage, { [step]: fail('unknown') });
    await expect(giveBack('2026-11')).rejects.toThrow('no answer came');
    expect(await reported()).toBe(19);
    Object.assign(store.usage, { [step]: fail('unavailable') });
    await expect(giveBack('2026-11')).rejects.toThrow('out of reach');
    expect(await reported()).toBe(18);
    Object.assign(store.usage, { [step]: original });
    await eventually(async () => (await inStore()) === 18);
    await giveBack('2026-11');
    expect([await reported(), await inStore()]).toEqual([17, 17]);
    await stop(node);
    expect(await store.usage.readQueries(accountId, '2026-11')).toEqual({ queries: 17, blocks: [] });
  });

  test('what could not be written is kept', async () => {
    const { openBlock } = store.usage;
    store.usage.openBlock = () => Promise.reject(new StoreError('unavailable', 'out of reach'));
    await expect(giveBack('2026-11')).rejects.toThrow('out of reach');
    expect(await reported()).toBe(19);
    store.usage.openBlock = openBlock;
    await eventually(async () => (await inStore()) === 19);
  });

  test('adds room to the current block, and the rest is returned', async () => {
    await takeMany(79);
    expect(await inStore()).toBe(99);
    for (let i = 0; i < 20; i++) await giveBack('2026-11');
    expect(await reported()).toBe(79);
    expect((await takeMany(30)).passed).toBe(21);
    expect(await inStore()).toBe(100);
  });

  test('nothing is returned for a deleted account', async () => {
    await node.call('keys.deleteAccount', { id: accountId });
    await giveBack('2026-11');
    expect(await store.usage.readQueries(accountId, '2026-11')).toEqual({ queries: 0, blocks: [] });
  });
});

test('a store that grants nothing although it has some left ends the wait', async () => {
  const { openBlock } = store.usage;
  store.usage.openBlock = async () => 0;
  expect((await rejectedError(take())).code).toBe('UNAVAILABLE');
  store.usage.openBlock = openBlock;
  await take();
});

test('the report compares usage with the limits of the plan, null if there is none', async () => {
  await take();
  expect(await node.call('metering.usage', { accountId })).toEqual({
    month: '2026-11',
    plan: 'free',
    usage: { write_count: 0, query_count: 1, vector_count: 0, collection_count: 0, key_count: 1 },
    limits: { write_count: 1_000, query_count: 100, vector_count: 5_000, collection_count: 2, key_count: 2 },
    query_count_uncertainty: 0,
    resets_at: '2026-12-01T00:00:00.000Z',
    pricing_url: 'https://example.com/pricing',
  });
  await setPlan('enterprise');
  expect((await node.call('metering.usage', { accountId })).limits).toEqual({
    write_count: null,
    query_count: null,
    vector_count: null,
    collection_count: null,
    key_count: 10_000,
  });
});

test('metering.refuse names what is full', async () => {
  const error = await rejectedError(node.call('metering.refuse', { accountId, limit: 'collections' }));
  expect(error.code).toBe('PLAN_LIMIT_REACHED');
  expect(error.message).toBe(
    'The plan "free" allows 2 collections; 0 are used and this request needs 1 more. ' +
      'Delete some to make room. Larger plans: https://example.com/pricing',
  );
});

test('an unknown account is ACCOUNT_NOT_FOUND everywhere', async () => {
  for (const action of ['metering.usage', 'metering.takeQuery'] as const) {
    expect((await rejectedError(node.call(action, { accountId: 'nobody' }))).code).toBe('ACCOUNT_NOT_FOUND');
  }
});
