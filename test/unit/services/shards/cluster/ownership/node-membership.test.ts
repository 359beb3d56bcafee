import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, expect, test } from '@jest/globals';
import { ownIdentity, type ProcessIdentity } from '../../../../../../lib/host/process-identity.ts';
import {
  DEAD_AFTER_MS,
  RENEW_EVERY_MS,
  WATCH_EVERY_MS,
} from '../../../../../../services/shards/cluster/ownership/lease-terms.ts';
import type { NodeMembership } from '../../../../../../services/shards/cluster/ownership/node-membership.ts';
import { until } from '../../../../../support/until.ts';
import { elsewhere, Nodes, SHARD } from './membership-nodes.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function processHere(): Promise<{ child: ChildProcess; identity: ProcessIdentity }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  children.push(child);
  const { place } = await ownIdentity();
  return { child, identity: { pid: child.pid!, startedAt: null, place } };
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

/** Runs virtual time in steps, so that process checks on the real machine can finish in between. */
async function runWithMachine(nodes: Nodes, forMs: number): Promise<void> {
  const untilMs = nodes.time.nowMs + forMs;
  while (nodes.time.nowMs < untilMs) {
    await nodes.time.run(Math.min(untilMs, nodes.time.nowMs + 100));
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

test('a process on this machine that ended is found dead before its lease is over, and its shards are free', async () => {
  const nodes = new Nodes();
  const own = await ownIdentity();
  const { child, identity } = await processHere();
  const [a, b] = [nodes.start('a', own), nodes.start('b', identity)];
  await runWithMachine(nodes, 500);
  const [first, second] = [await a, await b];
  const taken = second.ownership.acquire(SHARD);
  await runWithMachine(nodes, 200);
  await taken;
  nodes.cut.add('b');
  await ended(child);
  const endedMs = nodes.time.nowMs;
  // In small steps: the machine responds in real time, and virtual time must not run ahead.
  await until('it is found', async () => {
    await runWithMachine(nodes, 10);
    return nodes.dead.length > 0;
  });
  expect(nodes.dead).toMatchObject([{ by: 'a', node: 'b' }]);
  expect(nodes.dead[0]!.at - endedMs).toBeLessThan(DEAD_AFTER_MS - RENEW_EVERY_MS);
  const claim = first.ownership.acquire(SHARD);
  await runWithMachine(nodes, 500);
  expect((await claim).epoch).toBe(2);
});

test('one that is cut off is found dead after 7.5 s, not before its own clock has ended its lease', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere(), 1.1);
  const second = await nodes.start('b', elsewhere(), 0.9);
  const claim = await nodes.over(second.ownership.acquire(SHARD));
  nodes.cut.add('b');
  const cutMs = nodes.time.nowMs;
  let servedUntilMs = 0;
  for (let step = 0; step < 1_000 && nodes.dead.length === 0; step++) {
    await nodes.time.run(nodes.time.nowMs + 10);
    if (second.ownership.holds(claim)) servedUntilMs = nodes.time.nowMs;
  }
  expect(nodes.dead).toMatchObject([{ by: 'a', node: 'b' }]);
  expect(nodes.dead[0]!.at).toBeGreaterThan(servedUntilMs);
  expect(nodes.dead[0]!.at - cutMs).toBeLessThan(DEAD_AFTER_MS + RENEW_EVERY_MS + WATCH_EVERY_MS);
  expect((await nodes.over(first.ownership.acquire(SHARD))).epoch).toBe(2);
});

test('with many nodes a few leases are read each second, and all of them rarely', async () => {
  const nodes = new Nodes();
  const count = 60;
  for (let at = 0; at < count; at++) await nodes.start(`n${at}`, elsewhere());
  await nodes.time.run(nodes.time.nowMs + 10_000);
  nodes.lists = 0;
  nodes.gets = [];
  await nodes.time.run(nodes.time.nowMs + 30_000);
  expect(nodes.lists).toBeGreaterThanOrEqual(count * 9);
  expect(nodes.lists).toBeLessThanOrEqual(count * 13);
  expect(Math.max(...nodes.gets.map((asked) => asked.length))).toBe(3);
  // Each of them has a watcher.
  for (const cut of ['n7', 'n31']) nodes.cut.add(cut);
  await nodes.time.run(nodes.time.nowMs + DEAD_AFTER_MS + RENEW_EVERY_MS + 2 * WATCH_EVERY_MS);
  expect(new Set(nodes.dead.map(({ node }) => node))).toEqual(new Set(['n7', 'n31']));
  // Eventually all of them have expired.
  await nodes.time.run(nodes.time.nowMs + 5_000);
  for (const [name, member] of nodes.members)
    if (!nodes.cut.has(name)) expect(member.eligibleNodes()).toHaveLength(count - 2);
});

