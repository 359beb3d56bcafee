/**
 * What every node knows of the shard nodes without asking the store: Moleculer's INFO packets bring
 * the memory that each has for shards, and whether it leaves. The same memory stands in the leases
 * by which shard nodes place shards, so that all name the same node for a shard that nobody holds.
 */
import type { ServiceBroker } from 'moleculer';
import type { Config } from '../../lib/config.ts';
import { type PlacementNode, WEIGHT_UNSAID } from '../../lib/placement/placement.ts';

const MIB = 2 ** 20;

/** A node that runs the shards service and can be reached. */
export interface ShardNodePlace extends PlacementNode {
  /** It takes no shard that nobody holds. */
  draining: boolean;
}

/** Broker option `metadata` of a node that may run the shards service. */
export function shardNodeMetadata({ memoryLimitMiB }: Pick<Config, 'memoryLimitMiB'>): Record<string, unknown> {
  return { shardMemoryBytes: memoryLimitMiB * MIB };
}

/** The shard nodes as this broker knows them, itself included. */
export function shardNodesOf(broker: ServiceBroker): ShardNodePlace[] {
  const endpoints = broker.registry.actions.get('shards.query')?.endpoints ?? [];
  return endpoints.flatMap((endpoint: { isAvailable: boolean; id: string; node: { metadata: unknown } }) => {
    if (!endpoint.isAvailable) return [];
    const { shardMemoryBytes: bytes, shardsDraining } = (endpoint.node.metadata ?? {}) as Record<string, unknown>;
    const weight = typeof bytes === 'number' && bytes > 0 ? bytes : WEIGHT_UNSAID;
    return [{ node: endpoint.id, weight, draining: shardsDraining === true }];
  });
}

/** Tells all others that this node takes no more shards. */
export function announceDraining(broker: ServiceBroker): void {
  Object.assign(broker.metadata, { shardsDraining: true });
  broker.registry.regenerateLocalRawInfo(true);
  // One that it does not reach learns it by asking.
  Promise.resolve(broker.registry.discoverer.sendLocalNodeInfo()).catch(() => undefined);
}
