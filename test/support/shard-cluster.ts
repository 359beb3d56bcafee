import { type ChildProcess, spawn } from 'node:child_process';
import pino from 'pino';
import { ownIdentity, type ProcessIdentity } from '../../lib/host/process-identity.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../lib/time/timers.ts';
import { ShardRouter } from '../../mixins/shard-router/shard-router.ts';
import { readConfig } from '../../process/config.ts';
import { runtimeOf } from '../../process/runtime.ts';
import type { ShardOffer } from '../../services/shards/cluster/rebalancing/shard-offer.ts';
import { ShardNode } from '../../services/shards/shard-node.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Store } from '../../store/port.ts';
import { SeverableStore } from './severed-store.ts';
import { openTemporaryStore } from './world.ts';

const ACCOUNT = 'a0000000-0000-4000-8000-000000000001';
const PATIENCE_MS = 30_000;

interface Member {
  node: ShardNode;
  reach: SeverableStore;
  /**
   * The process named in the node's lease. It is killed with the node, so that other nodes see that
   * the node is gone.
   */
  process: ChildProcess;
  isUp: boolean;
  draining: boolean;
  weight: number;
}

export interface ShardCluster {
  store: Store;
  nodes: Map<string, ShardNode>;
  row: CollectionRow;
  specs: ShardSpec[];
  /** Runs `work` on the node that holds the shard, as a caller of the service would. */
  call<T>(spec: ShardSpec, reads: boolean, work: (node: ShardNode, leftMs: number) => Promise<T>): Promise<T>;
  join(name: string): Promise<void>;
  /** Stops a node as SIGTERM would. */
  stop(name: string): Promise<void>;
  /** Kills a node as SIGKILL would. */
  kill(name: string): Promise<void>;
  /** The holder of each shard according to the store. */
  holders(): Promise<(string | null)[]>;
  end(): Promise<void>;
}

/**
 * Starts shard nodes in one process over one real store, which call each other directly. `wrap` may
 * inject faults into a node's store.
 */
export async function shardCluster(
  names: string[],
  options: Partial<Pick<CollectionRow, 'shards' | 'replicas' | 'dimensions'>> = {},
  wrap: (store: Store, name: string) => Store = (store) => store,
  environment: Record<string, string> = {},
): Promise<ShardCluster> {
  const { store, folder, destroy } = await openTemporaryStore();
  const createdAt = new Date(0).toISOString();
  await store.catalog.createAccount({ id: ACCOUNT, name: 'test', plan: 'enterprise', createdAt });
  const row: CollectionRow = {
    id: 'c0000000-0000-4000-8000-000000000001',
    accountId: ACCOUNT,
    name: 'docs',
    dimensions: 4,
    metric: 'euclidean',
    shards: 4,
    replicas: 0,
    quantization: 'bf16',
    deletionProtection: false,
    createdAt,
    ...options,
  };
  await store.catalog.createCollection(row, null);
  const log = pino({ level: process.env.PROVEC_TEST_LOG ?? 'silent' });
  const config = readConfig({
    PROVEC_DATA_DIR: folder,
    PROVEC_WORKERS: '1',
    PROVEC_DISK_RESERVE_MB: '0',
    ...environment,
  });
  const members = new Map<string, Member>();
  const nodes = new Map<string, ShardNode>();
  const up = (name: string): ShardNode => {
    const member = members.get(name);
    if (!member?.isUp) throw new NotThere(name);
    return member.node;
  };
  /**
   * Returns the target node. Throws when either node is down: a killed node reaches no other node.
   */
  const reached = (from: string, to: string): ShardNode => {
    if (members.get(from)?.isUp === false) throw new NotThere(from);
    return up(to);
  };
  const router = new ShardRouter({
    owners: store.owners,
    nodes: () =>
      [...members].flatMap(([node, { isUp, weight, draining }]) => (isUp ? [{ node, weight, draining }] : [])),
    lossOf: (error) => (error instanceof NotThere ? 'unsent' : 'none'),
    clock: SYSTEM_CLOCK,
    timers: SYSTEM_TIMERS,
  });
  const cluster: ShardCluster = {
    store,
    nodes,
    row,
    specs: Array.from({ length: row.shards }, (_, index) => shardSpec(row, index)),
    call(spec, reads, work) {
      return router.call({
        shard: shardKey(spec.collectionId, spec.index),
        deadlineMs: SYSTEM_CLOCK.monotonicMs() + PATIENCE_MS,
        reads,
        ask: async (name, leftMs) => work(up(name), leftMs),
      });
    },
    async join(name) {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      const peers = {
        node: name,
        process: await identityOf(child),
        silenceMs: () => 0,
        adopt: async (to: string, shard: ShardSpec) => reached(name, to).adopt(shard),
        isReachable: (to: string) => members.get(to)?.isUp ?? false,
        offer: async (to: string, arrival: ShardOffer) => reached(name, to).cluster.rebalancer.considerOffer(arrival),
        follow: async (to: string, shard: ShardSpec, seq: number) => reached(name, to).cluster.follow(shard, seq),
        onDead: () => undefined,
        onDraining: () => {
          members.get(name)!.draining = true;
        },
      };
      const reach = new SeverableStore(wrap(store, name));
      const node = new ShardNode(
        runtimeOf({ config, store: reach.store, clock: SYSTEM_CLOCK, log }),
        () => undefined,
        peers,
      );
      await node.start();
      const weight = config.memoryLimitMiB * 2 ** 20;
      members.set(name, { node, reach, process: child, isUp: true, draining: false, weight });
      nodes.set(name, node);
    },
    async stop(name) {
      const member = members.get(name)!;
      await member.node.stop();
      member.isUp = false;
      member.process.kill('SIGKILL');
      nodes.delete(name);
    },
    async kill(name) {
      const member = members.get(name)!;
      member.isUp = false;
      nodes.delete(name);
      member.reach.sever();
      await Promise.all([ended(member.process), member.node.stop(0)]);
    },
    async holders() {
      const rows = await store.owners.list(row.id);
      return cluster.specs.map(
        ({ index }) => rows.find(({ shard }) => shard === shardKey(row.id, index))?.holder?.node ?? null,
      );
    },
    async end() {
      for (const name of [...nodes.keys()]) await cluster.stop(name);
      await destroy();
    },
  };
  for (const name of names) await cluster.join(name);
  return cluster;
}

class NotThere extends Error {
  override name = 'NotThere';
}

async function identityOf({ pid }: ChildProcess): Promise<ProcessIdentity> {
  const { place } = await ownIdentity();
  return { pid: pid!, startedAt: null, place };
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}
