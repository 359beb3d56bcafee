import { expect, test } from '@jest/globals';
import type { WriteAnswer } from '../../../../services/metering/account-writes.ts';
import { isPending, rejectedError } from '../../../support/accounts.ts';
import { MeteredAccount, reservationId } from '../../../support/metered-account.ts';

const account = new MeteredAccount();
const { reserve, settle, commit } = account;

async function ticketOf(promise: Promise<WriteAnswer>): Promise<string> {
  const answer = await promise;
  if (answer.outcome !== 'count') throw new Error(`no ticket but ${JSON.stringify(answer)}`);
  return answer.ticket;
}

test('refusals name the limit, the usage, when it restarts and where to go', async () => {
  account.clock.setWall('2026-11-30T23:59:30.500Z');
  await commit(98, 0);
  const error = await rejectedError(reserve(5));
  expect([error.code, error.status, error.retryAfterSeconds]).toEqual(['PLAN_LIMIT_REACHED', 429, undefined]);
  expect(error.message).toBe(
    'The plan "free" allows 100 writes per month; 98 are used and this request needs 5 more. ' +
      'The count starts again at 2026-12-01T00:00:00.000Z. Larger plans: https://example.com/pricing',
  );
  await settle(await reservationId(reserve(2)));
});

test('writes restart with the UTC month, and those in progress count in the new one', async () => {
  account.clock.setWall('2026-12-31T23:59:59.999Z');
  const held = await reservationId(reserve(90, 0));
  const waiting = reserve(20, 0);
  expect(await isPending(waiting)).toBe(true);
  account.clock.setWall('2027-01-01T00:00:00.000Z');
  expect(await isPending(waiting)).toBe(true);
  await commit(90, 0);
  await settle(held);
  // The held write was committed in January, so the 20 that waited since December do not fit.
  expect((await rejectedError(waiting)).code).toBe('PLAN_LIMIT_REACHED');
  expect(await account.node.call('metering.usage', { accountId: account.id })).toMatchObject({
    month: '2027-01',
    usage: { write_count: 90 },
    resets_at: '2027-02-01T00:00:00.000Z',
  });
  await reservationId(reserve(10, 0));
});

test('a plan change applies to the next write', async () => {
  await commit(90, 20);
  await account.node.call('keys.setPlan', { id: account.id, plan: 'enterprise' });
  expect(await reserve(1_000)).toEqual({ outcome: 'reserved', id: null });
  await commit(1_000, 1_000);
  await account.node.call('keys.setPlan', { id: account.id, plan: 'free' });
  expect((await rejectedError(reserve(1))).code).toBe('PLAN_LIMIT_REACHED');
});

test('an account above its limit after a change of plan may still replace its records', async () => {
  await commit(30, 30);
  const ticket = await ticketOf(reserve(10));
  await settle(await reservationId(reserve(10, 0, ticket)));
  const second = await ticketOf(reserve(10));
  expect((await rejectedError(reserve(10, 1, second))).code).toBe('PLAN_LIMIT_REACHED');
});

test('a ticket is given up if the plan lost its limits meanwhile', async () => {
  await commit(15, 15);
  const ticket = await ticketOf(reserve(10));
  await account.node.call('keys.setPlan', { id: account.id, plan: 'enterprise' });
  expect(await reserve(10, 10, ticket)).toEqual({ outcome: 'reserved', id: null });
  await account.node.call('keys.setPlan', { id: account.id, plan: 'free' });
  await reservationId(reserve(1));
});

test('an unknown account is ACCOUNT_NOT_FOUND', async () => {
  const attempt = account.node.call('metering.reserveWrite', { accountId: 'nobody', writes: 1, vectors: 1 });
  expect((await rejectedError(attempt)).code).toBe('ACCOUNT_NOT_FOUND');
});

test('a process that is alone on its store does not wait for holds from before its start', async () => {
  await reservationId(reserve(20));
  await account.restart();
  const id = await reservationId(reserve(20));
  expect((await account.store.usage.readHolds(account.id)).holds.map((hold) => hold.id)).toEqual([id]);
});
