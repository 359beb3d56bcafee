/**
 * What every node knows about shard nodes without reading the store. Moleculer's INFO packets carry
 * each node's memory for shards and whether it is draining. Leases have the same memory size, so
 * all nodes choose the same node for a shard without a holder.
 */

import type { ServiceBroker } from 'moleculer';
import { MIB } from '../../lib/mib.ts';
import { DEFAULT_WEIGHT, type PlacementNode } from '../../lib/placement/placement.ts';
import type { Config } from '../../process/config.ts';

/** A reachable node that runs the shards service. */
export interface RoutableShardNode extends PlacementNode {
  /** Whether the node accepts no new shards. */
  draining: boolean;
}

/** Returns the broker option `metadata` of a node that may run the shards service. */
export function shardNodeMetadata({ memoryLimitMiB }: Pick<Config, 'memoryLimitMiB'>): Record<string, unknown> {
  return { shardMemoryBytes: memoryLimitMiB * MIB };
}

/** Returns the shard nodes that this broker knows, including itself. */
export function shardNodesOf(broker: ServiceBroker): RoutableShardNode[] {
  const endpoints = broker.registry.actions.get('shards.query')?.endpoints ?? [];
  return endpoints.flatMap((endpoint: { isAvailable: boolean; id: string; node: { metadata: unknown } }) => {
    if (!endpoint.isAvailable) return [];
    const { shardMemoryBytes: bytes, shardsDraining } = (endpoint.node.metadata ?? {}) as Record<string, unknown>;
    const weight = typeof bytes === 'number' && bytes > 0 ? bytes : DEFAULT_WEIGHT;
    return [{ node: endpoint.id, weight, draining: shardsDraining === true }];
  });
}

/** Announces to all nodes that this node accepts no more shards. */
export function announceDraining(broker: ServiceBroker): void {
  Object.assign(broker.metadata, { shardsDraining: true });
  broker.registry.regenerateLocalRawInfo(true);
  // A node that misses this finds out when it asks this one to open a shard.
  Promise.resolve(broker.registry.discoverer.sendLocalNodeInfo()).catch(() => undefined);
}
