import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { Checkpointer } from '../shard/checkpointer.ts';
import type { Materialiser } from '../shard/materialiser.ts';
import type { LoadedCopy } from '../shard/open.ts';
import type { ShardWorker, WorkerPool } from '../worker/pool.ts';
import type { Claim, Claims } from './claims.ts';
import type { HeadHistory } from './head-history.ts';
import type { NodeMemory } from './node-memory.ts';

/** A shard that is open, opening or closing. */
export interface Resident {
  spec: ShardSpec;
  claim: Claim | null;
  opening: Promise<ShardActor>;
  actor: ShardActor | null;
  closing: Promise<void> | null;
  uses: number;
  lastUsedMs: number;
}

export interface OpenResident extends Resident {
  claim: Claim;
  actor: ShardActor;
}

/** Throws an Error if the shard is not open, which would be a bug in the cache. */
export function assertOpen(resident: Resident): asserts resident is OpenResident {
  if (!resident.claim || !resident.actor) throw new Error(`shard ${resident.spec.index} is in use and not open`);
}

/** Copies of shards that other nodes hold. */
export interface Copies {
  /** Bytes of the shard's copy in memory; 0 without one. */
  bytesOf(key: ShardKey): number;
  /** Gives a complete copy, if there is one, to the caller, who then owns it and its worker. */
  take(key: ShardKey): Promise<{ worker: ShardWorker; warm: LoadedCopy } | null>;
  /** Drops copies until `bytes` are free. Returns false if it dropped none. */
  shed(bytes: number): Promise<boolean>;
}

/** The parts that a shard cache uses. None of them depends on it. */
export interface ShardCacheParts {
  claims: Claims;
  pool: Pick<WorkerPool, 'leastLoaded'>;
  memory: NodeMemory;
  copies: Copies;
  materialiser: Materialiser;
  checkpointer: Checkpointer;
  /** Head histories of the open shards. */
  ownHeads: Map<ShardKey, HeadHistory>;
}

export interface ShardCacheEvents {
  /** The set of open shards changed. */
  changed: [];
  committed: [actor: ShardActor];
  /** Stored bytes of the shard contradict their recorded root. The reason is a sentence. */
  contradicted: [spec: ShardSpec, reason: string];
}
