import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ProvecError } from '../../../lib/errors.ts';
import { eventually, ManualClock } from '../../support/accounts.ts';
import { ControlCluster, type ControlNode, inOrderOf } from './control-cluster.ts';

const LIMIT = 500;
const PLANS = {
  free: { queries: LIMIT },
  pro: { queries: 2 * LIMIT },
  business: { queries: 1_000_000 },
  enterprise: { queries: -1 },
};

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

const take = (node: ControlNode) => node.call('metering.takeQuery', { accountId });
const report = (node: ControlNode) => node.call('metering.usage', { accountId });
const used = async (node: ControlNode) => (await report(node)).usage.query_count;
const inStore = (month = '2026-11') => cluster.store.usage.readQueries(accountId, month);

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'taken',
    (error: ProvecError) => error.code,
  );
}

/** Takes a query on this node as if it were in charge. */
const takeHere = (node: ControlNode) =>
  node.call('metering.forwarded', { action: 'metering.takeQuery', params: { accountId } });

async function untilRefusedHere(node: ControlNode): Promise<number> {
  let taken = 0;
  for (;;) {
    const code = await codeOf(takeHere(node));
    if (code === 'PLAN_LIMIT_REACHED') return taken;
    expect(code).toBe('taken');
    taken++;
  }
}

async function takeMany(node: ControlNode, count: number): Promise<number> {
  const codes = await Promise.all(Array.from({ length: count }, () => codeOf(take(node))));
  expect(codes.filter((code) => code !== 'taken' && code !== 'PLAN_LIMIT_REACHED')).toEqual([]);
  return codes.filter((code) => code === 'taken').length;
}

/**
 * Eight clients of each node take queries until they are refused. After a node was killed, some are
 * told to try again.
 */
async function untilRefused(...at: ControlNode[]): Promise<number> {
  let taken = 0;
  const client = async (node: ControlNode): Promise<void> => {
    for (;;) {
      const code = await codeOf(take(node));
      if (code === 'PLAN_LIMIT_REACHED') return;
      if (code === 'UNAVAILABLE' && at.length < nodes.length) continue;
      expect(code).toBe('taken');
      taken++;
    }
  };
  await Promise.all(at.flatMap((node) => Array.from({ length: 8 }, () => client(node))));
  return taken;
}

test('nodes under load together accept exactly as many queries as the plan allows, and refuse none before', async () => {
  expect(await untilRefused(...nodes)).toBe(LIMIT);
  expect(await inStore()).toEqual({ queries: LIMIT, blocks: [] });
  for (const node of nodes) {
    expect(await used(node)).toBe(LIMIT);
    expect(await codeOf(take(node))).toBe('PLAN_LIMIT_REACHED');
  }
  await nodes[0].call('metering.giveBackQuery', { accountId, month: '2026-11' });
  expect(await codeOf(take(nodes[2]))).toBe('taken');
  expect(await codeOf(take(nodes[1]))).toBe('PLAN_LIMIT_REACHED');
});

test('one node holds a block for all, and the unused part does not count as usage', async () => {
  expect(await takeMany(nodes[2], 30)).toBe(30);
  const { queries, blocks } = await inStore();
  expect(queries).toBeGreaterThan(30);
  expect(blocks).toEqual([expect.objectContaining({ node: nodes[0].id })]);
  expect(await used(nodes[1])).toBe(30);
  expect(await takeMany(nodes[0], 31)).toBe(31);
  expect((await inStore()).queries).toBeGreaterThan(61);
  expect(await untilRefused(nodes[1])).toBe(LIMIT - 61);
  expect(await codeOf(take(nodes[0]))).toBe('PLAN_LIMIT_REACHED');
  expect(await used(nodes[2])).toBe(LIMIT);
});

