import {
  type ClusterUsage,
  hasRoom,
  type NodeUsage,
  type ShardUsage,
} from '../../../../lib/placement/cluster-usage.ts';
import { ceilingOf, type MoveReason } from './planner.ts';

/** A shard that another node offers to hand over. */
export interface ShardOffer extends ShardUsage {
  reason: MoveReason;
}

/** Why a node refuses an offered shard. */
export type OfferRefusal = 'draining' | 'busy' | 'room' | 'share';

/**
 * Decides on an offered shard; null means accepted. The giver's view may be old, so the receiver
 * decides by its own current use. It takes one shard at a time, and none that would raise its use
 * above the ceiling for the shard's `reason`. This keeps concurrent givers from filling it.
 */
export function offerRefusal(
  own: NodeUsage,
  use: ClusterUsage,
  isTaking: boolean,
  arrival: ShardOffer,
): OfferRefusal | null {
  if (own.draining) return 'draining';
  if (isTaking) return 'busy';
  if (!hasRoom(own, arrival)) return 'room';
  const { memory, workers } = use.relative(own, arrival);
  return Math.max(memory, workers) > ceilingOf(arrival.reason) ? 'share' : null;
}