test('all that wait for one holder share one read of its lease', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere());
  const second = await nodes.start('b', elsewhere());
  for (let at = 0; at < 50; at++) await nodes.over(second.ownership.acquire(`c.${at}`), 50);
  await nodes.time.run(nodes.time.nowMs + 1_000);
  nodes.gets = [];
  nodes.lists = 0;
  const asks = Array.from({ length: 50 }, (_, at) => first.ownership.acquire(`c.${at}`));
  for (const ask of asks) ask.catch(() => undefined);
  await nodes.time.run(nodes.time.nowMs + 50);
  for (const ask of asks) await expect(ask).rejects.toMatchObject({ node: 'b' });
  expect(nodes.gets.length + nodes.lists).toBeLessThanOrEqual(3);
});

test('while the store is down no node is judged, and afterwards no renewing node is dead', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere());
  const second = await nodes.start('b', elsewhere());
  await nodes.over(second.ownership.acquire(SHARD));
  nodes.isDown = true;
  await nodes.time.run(nodes.time.nowMs + 60_000);
  expect(nodes.dead).toEqual([]);
  nodes.isDown = false;
  await nodes.time.run(nodes.time.nowMs + 3_000);
  // Both started again, and their previous shards are free.
  expect(nodes.dead).toEqual([]);
  expect(first.eligibleNodes().sort()).toEqual(['a', 'b']);
  await nodes.time.run(nodes.time.nowMs + 10_000);
  expect(nodes.dead).toEqual([]);
  expect((await nodes.over(first.ownership.acquire(SHARD))).epoch).toBe(2);
});

test('shards held when the store went down are free as soon as it is back, whatever late renewals it carries out', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere());
  const second = await nodes.start('b', elsewhere());
  const { incarnation } = await nodes.over(second.ownership.acquire(SHARD));
  nodes.isDown = true;
  await nodes.time.run(nodes.time.nowMs + 10_000);
  const row = nodes.leases.get(incarnation)!;
  nodes.leases.set(incarnation, { ...row, beat: row.beat + 1 });
  nodes.isDown = false;
  await nodes.time.run(nodes.time.nowMs + 1_000);
  expect((await nodes.over(first.ownership.acquire(SHARD))).epoch).toBe(2);
});

test('callers of a node that is taking its lease wait for it, for at most a second', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere());
  nodes.isDown = true;
  await nodes.time.run(nodes.time.nowMs + 10_000);
  expect(first.hasLease).toBe(false);
  nodes.isDown = false;
  nodes.answersFromMs = nodes.time.nowMs + 60_000;
  await nodes.time.run(nodes.time.nowMs + 1_000);
  await expect(nodes.over(first.ownership.acquire(SHARD), 1_100)).rejects.toMatchObject({ node: null });
  await nodes.time.run(nodes.answersFromMs - 500);
  expect((await nodes.over(first.ownership.acquire(SHARD))).epoch).toBe(1);
});

test('a lease renewed since it was read is not ended', async () => {
  const nodes = new Nodes();
  await nodes.start('a', elsewhere());
  await nodes.start('b', elsewhere());
  nodes.cut.add('b');
  let ends = 0;
  nodes.beforeEnd = (row) => {
    ends++;
    nodes.leases.set(row.incarnation, { ...row, beat: row.beat + 1 });
  };
  await nodes.time.run(nodes.time.nowMs + 30_000);
  expect(ends).toBeGreaterThan(1);
  expect(nodes.dead).toEqual([]);
  nodes.beforeEnd = () => undefined;
  await nodes.time.run(nodes.time.nowMs + 10_000);
  expect(nodes.dead).toMatchObject([{ by: 'a', node: 'b' }]);
});

