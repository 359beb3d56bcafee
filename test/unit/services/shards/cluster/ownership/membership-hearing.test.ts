import { expect, test } from '@jest/globals';
import { elsewhere, Nodes, SHARD } from './membership-nodes.ts';

/** Three nodes that receive each other's heartbeats; the first holds a shard. */
async function hearing() {
  const nodes = new Nodes();
  const [a, b] = [await nodes.start('a', elsewhere()), await nodes.start('b', elsewhere())];
  await nodes.start('c', elsewhere());
  nodes.heartbeats();
  await nodes.over(a!.ownership.acquire(SHARD));
  await nodes.time.run(nodes.time.nowMs + 20_000);
  expect(a!.hasLease).toBe(true);
  return { nodes, a: a!, b: b! };
}

test('a node that calls do not reach gives up its shards within ten seconds, and takes a lease again once they do', async () => {
  const { nodes, a, b } = await hearing();
  nodes.unheard.add('a');
  const cutMs = nodes.time.nowMs;
  await nodes.time.run(cutMs + 5_000);
  expect(a.hasLease).toBe(true);
  await nodes.time.run(cutMs + 9_000);
  expect(a.hasLease).toBe(false);
  const claim = await nodes.over(b.ownership.acquire(SHARD), 1_000);
  expect(claim.epoch).toBe(2);
  await nodes.time.run(nodes.time.nowMs + 30_000);
  expect(a.hasLease).toBe(false);
  nodes.unheard.delete('a');
  await nodes.time.run(nodes.time.nowMs + 4_000);
  expect(a.hasLease).toBe(true);
});

test('the transport is down for all: no node gives up anything', async () => {
  const { nodes, a } = await hearing();
  for (const node of nodes.members.keys()) nodes.unheard.add(node);
  for (let second = 0; second < 60; second++) {
    await nodes.time.run(nodes.time.nowMs + 1_000);
    for (const [, member] of nodes.members) expect(member.hasLease).toBe(true);
  }
  nodes.unheard.clear();
  await nodes.time.run(nodes.time.nowMs + 10_000);
  for (const [, member] of nodes.members) expect(member.hasLease).toBe(true);
  expect(nodes.owners.get(SHARD)).toMatchObject({ epoch: 1, holder: { node: a.node } });
});

test.each([6, 8, 20])(
  'the transport is back after %i s, for one node two seconds later: it keeps its shards',
  async (seconds) => {
    // Whatever phase the node is in when it comes back.
    for (let phaseMs = 0; phaseMs < 4_000; phaseMs += 250) {
      const { nodes } = await hearing();
      const leases = [...nodes.leases.keys()];
      await nodes.time.run(nodes.time.nowMs + phaseMs);
      for (const node of nodes.members.keys()) nodes.unheard.add(node);
      await nodes.time.run(nodes.time.nowMs + seconds * 1_000);
      for (const node of ['b', 'c']) nodes.unheard.delete(node);
      await nodes.time.run(nodes.time.nowMs + 2_000);
      nodes.unheard.delete('a');
      await nodes.time.run(nodes.time.nowMs + 10_000);
      expect([...nodes.leases.keys()]).toEqual(leases);
    }
  },
);

test('the only node keeps its lease without receiving anything', async () => {
  const nodes = new Nodes();
  const only = await nodes.start('a', elsewhere());
  nodes.heardMs.set('a', nodes.time.nowMs);
  await nodes.time.run(nodes.time.nowMs + 60_000);
  expect(only.hasLease).toBe(true);
});
