import { expect, test } from '@jest/globals';
import { isPending, rejectedError } from '../../../support/accounts.ts';
import { MeteredAccount, reservationId } from '../../../support/metered-account.ts';

const account = new MeteredAccount();
const { reserve, settle, commit } = account;

/** Code and Retry-After of a refusal due to an uncertain count. */
async function uncertain(promise: Promise<unknown>) {
  const { code, retryAfterSeconds, message } = await rejectedError(promise);
  expect(message).toMatch(/unknown whether other writes of this account were stored/);
  return [code, retryAfterSeconds];
}

test('held room is waited for until its holder has not renewed for five seconds, then requests are refused at once until it expires', async () => {
  await reservationId(reserve(15));
  account.clock.advance(4_999);
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  account.clock.advance(1);
  expect(await uncertain(waiting)).toEqual(['UNAVAILABLE', 115]);
  account.clock.advance(100_000);
  expect(await uncertain(reserve(10))).toEqual(['UNAVAILABLE', 15]);
  // A smaller reservation that fits next to it is accepted.
  await settle(await reservationId(reserve(5)));
  account.clock.advance(14_999);
  expect(await uncertain(reserve(10))).toEqual(['UNAVAILABLE', 1]);
  account.clock.advance(1);
  await reservationId(reserve(10));
});

test('an orphaned hold never delays a request that cannot fit', async () => {
  await commit(95, 0);
  await reservationId(reserve(5, 0));
  account.clock.advance(5_000);
  expect(await uncertain(reserve(5, 0))).toEqual(['UNAVAILABLE', 115]);
  expect((await rejectedError(reserve(6, 0))).code).toBe('PLAN_LIMIT_REACHED');
});

test('an orphaned hold is waited for again once its holder renews', async () => {
  const slow = await reservationId(reserve(15));
  account.clock.advance(5_000);
  expect(await uncertain(reserve(10))).toEqual(['UNAVAILABLE', 115]);
  await account.node.call('metering.renew', { accountId: account.id, id: slow });
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  await settle(slow);
  await reservationId(waiting);
});

test('while the store answers no one, no hold is orphaned', async () => {
  await reservationId(reserve(15));
  account.clock.advance(1_000);
  const { usage } = account.store;
  const { readHolds } = usage;
  let stalls = 0;
  usage.readHolds = (id) => {
    usage.readHolds = readHolds;
    account.clock.advance(6_000);
    stalls++;
    return readHolds(id);
  };
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  expect(stalls).toBe(1);
  account.clock.advance(4_999);
  expect(await isPending(waiting)).toBe(true);
  account.clock.advance(1);
  expect(await uncertain(waiting)).toEqual(['UNAVAILABLE', 108]);
});

test('the stated time is that of the hold that frees enough room, or of the last one if ids must be counted', async () => {
  await reservationId(reserve(5));
  account.clock.advance(7_000);
  await reservationId(reserve(5));
  account.clock.advance(6_000);
  await reservationId(reserve(8));
  account.clock.advance(5_000);
  expect(await uncertain(reserve(3))).toEqual(['UNAVAILABLE', 102]);
  expect(await uncertain(reserve(8))).toEqual(['UNAVAILABLE', 109]);
  expect(await uncertain(reserve(13))).toEqual(['UNAVAILABLE', 115]);
  // With one vector too many it would be asked to count, alone.
  expect(await uncertain(reserve(21))).toEqual(['UNAVAILABLE', 115]);
});

test('a request that would fit next to orphaned holds waits for the others', async () => {
  await reservationId(reserve(5));
  account.clock.advance(5_000);
  const alive = await reservationId(reserve(10));
  expect(await uncertain(reserve(16))).toEqual(['UNAVAILABLE', 115]);
  const waiting = reserve(10);
  expect(await isPending(waiting)).toBe(true);
  await settle(alive);
  await reservationId(waiting);
});

test('no request waits for the dead holder of a ticket, which keeps all others out', async () => {
  await commit(15, 15);
  expect((await reserve(10)).outcome).toBe('count');
  account.clock.advance(5_000);
  expect(await uncertain(reserve(1, 0))).toEqual(['UNAVAILABLE', 55]);
  account.clock.advance(55_000);
  await reservationId(reserve(1, 0));
});
