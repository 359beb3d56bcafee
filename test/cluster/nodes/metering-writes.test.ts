import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { RoutedActions } from '../../../contracts/actions/metering.ts';
import type { ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { WriteAnswer } from '../../../services/metering/account-writes.ts';
import { StoreError } from '../../../store/port.ts';
import { commitTally, eventually, isPending, ManualClock, rejectedError } from '../../support/accounts.ts';
import { ControlCluster, type ControlNode, inOrderOf } from './control-cluster.ts';

const LIMITS = { vectors: 20, writes: 60 };
const PLANS = { free: LIMITS, pro: { vectors: 200, writes: 600 } };

let cluster: ControlCluster;
let clock: ManualClock;
/** In order of responsibility for the account: the first is in charge, the next ones take over. */
let nodes: ControlNode[];
let accountId: string;

beforeEach(async () => {
  clock = new ManualClock();
  cluster = await ControlCluster.open({ plans: PLANS, clock });
  const started = await cluster.start('a', 'b', 'c');
  accountId = (await started[0].call('keys.createAccount', { name: 'someone', plan: 'free' })).account.id;
  nodes = inOrderOf(accountId, started);
});
afterEach(() => cluster.end());

const reserve = (node: ControlNode, writes: number, vectors = writes, ticket?: string) =>
  node.call('metering.reserveWrite', { accountId, writes, vectors, ticket });
const settle = (node: ControlNode, id: string) => node.call('metering.settle', { accountId, id });
/** Runs the action on this node as if it were in charge. */
const here = (node: ControlNode, action: keyof RoutedActions, params: RoutedActions[typeof action]['params']) =>
  node.call('metering.forwarded', { action, params });
const reserveHere = (node: ControlNode, writes: number, vectors = writes, ticket?: string) =>
  here(node, 'metering.reserveWrite', {
    accountId,
    writes,
    vectors,
    ticket,
    id: ticket ?? randomUUID(),
  }) as Promise<WriteAnswer>;
const commit = (writes: number, vectors = 0) => commitTally(cluster.store, clock, accountId, writes, vectors);
const stored = () => cluster.store.usage.read(accountId, '2026-11');
const row = () => cluster.store.usage.readHolds(accountId);

async function idOf(promise: Promise<WriteAnswer>): Promise<string> {
  const answer = await promise;
  if (answer.outcome !== 'reserved' || answer.id === null)
    throw new Error(`not reserved but ${JSON.stringify(answer)}`);
  return answer.id;
}

/** Starts a request for quota, and resolves when it is waiting. */
async function waiting(ask: () => Promise<WriteAnswer>): Promise<{ answer: Promise<WriteAnswer> }> {
  const { read } = cluster.store.usage;
  let readings = 0;
  cluster.store.usage.read = async (...args) => {
    const found = await read.apply(cluster.store.usage, args);
    readings++;
    return found;
  };
  const answer = ask();
  answer.catch(() => undefined);
  await eventually(() => readings > 0);
  cluster.store.usage.read = read;
  return { answer };
}

/** Writers that follow the protocol; each call may go to another node. */
class Writers {
  readonly ids = new Set<string>();
  #calls = 0;

  get #node(): ControlNode {
    return nodes[this.#calls++ % nodes.length];
  }

  async upsert(ids: string[]): Promise<void> {
    let held: string | undefined;
    try {
      let answer = await reserve(this.#node, ids.length);
      while (answer.outcome === 'count') {
        held = answer.ticket;
        await new Promise((resolve) => setImmediate(resolve));
        const created = ids.filter((id) => !this.ids.has(id)).length;
        answer = await reserve(this.#node, ids.length, created, held);
      }
      held = answer.id ?? held;
      const created = ids.filter((id) => !this.ids.has(id));
      for (const id of created) this.ids.add(id);
      await commit(ids.length, created.length);
    } finally {
      if (held !== undefined) await settle(this.#node, held);
    }
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'written',
    (error: ProvecError) => error.code,
  );
}

test('writers at all nodes fill vectors, then writes, exactly to the limit', async () => {
  const writers = new Writers();
  const codes = await Promise.all(Array.from({ length: 48 }, (_, at) => codeOf(writers.upsert([`id${at}`]))));
  expect(codes.filter((code) => code === 'written')).toHaveLength(20);
  expect(codes.filter((code) => code === 'PLAN_LIMIT_REACHED')).toHaveLength(28);
  expect(await stored()).toMatchObject({ vectors: 20, writes: 20 });
  const there = [...writers.ids];
  const again = await Promise.all(Array.from({ length: 60 }, (_, at) => codeOf(writers.upsert([there[at % 20]]))));
  expect(again.filter((code) => code === 'written')).toHaveLength(40);
  expect(again.filter((code) => code === 'PLAN_LIMIT_REACHED')).toHaveLength(20);
  expect(await stored()).toMatchObject({ vectors: 20, writes: 60 });
  expect(await row()).toMatchObject({ holds: [], alone: null, line: [] });
});

test('a node killed under load loses only what it held', async () => {
  await nodes[0].call('keys.setPlan', { id: accountId, plan: 'pro' });
  clock.advance(501);
  const writers = new Writers();
  let sent = 0;
  let survivors = 0;
  const client = async (): Promise<void> => {
    for (;;) {
      const at = sent++;
      if (at === 100) void nodes[0].kill().then(() => nodes.shift());
      const code = await codeOf(writers.upsert([`id${at}`]));
      if (code === 'PLAN_LIMIT_REACHED') return;
      if (code === 'written') survivors++;
      const nowMs = clock.monotonicMs();
      if (code === 'UNAVAILABLE') await eventually(() => clock.monotonicMs() > nowMs);
      if (at > 400) return;
      expect((await stored()).vectors).toBeLessThanOrEqual(200);
    }
  };
  const clients = Promise.all(Array.from({ length: 12 }, client));
  const patience = setInterval(() => clock.advance(10_000), 500);
  await clients.finally(() => clearInterval(patience));
  expect(survivors).toBeGreaterThan(100);
  expect((await stored()).vectors).toBe(200);
});

test('writers at nodes that all believe they are in charge fill vectors and writes exactly', async () => {
  const write = async (node: ControlNode, vectors: number): Promise<void> => {
    let answer = await reserveHere(node, 1);
    if (answer.outcome === 'count') answer = await reserveHere(node, 1, vectors, answer.ticket);
    const id = await idOf(Promise.resolve(answer));
    await commit(1, vectors);
    await here(node, 'metering.settle', { accountId, id });
  };
  const all = (count: number, vectors: number) =>
    Promise.all(Array.from({ length: count }, (_, at) => codeOf(write(nodes[at % 3], vectors))));
  const created = await all(45, 1);
  expect(created.filter((code) => code === 'written')).toHaveLength(20);
  expect(created.filter((code) => code === 'PLAN_LIMIT_REACHED')).toHaveLength(25);
  const replaced = await all(60, 0);
  expect(replaced.filter((code) => code === 'written')).toHaveLength(40);
  expect(await stored()).toMatchObject({ vectors: 20, writes: 60 });
  expect(await row()).toMatchObject({ holds: [], alone: null, line: [] });
});

test('room held by a dead caller is freed after two minutes, and no request is told before that the plan is used up', async () => {
  await idOf(reserve(nodes[0], 20));
  await nodes[0].kill();
  const { answer } = await waiting(() => reserve(nodes[1], 1));
  clock.advance(5_000);
  expect(await rejectedError(answer)).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 115 });
  clock.advance(114_999);
  expect(await rejectedError(reserve(nodes[1], 1))).toMatchObject({ code: 'UNAVAILABLE', retryAfterSeconds: 1 });
  clock.advance(1);
  // The node that refused releases the reservation by itself: the client may go to another node.
  await eventually(async () => (await row()).holds.length === 0);
  await settle(nodes[2], await idOf(reserve(nodes[2], 20)));
  expect((await row()).holds).toEqual([]);
});

test('a renewal at any node keeps a reservation for all, and shows that its holder is alive', async () => {
  const held = await idOf(reserve(nodes[0], 20));
  const first = await waiting(() => reserve(nodes[1], 1));
  clock.advance(100_000);
  expect((await rejectedError(first.answer)).code).toBe('UNAVAILABLE');
  await nodes[2].call('metering.renew', { accountId, id: held });
  await eventually(async () => (await row()).holds[0].beat === 1);
  const second = await waiting(() => reserve(nodes[1], 1));
  clock.advance(INTERNAL_LIMITS.writeHolderRenewMs);
  await nodes[0].call('metering.renew', { accountId, id: held });
  await eventually(async () => (await row()).holds[0].beat === 2);
  clock.advance(INTERNAL_LIMITS.writeHoldOrphanedAfterMs - 1);
  await settle(nodes[2], held);
  await idOf(second.answer);
});

test('a node that paused between reading and reserving grants nothing based on what it read', async () => {
  const { replaceHolds } = cluster.store.usage;
  const gate = Promise.withResolvers<void>();
  let paused = false;
  cluster.store.usage.replaceHolds = async (...args) => {
    if (!paused) {
      paused = true;
      await gate.promise;
    }
    return replaceHolds.apply(cluster.store.usage, args);
  };
  const late = reserve(nodes[0], 15);
  await eventually(() => paused);
  const held = await idOf(reserveHere(nodes[1], 15));
  gate.resolve();
  expect(await isPending(late)).toBe(true);
  await commit(15, 15);
  await settle(nodes[1], held);
  // Its 15 records no longer fit, unless some of them exist already.
  expect((await late).outcome).toBe('count');
});

test('a ticket, its count and its end may each reach another node, and no other write gets in between', async () => {
  await commit(15, 15);
  const answer = await reserve(nodes[0], 10);
  if (answer.outcome !== 'count') throw new Error('there was room');
  const others: Promise<WriteAnswer>[] = [];
  for (const node of nodes) others.push((await waiting(() => reserve(node, 1, 0))).answer);
  expect(await isPending(Promise.race(others))).toBe(true);
  expect(await idOf(reserve(nodes[1], 10, 5, answer.ticket))).toBe(answer.ticket);
  expect((await rejectedError(reserve(nodes[2], 10, 5, answer.ticket))).code).toBe('UNAVAILABLE');
  expect(await isPending(Promise.race(others))).toBe(true);
  await commit(10, 5);
  await settle(nodes[2], answer.ticket);
  for (const [at, other] of others.entries()) await settle(nodes[at], await idOf(other));
});

test('after an unknown outcome the room is reserved once, not twice', async () => {
  const { replaceHolds } = cluster.store.usage;
  let unknown = 0;
  cluster.store.usage.replaceHolds = async (...args) => {
    const replaced = await replaceHolds.apply(cluster.store.usage, args);
    if (unknown++ % 2 === 0) throw new StoreError('unknown', 'No answer came.');
    return replaced;
  };
  const held = await idOf(reserve(nodes[0], 15));
  expect((await row()).holds).toEqual([expect.objectContaining({ id: held, writes: 15 })]);
  await commit(15, 15);
  await settle(nodes[1], held);
  const answer = await reserve(nodes[1], 10);
  if (answer.outcome !== 'count') throw new Error('there was room');
  expect(await idOf(reserve(nodes[2], 10, 5, answer.ticket))).toBe(answer.ticket);
  await settle(nodes[0], answer.ticket);
  expect((await row()).holds).toEqual([]);
});

test('small requests at one node do not overtake a large one that waits at another', async () => {
  const held = await idOf(reserve(nodes[0], 15));
  const large = await waiting(() => reserve(nodes[1], 10));
  const small = await waiting(() => reserve(nodes[2], 1));
  expect(await isPending(Promise.race([large.answer, small.answer]))).toBe(true);
  await settle(nodes[0], held);
  await idOf(large.answer);
  await idOf(small.answer);
});

test('a request that waits at a killed node waits at the next one, and gets its room once', async () => {
  const held = await idOf(reserve(nodes[1], 15));
  const { answer } = await waiting(() => reserve(nodes[2], 10));
  await nodes[0].kill();
  await settle(nodes[1], held);
  const id = await idOf(answer);
  expect((await row()).holds).toEqual([expect.objectContaining({ id, writes: 10 })]);
  await settle(nodes[2], id);
  expect((await row()).holds).toEqual([]);
});

test('no request waits because of a queue entry of an earlier version', async () => {
  const line = [{ instance: 'of a former version', beat: 3 }];
  await cluster.store.usage.replaceHolds(accountId, { revision: 1, holds: [], alone: null, line });
  await settle(nodes[1], await idOf(reserve(nodes[1], 15)));
  expect(await row()).toMatchObject({ holds: [], alone: null, line: [] });
});