test('a node cut off from the others but not from the store: none is refused early, and the limit is kept', async () => {
  await takeMany(nodes[0], 30);
  const [{ granted }] = (await inStore()).blocks;
  const unused = (await inStore()).queries - 30;
  expect(unused).toBeGreaterThan(0);
  expect(granted).toBeGreaterThan(unused);
  nodes[0].isCut = true;
  let taken = 0;
  let code = await codeOf(take(nodes[1]));
  for (; code === 'taken'; code = await codeOf(take(nodes[1]))) taken++;
  // The other nodes cannot know yet whether the block is used.
  expect(code).toBe('UNAVAILABLE');
  expect(taken).toBe(LIMIT - 30 - unused);
  // An idle block is returned without a request.
  clock.advance(2_000);
  await eventually(async () => (await inStore()).blocks.length === 0);
  nodes[0].isCut = false;
  expect(await untilRefused(nodes[1], nodes[2])).toBe(unused);
  expect(await used(nodes[1])).toBe(LIMIT);
});

test.each([1, 2])(
  "a node that believes it took over takes back the other's block before it refuses (%s)",
  async (at) => {
    await takeMany(nodes[0], 30);
    const unused = (await inStore()).queries - 30;
    expect(unused).toBeGreaterThan(0);
    expect(await untilRefusedHere(nodes[at])).toBe(LIMIT - 30);
    expect(await inStore()).toEqual({ queries: LIMIT, blocks: [] });
    expect(await codeOf(take(nodes[0]))).toBe('PLAN_LIMIT_REACHED');
  },
);

test('nodes that all believe they are in charge accept exactly as many queries as the plan allows', async () => {
  const taken = await Promise.all(nodes.map((node) => untilRefusedHere(node)));
  expect(taken.reduce((sum, count) => sum + count)).toBe(LIMIT);
  expect(await inStore()).toEqual({ queries: LIMIT, blocks: [] });
  expect(await report(nodes[1])).toMatchObject({ usage: { query_count: LIMIT }, query_count_uncertainty: 0 });
});

test('a report takes back the block of a node that is not in charge, so that the report is exact', async () => {
  for (let i = 0; i < 5; i++) await takeHere(nodes[1]);
  await takeMany(nodes[0], 5);
  expect((await inStore()).blocks).toHaveLength(2);
  expect(await report(nodes[2])).toMatchObject({ usage: { query_count: 10 }, query_count_uncertainty: 0 });
});

test('a node that is no longer in charge returns its block at once', async () => {
  const [first, next, last] = nodes;
  await first.stop();
  await takeMany(last, 30);
  expect((await inStore()).blocks).toEqual([expect.objectContaining({ node: next.id })]);
  await cluster.start(first.id);
  // The clock stands still, so the block is not returned for being idle.
  await eventually(async () => (await inStore()).blocks.length === 0);
  expect((await inStore()).queries).toBe(30);
});

test('a killed node costs at most what it held, and the next one takes charge', async () => {
  const before = await takeMany(nodes[1], 30);
  const [{ granted }] = (await inStore()).blocks;
  const unused = (await inStore()).queries - before;
  expect(unused).toBeGreaterThan(0);
  expect(unused).toBeLessThanOrEqual(granted);
  await nodes[0].kill();
  let taken = 0;
  let code = await codeOf(take(nodes[2]));
  for (; code === 'taken'; code = await codeOf(take(nodes[2]))) taken++;
  // No node can know yet whether the block's owner comes back.
  expect(code).toBe('UNAVAILABLE');
  expect(taken).toBe(LIMIT - before - unused);
  clock.advance(10_000);
  expect(await codeOf(take(nodes[2]))).toBe('PLAN_LIMIT_REACHED');
  expect(await inStore()).toEqual({ queries: LIMIT, blocks: [] });
  // A failed query makes room for exactly one.
  await nodes[2].call('metering.giveBackQuery', { accountId, month: '2026-11' });
  expect(await untilRefused(nodes[1], nodes[2])).toBe(1);
});

