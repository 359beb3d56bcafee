import { describe, expect, test } from '@jest/globals';
import type { ProvecError } from '../../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import type { WriteAnswer } from '../../../../services/metering/account-writes.ts';
import type { Allowance } from '../../../../services/metering/allowance.ts';
import { WriteQuota } from '../../../../services/metering/write-quota.ts';
import type { UsageStore } from '../../../../store/usage.ts';
import { eventually, isPending, rejectedError } from '../../../support/accounts.ts';
import { MeteredAccount, reservationId, writeRequestFor } from '../../../support/metered-account.ts';
import { seed } from '../../../support/seed.ts';

const account = new MeteredAccount();
const { reserve, settle, commit } = account;

/** Lets time pass while the owner of a reservation keeps renewing it. */
async function passAlive(id: string, ms: number): Promise<void> {
  const beat = async () => (await account.store.usage.readHolds(account.id)).holds.find((hold) => hold.id === id)?.beat;
  for (let leftMs = ms; leftMs > 0; leftMs -= INTERNAL_LIMITS.writeHolderRenewMs) {
    account.clock.advance(Math.min(leftMs, INTERNAL_LIMITS.writeHolderRenewMs));
    const before = await beat();
    await account.node.call('metering.renew', { accountId: account.id, id });
    await eventually(async () => (await beat()) !== before);
  }
}
const stored = async () => (await account.node.call('metering.usage', { accountId: account.id })).usage;

async function ticketOf(promise: Promise<WriteAnswer>): Promise<string> {
  const answer = await promise;
  if (answer.outcome !== 'count') throw new Error(`no ticket but ${JSON.stringify(answer)}`);
  return answer.ticket;
}

/** A caller that follows the protocol, with the ids that it has written. */
class Records {
  readonly ids = new Set<string>();
  #commits: Promise<unknown> = Promise.resolve();

  async upsert(ids: string[]): Promise<void> {
    let held: string | undefined;
    try {
      let answer = await reserve(ids.length);
      while (answer.outcome === 'count') {
        held = answer.ticket;
        await new Promise((resolve) => setImmediate(resolve));
        answer = await reserve(ids.length, ids.filter((id) => !this.ids.has(id)).length, held);
      }
      held = answer.id ?? held;
      await this.#commit(async () => {
        const created = ids.filter((id) => !this.ids.has(id));
        await commit(ids.length, created.length);
        for (const id of created) this.ids.add(id);
      });
    } finally {
      if (held !== undefined) await settle(held);
    }
  }

  async delete(id: string): Promise<void> {
    await this.#commit(async () => {
      if (!this.ids.has(id)) return;
      await commit(0, -1);
      this.ids.delete(id);
    });
  }

  #commit(change: () => Promise<void>): Promise<void> {
    const done = this.#commits.then(change);
    this.#commits = done.catch(() => undefined);
    return done;
  }
}

