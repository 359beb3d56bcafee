import type { ServiceBroker } from 'moleculer';
import type { ActionName } from '../contracts/actions/call.ts';

/** Another node and the id of its process. */
export interface Peer {
  id: string;
  instanceId: string;
}

/** Returns the other connected nodes that have an action. */
export function peersWith(broker: ServiceBroker, action: ActionName): Peer[] {
  const endpoints = broker.registry.actions.get(action)?.endpoints ?? [];
  const others = endpoints.filter(({ id, isAvailable }) => isAvailable && id !== broker.nodeID);
  return others.map(({ id, node }) => ({ id, instanceId: node.instanceID ?? '' }));
}
