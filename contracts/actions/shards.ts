import type { CollectionId } from '../../lib/ids.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';
import type { ChangePreview, PreviewOptions, RecordUpdate, ShardChange } from '../../lib/shard/change.ts';
import type { ShardHead } from '../../lib/shard/head.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import type { AnswerPage, FetchedRecord, PageItem, QueryOptions, ShardMatch } from '../../lib/shard/match.ts';
import type { ShardMemory } from '../../lib/shard/memory.ts';
import type { ShardProof } from '../../lib/shard/proof.ts';
import type { ShardRead } from '../../lib/shard/read.ts';
import type { RecomputedShard } from '../../lib/shard/recomputed.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import type { WriteAck } from '../../lib/shard/write-ack.ts';

/** Progress of a shard's copy. */
export interface ReplicaState {
  /** Null while the copy is being made. */
  seq: number | null;
}

/** A shard that is open on a node. */
export interface OpenShardStats {
  shard: ShardKey;
  seq: number;
  bytes: number;
  records: number;
  unindexed: number;
  /** Writes waiting in the shard's queue. */
  queued: number;
  /** `seq` is null while a copy is being made or its node does not respond. */
  followers: { node: string; seq: number | null }[];
}

export interface ShardStats {
  open: number;
  opening: number;
  queuedRequests: number;
  queuedBytes: number;
  bytes: number;
  records: number;
  workers: number;
  /** Records that their shard's index does not cover yet. */
  unindexed: number;
  /** Queries answered since the start, and their search time without the wait for the worker. */
  searches: number;
  searchSeconds: number;
  /** Shards that were open before the last stop and are still being reopened. */
  reopening: number;
  /** Copies of other nodes' shards, their memory, and how many were dropped for a wrong root. */
  copies: number;
  copiedBytes: number;
  /** Maximum memory of shards and copies. */
  memoryLimitBytes: number;
  mismatches: number;
  /** Whether the node may hold shards now. */
  hasLease: boolean;
}

/**
 * Event `shards.recomputing`: the number of records recomputed so far. Broadcast from time to time;
 * may be lost or arrive after the result.
 */
export interface ShardRecomputing {
  run: string;
  shard: number;
  records: number;
}

interface OpenTimeoutOption {
  /**
   * Longest time, in ms, that the shard may be unavailable before the call fails with
   * SHARD_UNAVAILABLE, without having done anything; default: no limit. The router applies it to
   * the search for the holder, the holder to the opening, which continues.
   */
  openMaxMs?: number;
}

