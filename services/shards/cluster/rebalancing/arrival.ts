import { type ClusterUse, hasRoom, type NodeUse, type ShardUse } from '../../../../lib/placement/cluster-use.ts';
import { ceilingOf, type MoveReason } from './planner.ts';

/** A shard that another node wants to hand over. */
export interface Arrival extends ShardUse {
  reason: MoveReason;
}

/** Why a node does not take a shard that is offered to it now. */
export type Refusal = 'draining' | 'busy' | 'room' | 'share';

/**
 * What a node answers to the offer of a shard; null: it takes it. The giver's view may be old;
 * `own` is what the node holds at this moment, so that many givers at once do not fill it: it takes
 * one shard at a time, and none that would bring it above the bound of such a move.
 */
export function refusalOf(own: NodeUse, use: ClusterUse, isTaking: boolean, arrival: Arrival): Refusal | null {
  if (own.draining) return 'draining';
  if (isTaking) return 'busy';
  if (!hasRoom(own, arrival)) return 'room';
  const { memory, workers } = use.relative(own, arrival);
  return Math.max(memory, workers) > ceilingOf(arrival.reason) ? 'share' : null;
}