test('a node is killed under load: usage is exactly the limit, whichever node counted', async () => {
  let taken = 0;
  const client = async (node: ControlNode): Promise<void> => {
    for (;;) {
      const code = await codeOf(take(node));
      if (code !== 'taken') return;
      taken++;
      if (taken === LIMIT / 2) void nodes[0].kill();
    }
  };
  await Promise.all(nodes.flatMap((node) => Array.from({ length: 8 }, () => client(node))));
  const { blocks } = await inStore();
  const held = blocks.filter(({ node }) => node === nodes[0].id).reduce((sum, { granted }) => sum + granted, 0);
  // A block counts as used when its owner has been gone for a long time.
  const patience = setInterval(() => clock.advance(1_000), 50);
  taken += await untilRefused(...nodes.slice(1)).finally(() => clearInterval(patience));
  expect(await inStore()).toEqual({ queries: LIMIT, blocks: [] });
  expect(taken).toBeLessThanOrEqual(LIMIT);
  // Includes queries that the dead node had counted but not answered.
  expect(taken).toBeGreaterThanOrEqual(LIMIT - held - 24);
});

test('a block that no node can return counts as used after ten seconds, and the refusal says so', async () => {
  await cluster.store.usage.openBlock(accountId, '2026-11', { id: crypto.randomUUID(), node: 'gone' }, 20, LIMIT);
  expect(await takeMany(nodes[0], LIMIT - 20)).toBe(LIMIT - 20);
  expect(await codeOf(take(nodes[0]))).toBe('UNAVAILABLE');
  clock.advance(9_999);
  expect(await codeOf(take(nodes[0]))).toBe('UNAVAILABLE');
  clock.advance(1);
  expect(await codeOf(take(nodes[0]))).toBe('PLAN_LIMIT_REACHED');
});

test('a node that cannot reach the store is skipped, and what it failed to count costs nothing', async () => {
  await takeMany(nodes[0], 5);
  clock.advance(2_000);
  await eventually(async () => (await inStore()).blocks.length === 0);
  nodes[0].reach = 'none';
  expect(await takeMany(nodes[1], 20)).toBe(20);
  expect((await inStore()).blocks).toEqual([expect.objectContaining({ node: nodes[1].id })]);
  expect(await used(nodes[2])).toBe(25);
  nodes[0].reach = 'good';
  clock.advance(5_000);
  expect(await takeMany(nodes[1], 20)).toBe(20);
  await eventually(async () => (await inStore()).blocks.every(({ node }) => node === nodes[0].id));
  expect(await used(nodes[1])).toBe(45);
});

test('a query that the node in charge answered too late, and that was repeated, counts once', async () => {
  const { openBlock } = cluster.store.usage;
  const gate = Promise.withResolvers<void>();
  cluster.store.usage.openBlock = async (...args) => {
    cluster.store.usage.openBlock = openBlock;
    const granted = await openBlock.apply(cluster.store.usage, args);
    nodes[0].isCut = true;
    await gate.promise;
    return granted;
  };
  await take(nodes[1]);
  nodes[0].isCut = false;
  gate.resolve();
  await eventually(async () => (await used(nodes[1])) === 1);
  clock.advance(2_000);
  await eventually(async () => (await inStore()).blocks.length === 0);
  expect((await inStore()).queries).toBe(1);
});

test('a failed query costs nothing, whichever node returns it', async () => {
  await takeMany(nodes[0], 30);
  for (const node of nodes) await node.call('metering.giveBackQuery', { accountId, month: '2026-11' });
  expect(await report(nodes[1])).toMatchObject({ usage: { query_count: 27 }, query_count_uncertainty: 0 });
  expect(await untilRefused(...nodes)).toBe(LIMIT - 27);
});

test('the month changes on all nodes at once', async () => {
  clock.setWall('2026-12-31T23:59:59.999Z');
  const taken = await Promise.all(nodes.map((node) => takeMany(node, 20)));
  expect(taken).toEqual([20, 20, 20]);
  clock.setWall('2027-01-01T00:00:00.000Z');
  for (const node of nodes) expect(await used(node)).toBe(0);
  expect(await untilRefused(...nodes)).toBe(LIMIT);
  await eventually(async () => (await inStore('2026-12')).blocks.length === 0);
  expect((await inStore('2026-12')).queries).toBe(60);
  expect(await inStore('2027-01')).toEqual({ queries: LIMIT, blocks: [] });
});

