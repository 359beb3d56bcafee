import type { ServiceName } from '../../process/service-names.ts';
import type { Store } from '../../store/port.ts';
import { type Api, apiClient } from './api-client.ts';
import type { BackingServices } from './backing-services.ts';
import { ClusterNode } from './cluster-node.ts';
import { LedgerRelay } from './ledger-relay.ts';
import { TEST_KEY } from './tenant.ts';
import { until } from './until.ts';

const ON_KUBERNETES: { gateway: readonly ServiceName[]; control: readonly ServiceName[] } = {
  gateway: ['gateway', 'collections', 'keys'],
  control: ['keys', 'metering', 'anchoring', 'verification', 'cluster'],
};
const CONTROL: readonly ServiceName[] = ['collections', 'keys', 'metering', 'anchoring', 'verification', 'cluster'];

export interface ClusterOptions {
  shardNodes: number;
  gateways?: number;
  /**
   * Number of nodes with the control services. A single one has the embedded ledger; several share
   * a ledger that the test provides.
   */
  controls?: number;
  /**
   * Runs collections and keys on the gateways, as on Kubernetes; otherwise only control nodes do.
   */
  isAsOnKubernetes?: boolean;
  environment?: Record<string, string>;
  /** Command that runs a shard node; see `NodeSettings`. */
  under?(id: string): readonly string[];
  /** Starts nodes by launch.ts, as users do. */
  isLaunched?: boolean;
  /** Additional environment of one node. */
  environmentOf?(id: string): Record<string, string>;
}

/** A cluster of real processes: gateways, control nodes, shard nodes, and a ledger. */
export class ClusterProcess {
  readonly backing: BackingServices;
  readonly store: Store;
  readonly gateways: ClusterNode[] = [];
  readonly shardNodes: ClusterNode[] = [];
  readonly controls: ClusterNode[] = [];
  readonly #options: ClusterOptions;
  readonly #environment: Record<string, string>;
  /** Gateways that receive requests, as a load balancer lists them. */
  readonly #listed = new Set<ClusterNode>();
  #made = 0;
  #turn = 0;

  readonly #ledger: LedgerRelay | null;

  private constructor(backing: BackingServices, store: Store, ledger: LedgerRelay | null, options: ClusterOptions) {
    this.backing = backing;
    this.store = store;
    this.#ledger = ledger;
    this.#options = options;
    this.#environment = {
      PROVEC_PORT: '0',
      PROVEC_BOOTSTRAP_KEY: TEST_KEY,
      PROVEC_WORKERS: '1',
      PROVEC_MEMORY_LIMIT_MB: '1024',
      PROVEC_DISK_RESERVE_MB: '16',
      PROVEC_ANCHOR_WAIT_MS: '0',
      PROVEC_LOG_LEVEL: process.env.PROVEC_TEST_LOG_LEVEL ?? 'warn',
      ...backing.environment,
      ...ledger?.environment,
      ...options.environment,
    };
  }

  /** Starts the nodes and waits until they are all ready. `backing` ends with the cluster. */
  static async start(backing: BackingServices, options: ClusterOptions): Promise<ClusterProcess> {
    const { shardNodes, gateways = 1, controls = 1 } = options;
    const services = options.isAsOnKubernetes ? ON_KUBERNETES : { gateway: ['gateway'] as const, control: CONTROL };
    const store = await backing.openStore().catch(async (error: unknown) => {
      await backing.end();
      throw error;
    });
    const ledger = controls > 1 ? await LedgerRelay.open() : null;
    const cluster = new ClusterProcess(backing, store, ledger, options);
    try {
      const shards = Array.from({ length: shardNodes }, () => cluster.addShardNode());
      for (let number = 1; number <= gateways; number++)
        cluster.gateways.push(cluster.#node(`gateway-${number}`, services.gateway));
      for (let number = 1; number <= controls; number++)
        cluster.controls.push(cluster.#node(`control-${number}`, services.control));
      await Promise.all([...shards, ...[...cluster.controls, ...cluster.gateways].map((node) => node.start())]);
      for (const gateway of cluster.gateways) cluster.list(gateway);
      await cluster.ready();
      return cluster;
    } catch (error) {
      cluster.printLogs();
      await cluster.dispose();
      throw error;
    }
  }

  /** Calls the API through one of the listed gateways. */
  get api(): Api {
    return (method, path, body) => apiClient(this.gatewayUrl(), TEST_KEY)(method, path, body);
  }

  /** URL of the next listed gateway. */
  gatewayUrl(): string {
    const listed = [...this.#listed];
    return listed[this.#turn++ % listed.length]!.url!;
  }

  list(gateway: ClusterNode): void {
    this.#listed.add(gateway);
  }

  unlist(gateway: ClusterNode): void {
    this.#listed.delete(gateway);
  }

  node(id: string): ClusterNode {
    return this.#nodes.find((node) => node.id === id)!;
  }

  /** Resolves when every listed gateway is ready and each running shard node has a lease. */
  async ready(): Promise<void> {
    for (const gateway of this.#listed)
      await until(`${gateway.id} is ready`, async () => (await fetch(`${gateway.url}/readyz`)).status === 200);
    await until('every shard node has a lease', async () => {
      const nodes = new Set((await this.store.leases.list()).map(({ node }) => node));
      return this.shardNodes.every(({ id, isRunning }) => !isRunning || nodes.has(id));
    });
  }

  async addShardNode(): Promise<ClusterNode> {
    const node = this.#node(`shards-${this.#made++}`, ['shards']);
    this.shardNodes.push(node);
    await node.start();
    return node;
  }

  /** Stops a shard node gracefully and removes it from the cluster. */
  async removeShardNode(node: ClusterNode): Promise<void> {
    const { code } = await node.stop();
    if (code !== 0) throw new Error(`${node.id} ended with ${code}.`);
    this.shardNodes.splice(this.shardNodes.indexOf(node), 1);
  }

  /** Number of shards of a collection that each node holds. */
  async holdings(collectionId: string): Promise<Map<string, number>> {
    const holdings = new Map<string, number>();
    for (const { holder } of await this.store.owners.list(collectionId))
      if (holder) holdings.set(holder.node, (holdings.get(holder.node) ?? 0) + 1);
    return holdings;
  }

  /** Prints the nodes' logs to stderr. */
  printLogs(): void {
    for (const node of this.#nodes) process.stderr.write(`--- ${node.id} ---\n${node.log}\n`);
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.dispose()));
    await this.#ledger?.close();
    await this.store.close();
    await this.backing.end();
  }

  get #nodes(): ClusterNode[] {
    return [...this.gateways, ...this.controls, ...this.shardNodes];
  }

  #node(id: string, services: readonly ServiceName[]): ClusterNode {
    const { under, environmentOf, isLaunched } = this.#options;
    const environment = { ...this.#environment, ...environmentOf?.(id) };
    return new ClusterNode({ id, services, environment, under: under?.(id), isLaunched });
  }
}
