import type { ServiceBroker } from 'moleculer';
import type { ActionName } from '../lib/actions/call.ts';

/** Another node, and the process that runs there. */
export interface Peer {
  id: string;
  instanceId: string;
}

/** The other nodes that have an action and count as connected. */
export function peersWith(broker: ServiceBroker, action: ActionName): Peer[] {
  const endpoints = broker.registry.actions.get(action)?.endpoints ?? [];
  const others = endpoints.filter(({ id, isAvailable }) => isAvailable && id !== broker.nodeID);
  return others.map(({ id, node }) => ({ id, instanceId: node.instanceID ?? '' }));
}