export interface ShardsActions {
  /**
   * Fails with UNAVAILABLE if the write's turn has not come after `waitMs`. Once its turn has come,
   * it answers only when the outcome is known, no matter how long that takes. A ProvecError, or a
   * StoreError of a kind other than 'unknown', means that no part of the write is or will be
   * committed; any other error leaves that open.
   */
  'shards.upsert': {
    params: { shard: ShardSpec; batch: RecordBatch; waitMs: number } & OpenTimeoutOption;
    result: WriteAck;
  };
  'shards.delete': {
    params: { shard: ShardSpec; ids: string[]; waitMs: number } & OpenTimeoutOption;
    result: WriteAck;
  };
  /** Same as `shards.upsert`. Throws INVALID_ARGUMENT if a merge would make metadata too long. */
  'shards.change': {
    params: { shard: ShardSpec; change: ShardChange; waitMs: number } & OpenTimeoutOption;
    result: WriteAck;
  };
  /**
   * With `eventual`, a copy may answer, which may lag behind. A page has about `pageMaxBytes`, and
   * at least one item if there is any.
   */
  'shards.query': {
    params: { shard: ShardSpec; query: QueryOptions; pageMaxBytes: number; eventual?: boolean } & OpenTimeoutOption;
    result: AnswerPage<ShardMatch>;
  };
  /** Runs several queries and returns a page for each. */
  'shards.queries': {
    params: {
      shard: ShardSpec;
      queries: readonly QueryOptions[];
      pageMaxBytes: number;
      eventual?: boolean;
    } & OpenTimeoutOption;
    result: AnswerPage<ShardMatch>[];
  };
  'shards.fetch': {
    params: { shard: ShardSpec; ids: string[]; pageMaxBytes: number; eventual?: boolean } & OpenTimeoutOption;
    result: AnswerPage<FetchedRecord>;
  };
  /** Results have type `ShardReads[op]['result']`. */
  'shards.read': {
    params: { shard: ShardSpec; read: ShardRead; eventual?: boolean } & OpenTimeoutOption;
    result: unknown;
  };
  /** Resolves when the shard is open. */
  'shards.ready': { params: { shard: ShardSpec }; result: null };
  /**
   * Returns the next page. Null if it was not requested for 30 seconds, or if the shard was closed
   * or moved: the caller must start over. With a `pageMaxBytes` of 0 the page is empty, and the
   * next one is kept for another 30 seconds.
   */
  'shards.next': {
    params: { shard: ShardSpec; rest: string; pageMaxBytes: number };
    result: AnswerPage<PageItem> | null;
  };
  /** Drops the remaining pages. */
  'shards.leave': { params: { shard: ShardSpec; rest: string }; result: null };
  /** Returns the head in memory or, if the shard is closed, in the store. Never opens the shard. */
  'shards.head': { params: { shard: ShardSpec }; result: ShardHead };
  /** Returns what the shard takes; null if it is closed. Never opens the shard. */
  'shards.memory': { params: { shard: ShardSpec }; result: ShardMemory | null };
  /** Returns what updates by id would do. */
  'shards.previewUpdates': {
    params: { shard: ShardSpec; updates: RecordUpdate[]; terms: PreviewOptions } & OpenTimeoutOption;
    result: ChangePreview;
  };
  /** Returns the size of each record's metadata in bytes, 0 if there is no such record. */
  'shards.metadataBytes': { params: { shard: ShardSpec; ids: string[] } & OpenTimeoutOption; result: number[] };
  'shards.countNew': { params: { shard: ShardSpec; ids: string[] } & OpenTimeoutOption; result: number };
  'shards.prove': { params: { shard: ShardSpec; id: string }; result: ShardProof };
  /**
   * Returns the root at `seq` computed from the shard's records, to be compared with the ledger
   * before anything newer is anchored. Null if the shard opened from a later checkpoint.
   */
  'shards.headAt': { params: { shard: ShardSpec; seq: number }; result: ShardHead | null };
  /** Records the shard's current root as right, after an operator's decision. */
  'shards.resume': { params: { shard: ShardSpec }; result: null };
  /** `run` is the id that `shards.recomputing` events carry; without it, no events are sent. */
  'shards.recompute': { params: { shard: ShardSpec; run?: string }; result: RecomputedShard };
  /** Applies the log through `seq` to a recomputed state. */
  'shards.extend': { params: { session: string; seq: number }; result: RecomputedShard };
  /** Keeps a recomputed state that is still to be extended. */
  'shards.keep': { params: { session: string }; result: null };
  'shards.release': { params: { session: string }; result: null };
  /** Opens the shard on the called node. Throws ShardMoved if another node holds it. */
  'shards.adopt': { params: { shard: ShardSpec }; result: null };
  /** Makes the holder hand the shard to `node`. Throws INVALID_ARGUMENT if `node` refuses. */
  'shards.move': { params: { key: ShardKey; node: string }; result: null };
  /** Makes the called node follow a shard whose holder is at `seq`. Does not wait for it. */
  'shards.follow': { params: { shard: ShardSpec; seq: number }; result: ReplicaState };
  /** Offers the called node a shard. Null: it accepts and waits for it; else why it refuses. */
  'shards.offer': {
    params: { bytes: number; load: number; reason: 'memory' | 'load' | 'home' };
    result: 'draining' | 'busy' | 'room' | 'share' | null;
  };
  /** Makes the called node give all its shards away. */
  'shards.drain': { params: Record<string, never>; result: null };
  /** Lists the shards open on the called node. */
  'shards.held': { params: Record<string, never>; result: OpenShardStats[] };
  /** Closes the called node's shards of a collection that is no longer in the catalog. */
  'shards.forget': { params: { collectionId: CollectionId }; result: null };
  /** Closes all shards of a collection and drops its stored data. Idempotent. */
  'shards.drop': { params: { collectionId: CollectionId }; result: null };
  'shards.stats': { params: Record<string, never>; result: ShardStats };
}