test('a change of plan applies within half a second on nodes that receive no event', async () => {
  await untilRefused(...nodes);
  await nodes[1].call('keys.plan', { accountId });
  nodes[1].isCut = true;
  await nodes[0].call('keys.setPlan', { id: accountId, plan: 'pro' });
  expect(await codeOf(take(nodes[1]))).toBe('PLAN_LIMIT_REACHED');
  clock.advance(501);
  expect(await takeMany(nodes[1], 10)).toBe(10);
  await nodes[0].call('keys.setPlan', { id: accountId, plan: 'free' });
  clock.advance(501);
  expect(await codeOf(take(nodes[1]))).toBe('PLAN_LIMIT_REACHED');
});

test.each(['business', 'enterprise'] as const)(
  'a report on %s counts every query answered before it, and none begun after it, whatever blocks others hold',
  async (plan) => {
    await nodes[0].call('keys.setPlan', { id: accountId, plan });
    clock.advance(501);
    let begun = 0;
    let answered = 0;
    let last = 0;
    const client = async (node: ControlNode): Promise<void> => {
      while (answered < 3_000) {
        begun++;
        await take(node);
        answered++;
      }
    };
    const clients = Promise.all(nodes.flatMap((node) => [client(node), client(node)]));
    for (let reading = 0; answered < 3_000; reading++) {
      const before = answered;
      const { usage, query_count_uncertainty } = await report(nodes[reading % 3]);
      expect(usage.query_count).toBeGreaterThanOrEqual(Math.max(before, last));
      expect(usage.query_count).toBeLessThanOrEqual(begun);
      expect(query_count_uncertainty).toBe(0);
      last = usage.query_count;
    }
    await clients;
    for (const node of nodes) expect(await used(node)).toBe(begun);
  },
);

test('the block of an unreachable node counts as used, and the report says how much that is', async () => {
  await takeMany(nodes[0], 30);
  const [{ granted }] = (await inStore()).blocks;
  const unused = (await inStore()).queries - 30;
  expect(await report(nodes[1])).toMatchObject({ usage: { query_count: 30 }, query_count_uncertainty: 0 });
  nodes[0].isCut = true;
  const { usage, query_count_uncertainty } = await report(nodes[1]);
  expect(query_count_uncertainty).toBe(granted);
  expect(usage.query_count).toBe(30 + unused);
  expect(usage.query_count - granted).toBeLessThanOrEqual(30);
  // An idle block is returned without a request.
  clock.advance(2_000);
  await eventually(async () => (await inStore()).blocks.length === 0);
  expect(await report(nodes[1])).toMatchObject({ usage: { query_count: 30 }, query_count_uncertainty: 0 });
});

test("a dead process's block does not count as unused because a new process with its name does not know it", async () => {
  await cluster.store.usage.openBlock(accountId, '2026-11', { id: crypto.randomUUID(), node: 'a' }, 20, LIMIT);
  for (const node of nodes)
    expect(await report(node)).toMatchObject({ usage: { query_count: 20 }, query_count_uncertainty: 20 });
});

test('without a limit, the report has every query of every node at once', async () => {
  await nodes[0].call('keys.setPlan', { id: accountId, plan: 'enterprise' });
  clock.advance(501);
  for (const node of nodes) await takeMany(node, 7);
  for (const node of nodes) expect(await used(node)).toBe(21);
});

test('what a dead node counted without a limit is in every report, and the rest of its block is uncertain', async () => {
  await nodes[0].call('keys.setPlan', { id: accountId, plan: 'enterprise' });
  clock.advance(501);
  await takeMany(nodes[1], 107);
  const [{ granted }] = (await inStore()).blocks;
  await nodes[1].kill();
  for (const node of [nodes[0], nodes[2]]) {
    const { usage, query_count_uncertainty } = await report(node);
    expect(query_count_uncertainty).toBe(granted);
    expect(usage.query_count).toBeGreaterThanOrEqual(107);
    expect(usage.query_count - query_count_uncertainty).toBeLessThanOrEqual(107);
  }
});
