import type { ReplicaState } from '../../../contracts/actions/shards.ts';
import type { ProcessIdentity } from '../../../lib/host/process-identity.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { OfferRefusal, ShardOffer } from './rebalancing/shard-offer.ts';

/** The other shard nodes on the same store. */
export interface Peers {
  /** Name of this node. */
  node: string;
  process: ProcessIdentity;
  /**
   * Makes `node` open a released shard, within `maxMs` if given. Also rejects when the node becomes
   * unresponsive.
   */
  adopt(node: string, shard: ShardSpec, maxMs?: number): Promise<void>;
  /** Time since this node last heard from any other node, in ms. */
  silenceMs(): number;
  /** Whether calls can reach `node` now. */
  isReachable(node: string): boolean;
  /** Offers a shard to `node`. Returns null if the node accepts. */
  offer(node: string, arrival: ShardOffer): Promise<OfferRefusal | null>;
  /** Makes `node` follow a shard whose seq here is `seq`. */
  follow(node: string, shard: ShardSpec, seq: number): Promise<ReplicaState>;
  onDead(node: string): void;
  /** Called when this node stops taking shards, so that callers stop asking it for unheld ones. */
  onDraining(): void;
}