describe('concurrent writes', () => {
  test('of 64 single writes near each limit exactly as many pass as fit', async () => {
    const records = new Records();
    const outcomes = await Promise.allSettled(Array.from({ length: 64 }, (_, i) => records.upsert([`id${i}`])));
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(20);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('PLAN_LIMIT_REACHED');
    }
    expect(await stored()).toMatchObject({ write_count: 20, vector_count: 20 });

    // The vectors are full: replacing records is possible until the writes are used up.
    const replaced = await Promise.allSettled(Array.from({ length: 64 }, (_, i) => records.upsert([`id${i % 10}`])));
    const ids = [...records.ids].filter((id) => Number(id.slice(2)) < 10).length;
    expect(ids).toBe(10);
    expect(replaced.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(64);
    const last = await Promise.allSettled(Array.from({ length: 64 }, () => records.upsert(['id0'])));
    expect(last.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(16);
    expect(await stored()).toMatchObject({ write_count: 100, vector_count: 20 });
  });

  test('64 concurrent reservations hold exactly the available room, and none is refused while others may fail', async () => {
    await commit(36, 0);
    const attempts = Array.from({ length: 128 }, () => reserve(1, 0));
    const held: string[] = [];
    for (const attempt of attempts.slice(0, 64)) held.push(await reservationId(attempt));
    expect(await isPending(Promise.race(attempts.slice(64)))).toBe(true);
    // None of the writes happened, so the waiting ones get the quota instead.
    await Promise.all(held.map(settle));
    for (const attempt of attempts.slice(64)) await settle(await reservationId(attempt));
    expect(await stored()).toMatchObject({ write_count: 36 });
  });

  test('a random mix of upserts and deletes never exceeds a limit and refuses only what at some moment did not fit', async () => {
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
      return (state >>> 8) % below;
    };
    await account.restart({ vectors: 20, writes: -1 });
    const records = new Records();
    const active = new Set<{ ids: string[]; didNotFit: boolean }>();
    const look = (): void => {
      expect(records.ids.size).toBeLessThanOrEqual(20);
      for (const request of active) {
        const created = request.ids.filter((id) => !records.ids.has(id)).length;
        if (records.ids.size + created > 20) request.didNotFit = true;
      }
    };
    let refused = 0;
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        for (let i = 0; i < 40; i++) {
          if (random(3) === 0) {
            await records.delete(`id${random(30)}`);
            look();
            continue;
          }
          const first = random(30);
          const ids = Array.from({ length: 1 + random(6) }, (_, j) => `id${(first + j) % 30}`);
          const request = { ids, didNotFit: false };
          active.add(request);
          look();
          try {
            await records.upsert(ids);
          } catch (error) {
            expect((error as ProvecError).code).toBe('PLAN_LIMIT_REACHED');
            look();
            expect(request).toEqual({ ids, didNotFit: true });
            refused++;
          }
          active.delete(request);
          look();
        }
      }),
    );
    expect(refused).toBeGreaterThan(0);
    expect(await stored()).toMatchObject({ vector_count: records.ids.size });
  });

  test('a write that commits and settles while the store is being read is not overlooked', async () => {
    let release = (): void => {};
    let gated = false;
    const usage = new Proxy(account.store.usage, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'read') return typeof value === 'function' ? value.bind(target) : value;
        return async (account: string, month: string) => {
          const row = await target.read(account, month);
          if (gated) await new Promise<void>((resolve) => (release = resolve));
          return row;
        };
      },
    });
    const pricingUrl = 'https://example.com';
    const quota = new WriteQuota({ usage, clock: account.clock, pricingUrl, isAlone: true });
    const allowance: Allowance = {
      plan: 'free',
      limits: { writes: 10, vectors: 10, queries: 10, collections: 1, keys: 1, shards: 1, anchoring: false },
    };
    const first = await reservationId(
      quota.reserve(account.id, writeRequestFor({ writes: 10, vectors: 10 }, allowance)),
    );
    gated = true;
    const second = quota.reserve(account.id, writeRequestFor({ writes: 1, vectors: 1 }, allowance));
    expect(await isPending(second)).toBe(true);
    await commit(10, 10);
    const settled = quota.settle(account.id, first);
    gated = false;
    release();
    expect((await rejectedError(second)).code).toBe('PLAN_LIMIT_REACHED');
    await settled;
  });

  test('accounts do not wait for each other', async () => {
    const other = (await account.node.call('keys.createAccount', { name: 'other', plan: 'free' })).account.id;
    await reservationId(reserve(20));
    expect(await isPending(reserve(20))).toBe(true);
    await reservationId(account.node.call('metering.reserveWrite', { accountId: other, writes: 20, vectors: 20 }));
  });
});

describe('the queue of an account', () => {
  test('is first come, first served, even before requests that would fit', async () => {
    const first = await reservationId(reserve(15));
    const big = reserve(10);
    const small = reserve(1);
    expect(await isPending(Promise.race([big, small]))).toBe(true);
    await settle(first);
    await reservationId(big);
    await reservationId(small);
  });

  test('a committed write that is not settled yet makes others wait, never refuses them', async () => {
    const first = await reservationId(reserve(10));
    await commit(10, 10);
    const second = reserve(10);
    expect(await isPending(second)).toBe(true);
    await settle(first);
    await reservationId(second);
  });

  test('a failed write returns its room', async () => {
    const first = await reservationId(reserve(20));
    const second = reserve(20);
    await settle(first);
    await settle(await reservationId(second));
    expect(await stored()).toMatchObject({ write_count: 0, vector_count: 0 });
  });

  test('a request that waits too long is told to retry, and the others continue', async () => {
    const first = await reservationId(reserve(20));
    const late = rejectedError(reserve(20));
    expect(await isPending(late)).toBe(true);
    await passAlive(first, 20_000);
    const patient = reserve(20);
    expect(await isPending(patient)).toBe(true);
    await passAlive(first, 10_000);
    const error = await late;
    expect([error.code, error.retryAfterSeconds]).toEqual(['UNAVAILABLE', 1]);
    expect(await isPending(patient)).toBe(true);
    await settle(first);
    await reservationId(patient);
  });

  test('a failing store is reported to each request, and blocks none', async () => {
    const { read } = account.store.usage;
    account.store.usage.read = () => Promise.reject(new Error('out of reach'));
    const attempts = await Promise.allSettled([reserve(1), reserve(2), reserve(3)]);
    for (const attempt of attempts) expect(attempt).toMatchObject({ status: 'rejected' });
    account.store.usage.read = read;
    await reservationId(reserve(1));
  });
});

