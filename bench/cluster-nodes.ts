/**
 * A cluster of real processes, laid out as on Kubernetes (one gateway, one control node, shard
 * nodes); a single process with every service to compare it with; and a node that only calls
 * actions, as the REPL does.
 */
import { join } from 'node:path';
import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { call } from '../contracts/actions/call.ts';
import type { ShardStats } from '../contracts/actions/shards.ts';
import { transportKeys } from '../lib/secret/keyring.ts';
import type { ShardKey } from '../lib/shard/key.ts';
import { Metrics } from '../mixins/metrics.ts';
import { brokerOptions } from '../moleculer.config.ts';
import { readConfig } from '../process/config.ts';
import type { ServiceName } from '../process/service-names.ts';
import type { BackingServices } from '../test/support/backing-services.ts';
import { ClusterNode } from '../test/support/cluster-node.ts';
import { until } from '../test/support/until.ts';
import type { Target } from './http-request.ts';

export const MEMORY_LIMIT_MIB = 1024;
const KEY = 'pv_live_bench-of-the-cluster-bench-of-the-cluster';
const GATEWAY: readonly ServiceName[] = ['gateway', 'collections', 'keys'];
const CONTROL: readonly ServiceName[] = ['keys', 'metering', 'anchoring', 'verification'];
const ALL: readonly ServiceName[] = [...new Set([...GATEWAY, ...CONTROL, 'shards' as const])];

/**
 * Settings of every node: one worker thread, no ledger, and gateway queues large enough not to
 * delay the measured requests.
 */
const SETTINGS = {
  PROVEC_PORT: '0',
  PROVEC_BOOTSTRAP_KEY: KEY,
  PROVEC_LEDGER: 'off',
  PROVEC_WORKERS: '1',
  PROVEC_MEMORY_LIMIT_MB: String(MEMORY_LIMIT_MIB),
  PROVEC_DISK_RESERVE_MB: '16',
  PROVEC_QUERY_CONCURRENCY: '1024',
  PROVEC_LOG_LEVEL: 'error',
};

export function targetOf(node: ClusterNode): Target {
  return { url: node.url!, key: KEY };
}

/** Starts a node with every service, on its own data folder inside that of the cluster. */
export async function startAlone(backing: BackingServices): Promise<ClusterNode> {
  const environment = { ...SETTINGS, PROVEC_DATA_DIR: join(backing.dataDir, 'alone') };
  const node = new ClusterNode({ id: 'alone', services: ALL, environment });
  await node.start();
  return node;
}

export class BenchCluster {
  readonly gateway: ClusterNode;
  readonly control: ClusterNode;
  readonly shardNodes: ClusterNode[];
  readonly #backing: BackingServices;
  readonly #broker: ServiceBroker;

  private constructor(backing: BackingServices, shardNodes: number) {
    const environment = { ...SETTINGS, ...backing.environment };
    const node = (id: string, services: readonly ServiceName[]) => new ClusterNode({ id, services, environment });
    this.#backing = backing;
    this.gateway = node('gateway', GATEWAY);
    this.control = node('control', CONTROL);
    this.shardNodes = Array.from({ length: shardNodes }, (_, number) => node(`shards-${number}`, ['shards']));
    const config = readConfig({ ...environment, PROVEC_NODE_ID: 'bench' });
    const keys = transportKeys(config.secret!);
    this.#broker = new ServiceBroker(
      brokerOptions({ config, log: pino({ level: 'silent' }), metrics: new Metrics(), transportKeys: keys }),
    );
  }

  /** Resolves when the gateway is ready and every shard node can be called. */
  static async start(backing: BackingServices, shardNodes: number): Promise<BenchCluster> {
    const cluster = new BenchCluster(backing, shardNodes);
    try {
      // One node alone must create the first account of an empty store.
      await cluster.control.start();
      await Promise.all([cluster.gateway, ...cluster.shardNodes].map((node) => node.start()));
      await cluster.#broker.start();
      await until('the gateway is ready', async () => (await fetch(`${cluster.gateway.url}/readyz`)).ok);
      await cluster.everyNodeIsThere();
      return cluster;
    } catch (error) {
      for (const node of cluster.#nodes) process.stderr.write(node.log);
      await cluster.dispose();
      throw error;
    }
  }

  get target(): Target {
    return targetOf(this.gateway);
  }

  node(id: string): ClusterNode {
    return this.shardNodes.find((node) => node.id === id)!;
  }

  async everyNodeIsThere(): Promise<void> {
    for (const { id } of this.shardNodes)
      await until(`${id} answers`, () =>
        this.statsOf(id).then(
          () => true,
          () => false,
        ),
      );
  }

  statsOf(nodeID: string): Promise<ShardStats> {
    return call(this.#broker, 'shards.stats', {}, { nodeID, timeout: 5_000 });
  }

  /** The node that has each shard open. */
  async holders(): Promise<Map<ShardKey, string>> {
    const holders = new Map<ShardKey, string>();
    for (const { id } of this.shardNodes) {
      const held = await call(this.#broker, 'shards.held', {}, { nodeID: id, timeout: 5_000 });
      for (const { shard } of held) holders.set(shard, id);
    }
    return holders;
  }

  /** Whether every shard of a collection has a copy with the same seq as its holder. */
  async isCopied(collectionId: string): Promise<boolean> {
    for (const { id } of this.shardNodes) {
      const held = await call(this.#broker, 'shards.held', {}, { nodeID: id, timeout: 5_000 });
      const own = held.filter(({ shard }) => shard.startsWith(collectionId));
      if (!own.every(({ seq, followers }) => followers.some((follower) => follower.seq === seq))) return false;
    }
    return true;
  }

  /** Moves a shard to another node; resolves when it is open there. */
  async move(key: ShardKey, from: string, node: string): Promise<void> {
    await call(this.#broker, 'shards.move', { key, node }, { nodeID: from, timeout: 120_000 });
  }

  async dispose(): Promise<void> {
    // The nodes end anyway.
    await this.#broker.stop().catch(() => undefined);
    await Promise.all(this.#nodes.map((node) => node.dispose()));
    await this.#backing.end();
  }

  get #nodes(): ClusterNode[] {
    return [this.gateway, this.control, ...this.shardNodes];
  }
}
