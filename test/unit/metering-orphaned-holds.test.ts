import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Store } from '../../lib/store/port.ts';
import type { WriteAnswer } from '../../services/metering/write-quota.ts';
import {
  commitTally,
  HandClock,
  isPending,
  openTemporaryStore,
  refusal,
  startNode,
  type TestNode,
} from '../support/accounts.ts';

const LIMITS = { writes: 100, vectors: 20 };

let opened: Awaited<ReturnType<typeof openTemporaryStore>>;
let store: Store;
let clock: HandClock;
let node: TestNode;
let accountId: string;
/** Happens once, when the holds are read. */
let beforeReading: (() => void) | null;

function delayed(store: Store): Store {
  const usage = Object.create(store.usage) as Store['usage'];
  usage.readHolds = (account) => {
    beforeReading?.();
    beforeReading = null;
    return store.usage.readHolds(account);
  };
  return Object.create(store, { usage: { value: usage } }) as Store;
}

beforeAll(async () => {
  opened = await openTemporaryStore();
  store = opened.store;
});
afterAll(() => opened.destroy());

beforeEach(async () => {
  clock = new HandClock();
  beforeReading = null;
  node = await startNode(delayed(store), clock, { free: LIMITS });
  accountId = (await node.call('keys.createAccount', { name: 'someone', plan: 'free' })).account.id;
});

afterEach(async () => {
  await node.broker.stop();
});

const reserve = (writes: number, vectors = writes) =>
  node.call('metering.reserveWrite', { accountId, writes, vectors });
const settle = (id: string) => node.call('metering.settle', { accountId, id });
const commit = (writes: number, vectors = 0) => commitTally(store, clock, accountId, writes, vectors);

async function reserved(promise: Promise<WriteAnswer>): Promise<string> {
  const answer = await promise;
  if (answer.outcome !== 'reserved' || answer.id === null)
    throw new Error(`not reserved but ${JSON.stringify(answer)}`);
  return answer.id;
}

/** Code and Retry-After of a refusal for want of knowledge. */
async function uncertain(promise: Promise<unknown>) {
  const { code, retryAfterSeconds, message } = await refusal(promise);
  expect(message).toMatch(/unknown whether other writes of this account were stored/);
  return [code, retryAfterSeconds];
}

test('room that somebody holds is waited for until nothing was heard of its holder for five seconds, then refused at once until it runs out', async () => {
  await reserved(reserve(15));
  clock.advance(4_999);
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  clock.advance(1);
  expect(await uncertain(waiting)).toEqual(['UNAVAILABLE', 115]);
  clock.advance(100_000);
  expect(await uncertain(reserve(10))).toEqual(['UNAVAILABLE', 15]);
  // What fits beside it is let in.
  await settle(await reserved(reserve(5)));
  clock.advance(14_999);
  expect(await uncertain(reserve(10))).toEqual(['UNAVAILABLE', 1]);
  clock.advance(1);
  await reserved(reserve(10));
});

test('an orphaned hold never makes a request wait that cannot fit', async () => {
  await commit(95, 0);
  await reserved(reserve(5, 0));
  clock.advance(5_000);
  expect(await uncertain(reserve(5, 0))).toEqual(['UNAVAILABLE', 115]);
  expect((await refusal(reserve(6, 0))).code).toBe('PLAN_LIMIT_REACHED');
});

test('an orphaned hold is waited for again when its holder is heard of', async () => {
  const slow = await reserved(reserve(15));
  clock.advance(5_000);
  expect(await uncertain(reserve(10))).toEqual(['UNAVAILABLE', 115]);
  await node.call('metering.renew', { accountId, id: slow });
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  await settle(slow);
  await reserved(waiting);
});

test('while the store answers nobody, no hold is orphaned', async () => {
  await reserved(reserve(15));
  clock.advance(1_000);
  beforeReading = () => clock.advance(6_000);
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  expect(beforeReading).toBeNull();
  clock.advance(4_999);
  expect(await isPending(waiting)).toBe(true);
  clock.advance(1);
  expect(await uncertain(waiting)).toEqual(['UNAVAILABLE', 108]);
});

test('the time named is that of the hold that makes enough room, of the last one where ids must be counted', async () => {
  await reserved(reserve(5));
  clock.advance(7_000);
  await reserved(reserve(5));
  clock.advance(6_000);
  await reserved(reserve(8));
  clock.advance(5_000);
  expect(await uncertain(reserve(3))).toEqual(['UNAVAILABLE', 102]);
  expect(await uncertain(reserve(8))).toEqual(['UNAVAILABLE', 109]);
  expect(await uncertain(reserve(13))).toEqual(['UNAVAILABLE', 115]);
  // With a vector too many it would be asked to count, alone.
  expect(await uncertain(reserve(21))).toEqual(['UNAVAILABLE', 115]);
});

test('who would fit beside orphaned holds waits for the others', async () => {
  await reserved(reserve(5));
  clock.advance(5_000);
  const alive = await reserved(reserve(10));
  expect(await uncertain(reserve(16))).toEqual(['UNAVAILABLE', 115]);
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  await settle(alive);
  await reserved(waiting);
});

test('nobody waits for a dead holder of a ticket, who keeps all others out', async () => {
  await commit(15, 15);
  expect((await reserve(10)).outcome).toBe('count');
  clock.advance(5_000);
  expect(await uncertain(reserve(1, 0))).toEqual(['UNAVAILABLE', 55]);
  clock.advance(55_000);
  await reserved(reserve(1, 0));
});