describe('tickets', () => {
  test('their holder is alone until its write has ended', async () => {
    await commit(15, 15);
    const ticket = await ticketOf(reserve(10));
    const other = reserve(1, 0);
    expect(await isPending(other)).toBe(true);
    expect(await reservationId(reserve(10, 5, ticket))).toBe(ticket);
    expect(await isPending(other)).toBe(true);
    await commit(10, 5);
    await settle(ticket);
    await settle(await reservationId(other));
    await settle(ticket);
    expect(await stored()).toMatchObject({ write_count: 25, vector_count: 20 });
  });

  test('are given out only when nothing else is in progress', async () => {
    const first = await reservationId(reserve(15));
    const second = reserve(10);
    expect(await isPending(second)).toBe(true);
    await commit(15, 15);
    await settle(first);
    await ticketOf(second);
  });

  test('a refusal under a ticket admits the next request', async () => {
    await commit(15, 15);
    const ticket = await ticketOf(reserve(10));
    const other = reserve(5);
    const error = await rejectedError(reserve(10, 6, ticket));
    expect(error.code).toBe('PLAN_LIMIT_REACHED');
    expect(error.message).toMatch(/"free" allows 20 stored vectors; 15 are used and this request needs 6 more/);
    expect(error.retryAfterSeconds).toBeUndefined();
    await reservationId(other);
  });

  test('a delete during the count never lets a limit be exceeded, and repeats the count when it matters', async () => {
    await commit(20, 20);
    const ticket = await ticketOf(reserve(2));
    // The owner found one of its two ids new; then the other one is deleted.
    await commit(0, -1);
    expect(await reserve(2, 1, ticket)).toEqual({ outcome: 'count', ticket });
    expect((await rejectedError(reserve(2, 2, ticket))).code).toBe('PLAN_LIMIT_REACHED');
    const again = await ticketOf(reserve(2));
    expect(await reservationId(reserve(2, 1, again))).toBe(again);
  });

  test('expire, and a late count decides nothing', async () => {
    await commit(15, 15);
    const ticket = await ticketOf(reserve(10));
    await passAlive(ticket, 59_999);
    const other = reserve(5);
    expect(await isPending(other)).toBe(true);
    account.clock.advance(1);
    const otherId = await reservationId(other);
    expect((await rejectedError(reserve(10, 5, ticket))).code).toBe('UNAVAILABLE');
    await settle(ticket);
    const third = reserve(5);
    expect(await isPending(third)).toBe(true);
    await settle(otherId);
    await reservationId(third);
  });

  test('of another write or of none are worth nothing', async () => {
    const other = (await account.node.call('keys.createAccount', { name: 'other', plan: 'free' })).account.id;
    await commit(15, 15);
    const ticket = await ticketOf(reserve(10));
    const stolen = account.node.call('metering.reserveWrite', { accountId: other, writes: 10, vectors: 5, ticket });
    expect((await rejectedError(stolen)).code).toBe('UNAVAILABLE');
    expect((await rejectedError(reserve(10, 5, 'made up'))).code).toBe('UNAVAILABLE');
    await reservationId(reserve(10, 5, ticket));
    expect((await rejectedError(reserve(10, 5, ticket))).code).toBe('UNAVAILABLE');
  });
});

test('a reservation whose caller died expires, and settling it late does nothing', async () => {
  const dead = await reservationId(reserve(20));
  account.clock.advance(119_999);
  expect((await rejectedError(reserve(20))).code).toBe('UNAVAILABLE');
  account.clock.advance(1);
  const alive = await reservationId(reserve(20));
  await settle(dead);
  expect(await isPending(reserve(20))).toBe(true);
  await settle(alive);
});

test('a count repeated at another instance keeps its room, whatever the first one finds later', async () => {
  const { usage } = account.store;
  const read = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const slow: UsageStore = Object.assign(Object.create(usage), {
    async read(...asked: Parameters<UsageStore['read']>) {
      if (isHeld) {
        read.resolve();
        await gate.promise;
      }
      return usage.read(...asked);
    },
  });
  const quotaOn = (store: UsageStore): WriteQuota =>
    new WriteQuota({ usage: store, clock: account.clock, pricingUrl: '', isAlone: false });
  const [first, second] = [quotaOn(slow), quotaOn(usage)];
  const limits = {
    writes: 100,
    vectors: 20,
    queries: null,
    collections: null,
    keys: 10_000,
    shards: null,
    anchoring: false,
  };
  const allowance: Allowance = { plan: 'free', limits };
  await commit(10, 10);
  const ticket = await ticketOf(first.reserve(account.id, writeRequestFor({ writes: 12, vectors: 12 }, allowance)));
  const need = { writes: 12, vectors: 10 };
  isHeld = true;
  const cutOff = rejectedError(first.reserve(account.id, writeRequestFor(need, allowance, ticket)));
  await read.promise;
  expect(await second.reserve(account.id, writeRequestFor(need, allowance, ticket))).toEqual({
    outcome: 'reserved',
    id: ticket,
  });
  // One of two shards has committed its part.
  await commit(6, 6);
  gate.resolve();
  expect((await cutOff).code).toBe('UNAVAILABLE');
  expect((await usage.readHolds(account.id)).holds).toEqual([expect.objectContaining({ id: ticket, vectors: 10 })]);
});