test('placement goes by memory, and leaves out nodes that leave', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere());
  const large = await nodes.start('large', elsewhere());
  await nodes.time.run(nodes.time.nowMs + 3_000);
  const share = (member: NodeMembership): number => {
    const shards = Array.from({ length: 2_000 }, (_, at) => `c.${at}`);
    return shards.filter((shard) => member.placement.preferred(shard) === 'large').length / shards.length;
  };
  expect(share(first)).toBeGreaterThan(0.75);
  expect(share(first)).toBeLessThan(0.85);
  expect(share(large)).toBe(share(first));
  await nodes.over(large.drain());
  expect(first.eligibleNodes()).toEqual(['a']);
  expect(large.eligibleNodes()).toEqual(['a']);
});

test('an unloaded shard is left to another node, which alone may claim it while it lives', async () => {
  const nodes = new Nodes();
  const [first, heir, third] = [
    await nodes.start('a', elsewhere()),
    await nodes.start('b', elsewhere()),
    await nodes.start('c', elsewhere()),
  ];
  first.ownership.markUnloaded(await nodes.over(first.ownership.acquire(SHARD)), 1_000);
  expect(first.ownership.unloadedShards()).toEqual([{ shard: SHARD, bytes: 1_000 }]);
  const { node, incarnation } = first.live().find((row) => row.node === 'b')!;
  await nodes.over(first.ownership.releaseUnloaded(SHARD, { node, incarnation }));
  expect(first.ownership.unloadedShards()).toEqual([]);
  await expect(nodes.over(third.ownership.acquire(SHARD))).rejects.toMatchObject({ node: 'b' });
  expect((await nodes.over(heir.ownership.acquire(SHARD))).epoch).toBe(2);
});

test('a node that leaves returns shards requested there, and those that were left to it', async () => {
  const nodes = new Nodes();
  const [first, heir] = [await nodes.start('a', elsewhere()), await nodes.start('b', elsewhere())];
  first.ownership.markUnloaded(await nodes.over(first.ownership.acquire(SHARD)), 1_000);
  const { node, incarnation } = first.live().find((row) => row.node === 'b')!;
  await nodes.over(first.ownership.releaseUnloaded(SHARD, { node, incarnation }));
  await nodes.over(heir.drain());
  await expect(nodes.over(heir.ownership.acquire(SHARD))).rejects.toMatchObject({ node: null });
  expect(nodes.owners.get(SHARD)).toMatchObject({ epoch: 1, holder: null });
  const claim = await nodes.over(first.ownership.acquire(SHARD));
  first.ownership.markUnloaded(claim, 1_000);
  await nodes.over(first.drain());
  await expect(nodes.over(first.ownership.acquire(SHARD))).rejects.toMatchObject({ node: null });
  expect(nodes.owners.get(SHARD)).toMatchObject({ epoch: 2, holder: null });
});

test('a node that leaves already knows which nodes joined a moment ago', async () => {
  const nodes = new Nodes();
  const first = await nodes.start('a', elsewhere());
  await nodes.time.run(nodes.time.nowMs + 5_000);
  const started = nodes.start('b', elsewhere());
  await nodes.time.run(nodes.time.nowMs + 50);
  await started;
  await nodes.over(first.drain(), 50);
  expect(first.eligibleNodes()).toEqual(['b']);
});

test('a frozen store gives every node a lease as soon as it continues, and leaves none behind', async () => {
  const nodes = new Nodes();
  const members = [await nodes.start('a', elsewhere()), await nodes.start('b', elsewhere())];
  await nodes.time.run(nodes.time.nowMs + 5_000);
  nodes.answersFromMs = nodes.time.nowMs + 12_500;
  await nodes.time.run(nodes.answersFromMs);
  expect(members.map(({ hasLease }) => hasLease)).toEqual([false, false]);
  await nodes.time.run(nodes.answersFromMs + 100);
  expect(members.map(({ hasLease }) => hasLease)).toEqual([true, true]);
  await nodes.time.run(nodes.answersFromMs + 20_000);
  expect(members.map(({ hasLease }) => hasLease)).toEqual([true, true]);
  expect(nodes.leases.size).toBe(2);
});
