import type { ReplicaState } from '../../../lib/actions/shards.ts';
import type { ProcessIdentity } from '../../../lib/process/process-identity.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Arrival, Refusal } from './rebalancing/arrival.ts';

/** The other nodes on the same store. */
export interface Peers {
  /** Name of this node. */
  node: string;
  process: ProcessIdentity;
  /**
   * Has `node` open a shard that was given back, within `maxMs` where it is given; rejects as well
   * when it becomes unresponsive.
   */
  adopt(node: string, shard: ShardSpec, maxMs?: number): Promise<void>;
  /** For how long nothing was heard of any of them, in milliseconds. */
  silenceMs(): number;
  /** Whether calls can reach `node` now. */
  isThere(node: string): boolean;
  /** Asks whether `node` takes a shard. */
  offer(node: string, arrival: Arrival): Promise<Refusal | null>;
  /** Has `node` follow a shard that is at `seq` here. */
  follow(node: string, shard: ShardSpec, seq: number): Promise<ReplicaState>;
  /** A node was found dead. */
  onDead(node: string): void;
  /**
   * This node takes no more shards from now on: callers need not ask it for one that nobody holds.
   */
  onDraining(): void;
}
