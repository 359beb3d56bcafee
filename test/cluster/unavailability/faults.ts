import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterNode } from '../../support/cluster-node.ts';
import type { ClusterProcess } from '../../support/cluster-process.ts';
import type { TcpRelay } from '../../support/tcp-relay.ts';

/** Relays between a node and its servers. Both can be held. */
export interface Wires {
  redis: TcpRelay;
  mongo: TcpRelay;
}

interface Stage {
  cluster: ClusterProcess;
  /** A shard node that holds shards. */
  victim: ClusterNode;
  /** Network links of the victim; null without servers. */
  wires: Wires | null;
}

export interface Fault {
  name: string;
  /** Whether it needs Redis and MongoDB. */
  needsServers: boolean;
  /** Nodes that the fault strikes; default: the victim. */
  strikesAll?: boolean;
  /** Longest allowed unavailability of a struck shard, if it differs from the fault's duration. */
  awayMaxMs?: number;
  /** Whether every request must succeed. */
  isGraceful?: boolean;
  /** Causes the fault; resolves when it is over. */
  run(stage: Stage): Promise<void>;
}

/** Time until an unresponsive node has lost its shards and others have opened them. */
const TAKEN_OVER_MAX_MS = 15_000;

const on = (name: string, needsServers: boolean, run: Fault['run'], more: Partial<Fault> = {}): Fault => ({
  name,
  needsServers,
  run,
  ...more,
});

export const FAULTS: readonly Fault[] = [
  on('a node is killed, and started again', false, async ({ victim }) => {
    await victim.kill();
    await victim.start();
  }),
  on(
    'all shard nodes are killed, and started again',
    false,
    async ({ cluster }) => {
      await Promise.all(cluster.shardNodes.map((node) => node.kill()));
      await Promise.all(cluster.shardNodes.map((node) => node.start()));
    },
    { strikesAll: true },
  ),
  on('a node stands still for 4 s', false, ({ victim }) => halted(victim, 4_000)),
  on('a node stands still for 20 s', false, ({ victim }) => halted(victim, 20_000), { awayMaxMs: TAKEN_OVER_MAX_MS }),
  on(
    'a node is drained, stopped and started again',
    false,
    async ({ victim }) => {
      const { code } = await victim.stop();
      if (code !== 0) throw new Error(`${victim.id} ended with ${code}.`);
      await victim.start();
    },
    { isGraceful: true },
  ),
  on('a node is cut off from everything for 4 s', true, ({ wires }) => held([wires!.redis, wires!.mongo], 4_000)),
  on('a node is cut off from everything for 12 s', true, ({ wires }) => held([wires!.redis, wires!.mongo], 12_000)),
  on('a node is cut off from Redis for 4 s', true, ({ wires }) => held([wires!.redis], 4_000)),
  on('a node is cut off from Redis for 4 s, and what was on the way is lost', true, async ({ wires }) => {
    wires!.redis.hold();
    await delay(4_000);
    wires!.redis.drop();
    wires!.redis.release();
  }),
  on('a node is cut off from Redis for 30 s', true, ({ wires }) => held([wires!.redis], 30_000), {
    awayMaxMs: TAKEN_OVER_MAX_MS,
  }),
  on(
    'Redis stands still for 4 s',
    true,
    async ({ cluster }) => {
      cluster.backing.redis!.halt();
      await delay(4_000);
      cluster.backing.redis!.resume();
    },
    { strikesAll: true },
  ),
  on(
    'Redis is killed, and started after 2 s',
    true,
    async ({ cluster }) => {
      await cluster.backing.redis!.kill();
      await delay(2_000);
      await cluster.backing.redis!.restart();
    },
    { strikesAll: true },
  ),
  on(
    'MongoDB stands still for 12.5 s',
    true,
    async ({ cluster }) => {
      await cluster.backing.mongo!.freeze();
      await delay(12_500);
      cluster.backing.mongo!.thaw();
    },
    { strikesAll: true },
  ),
  on(
    'MongoDB is killed, and started after 5 s',
    true,
    async ({ cluster }) => {
      await cluster.backing.mongo!.kill();
      await delay(5_000);
      await cluster.backing.mongo!.restart();
    },
    { strikesAll: true },
  ),
];

async function halted(node: ClusterNode, forMs: number): Promise<void> {
  node.halt();
  await delay(forMs);
  node.resume();
}

async function held(wires: readonly TcpRelay[], forMs: number): Promise<void> {
  for (const wire of wires) wire.hold();
  await delay(forMs);
  for (const wire of wires) wire.release();
}
