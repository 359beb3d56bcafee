import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { ActionName, Actions } from '../../../../../contracts/actions/call.ts';
import { INTERNAL_LIMITS } from '../../../../../lib/limits.ts';
import collectionsService from '../../../../../services/collections/collections.service.ts';
import keysService from '../../../../../services/keys/keys.service.ts';
import meteringService from '../../../../../services/metering/metering.service.ts';
import shardsService from '../../../../../services/shards/shards.service.ts';
import { type Store, StoreError } from '../../../../../store/port.ts';
import { eventually, isPending, ManualClock, rejectedError } from '../../../../support/accounts.ts';
import type { ClientParams } from '../../../../support/client-call.ts';
import { smallService } from '../../../../support/environment.ts';
import { AppendGate, withLog } from '../../../../support/store-log.ts';
import { openTemporaryStore, startWorld, type TemporaryStore, type World } from '../../../../support/world.ts';

/**
 * Timeout of a caller that gives up soon. The services' clock stands still, so the write itself is
 * never late.
 */
const SHORT = { timeout: 40 };

let opened: TemporaryStore;
let clock: ManualClock;
let gate: AppendGate;
let world: World;
let target: { accountId: string; name: string };

beforeEach(async () => {
  opened = await openTemporaryStore();
  clock = new ManualClock();
  gate = new AppendGate();
});
afterEach(async () => {
  jest.useRealTimers();
  gate.open();
  await world.broker.stop();
  await opened.destroy();
});

/** The services that a write passes through, with a quota of ten records. */
async function start(wrap: (store: Store) => Store = gate.wrap): Promise<void> {
  world = await startWorld({
    environment: smallService(opened.folder, {
      PROVEC_LEDGER: 'off',
      PROVEC_PLANS: '{"free": {"vectors": 10, "writes": 10}}',
    }),
    store: wrap(opened.store),
    clock,
    services: [collectionsService, keysService, meteringService, shardsService],
  });
  const { account } = await ask('keys.createAccount', { name: 'someone', plan: 'free' });
  target = { accountId: account.id, name: 'docs' };
  await ask('collections.create', { ...target, dimensions: 1, metric: 'dot' });
}

function ask<N extends ActionName>(action: N, params: ClientParams<N>, options = {}): Promise<Actions[N]['result']> {
  return world.call(action, params, options);
}

function upsert(prefix: string, count: number, options = {}): Promise<Actions['collections.upsert']['result']> {
  const records = Array.from({ length: count }, (_, at) => ({ id: `${prefix}${at}`, values: [1] }));
  return ask('collections.upsert', { ...target, records }, options);
}

const usage = async () => (await ask('metering.usage', { accountId: target.accountId })).usage;
const reserve = (records: number) =>
  ask('metering.reserveWrite', { accountId: target.accountId, writes: records, vectors: records });

test('a write that is answered too late holds its room until its outcome is known, and then counts', async () => {
  await start();
  gate.shut();
  const first = rejectedError(upsert('first', 8, SHORT));
  await eventually(() => gate.reached === 1);
  expect((await first).code).toBe('UNAVAILABLE');
  const second = rejectedError(upsert('second', 3));
  expect(await isPending(second)).toBe(true);
  gate.open();
  expect((await second).code).toBe('PLAN_LIMIT_REACHED');
  expect(await usage()).toMatchObject({ write_count: 8, vector_count: 8 });
  await upsert('third', 2);
  expect(await usage()).toMatchObject({ write_count: 10, vector_count: 10 });
});

test('a write whose caller gave up before its turn is never stored, and returns its room', async () => {
  await start();
  gate.shut();
  const first = upsert('first', 1);
  await eventually(() => gate.reached === 1);
  const late = rejectedError(upsert('late', 3, SHORT));
  const patient = upsert('patient', 1);
  await eventually(async () => (await ask('shards.stats', {})).queuedRequests === 2);
  expect((await late).code).toBe('UNAVAILABLE');
  clock.advance(SHORT.timeout);
  gate.open();
  await Promise.all([first, patient]);
  expect(await ask('collections.fetch', { ...target, ids: ['first0', 'late0', 'patient0'] })).toMatchObject([
    { id: 'first0' },
    { id: 'patient0' },
  ]);
  await upsert('rest', 8);
  expect(await usage()).toMatchObject({ write_count: 10, vector_count: 10 });
});

test('a delete that is late in the queue is refused too', async () => {
  await start();
  await upsert('r', 2);
  gate.shut();
  const first = upsert('r', 1);
  await eventually(() => gate.reached === 2);
  const late = rejectedError(ask('collections.delete', { ...target, ids: ['r1'] }, SHORT));
  await eventually(async () => (await ask('shards.stats', {})).queuedRequests === 1);
  expect((await late).code).toBe('UNAVAILABLE');
  clock.advance(SHORT.timeout);
  gate.open();
  await first;
  expect(await ask('collections.fetch', { ...target, ids: ['r1'] })).toMatchObject([{ id: 'r1' }]);
});

test('room is held for as long as an append takes', async () => {
  await start();
  gate.shut();
  jest.useFakeTimers({
    doNotFake: ['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setTimeout'],
  });
  const first = upsert('first', 8);
  await eventually(() => gate.reached === 1);
  for (let passedMs = 0; passedMs < 2 * INTERNAL_LIMITS.writeReservationMaxMs; ) {
    clock.advance(INTERNAL_LIMITS.writeHolderRenewMs);
    jest.advanceTimersByTime(INTERNAL_LIMITS.writeHolderRenewMs);
    passedMs += INTERNAL_LIMITS.writeHolderRenewMs;
    await isPending(first);
  }
  const second = reserve(3);
  expect(await isPending(second)).toBe(true);
  gate.open();
  await first;
  expect((await rejectedError(second)).code).toBe('PLAN_LIMIT_REACHED');
});

test('the room of a write with an unknown outcome is held until no shard can store it any more', async () => {
  let isBroken = false;
  const fail = () => Promise.reject(new StoreError('unknown', 'no answer'));
  await start(
    withLog((real) => ({
      append: (entry) => (isBroken ? fail() : real.append(entry)),
      read: (...given) => (isBroken ? fail() : real.read(...given)),
    })),
  );
  isBroken = true;
  await expect(upsert('first', 8)).rejects.toMatchObject({ name: 'StoreError', kind: 'unknown' });
  isBroken = false;
  const second = rejectedError(upsert('second', 3));
  expect(await isPending(second)).toBe(true);
  clock.advance(INTERNAL_LIMITS.writeHoldOrphanedAfterMs);
  expect(await second).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 115 });
  clock.advance(INTERNAL_LIMITS.writeReservationMaxMs - INTERNAL_LIMITS.writeHoldOrphanedAfterMs);
  await upsert('third', 10);
  expect(await usage()).toMatchObject({ write_count: 10, vector_count: 10 });
});

test('a write that the store refuses returns its room at once', async () => {
  let isFull = true;
  await start(
    withLog((real) => ({
      append: (entry) => (isFull ? Promise.reject(new StoreError('capacity', 'full')) : real.append(entry)),
    })),
  );
  expect((await rejectedError(upsert('first', 8))).code).toBe('OUT_OF_CAPACITY');
  isFull = false;
  await upsert('second', 10);
  expect(await usage()).toMatchObject({ write_count: 10, vector_count: 10 });
});
