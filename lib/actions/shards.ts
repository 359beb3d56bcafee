import type { RecordBatch } from '../records/batch.ts';
import type { ChangePreview, PreviewTerms, RecordUpdate, ShardChange } from '../shard/change.ts';
import type { ShardHead } from '../shard/head.ts';
import type { ShardKey } from '../shard/key.ts';
import type { FetchedRecord, Page, PageItem, QueryOptions, ShardMatch } from '../shard/match.ts';
import type { ShardProof } from '../shard/proof.ts';
import type { ShardRead } from '../shard/read.ts';
import type { Recomputed } from '../shard/recomputed.ts';
import type { ShardSpec } from '../shard/spec.ts';
import type { WriteAck } from '../shard/write-ack.ts';

/** How far a copy of a shard is. */
export interface ReplicaState {
  /** Null while it is being made. */
  seq: number | null;
}

/** One shard that is open on a node. */
export interface OpenShardStats {
  shard: ShardKey;
  seq: number;
  bytes: number;
  records: number;
  unindexed: number;
  /** Writes that wait. */
  queued: number;
  /**
   * Nodes that follow it, and how far they are; `seq` null while a copy is being made or its node
   * does not answer.
   */
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
  /** Records that their shard's index has not caught up with. */
  unindexed: number;
  /**
   * Queries answered since the start and the time that searching took, without waiting for the
   * worker.
   */
  searches: number;
  searchSeconds: number;
  /** Shards that were open at the last stop and are not yet back. */
  reopening: number;
  /**
   * Copies of other nodes' shards, the memory that they take, and those of them that were thrown
   * away for a root that differed.
   */
  copies: number;
  copiedBytes: number;
  mismatches: number;
  /** Whether the node may hold shards now. */
  hasLease: boolean;
}

/**
 * Event `shards.recomputing`, broadcast now and then while a shard is recomputed: how many of its
 * records are. Some may be lost, or come after the answer.
 */
export interface ShardRecomputing {
  run: string;
  shard: number;
  records: number;
}

interface Opening {
  /**
   * A shard that takes longer to open opens by itself, and the call fails with SHARD_UNAVAILABLE,
   * before anything was done; default: it is waited for.
   */
  openMaxMs?: number;
}

export interface ShardsActions {
  /**
   * A write whose turn has not come after `waitMs` is refused (UNAVAILABLE); once its turn has come
   * it is answered only when its outcome is known, however long that takes. ProvecError, and
   * StoreError of another kind than 'unknown', say that nothing of it is or will be committed; any
   * other error leaves that open.
   */
  'shards.upsert': { params: { shard: ShardSpec; batch: RecordBatch; waitMs: number } & Opening; result: WriteAck };
  'shards.delete': { params: { shard: ShardSpec; ids: string[]; waitMs: number } & Opening; result: WriteAck };
  /** As these; INVALID_ARGUMENT where a merge would make metadata too long. */
  'shards.change': { params: { shard: ShardSpec; change: ShardChange; waitMs: number } & Opening; result: WriteAck };
  /**
   * `eventual`: a copy may answer, which may be behind. A page is of `pageMaxBytes` or little more,
   * and has at least one item where there is one.
   */
  'shards.query': {
    params: { shard: ShardSpec; query: QueryOptions; pageMaxBytes: number; eventual?: boolean } & Opening;
    result: Page<ShardMatch>;
  };
  /** As so many of `shards.query`: a page for each. */
  'shards.queries': {
    params: { shard: ShardSpec; queries: readonly QueryOptions[]; pageMaxBytes: number; eventual?: boolean } & Opening;
    result: Page<ShardMatch>[];
  };
  'shards.fetch': {
    params: { shard: ShardSpec; ids: string[]; pageMaxBytes: number; eventual?: boolean } & Opening;
    result: Page<FetchedRecord>;
  };
  /** Answers are of type `ShardReads[op]['result']`. */
  'shards.read': { params: { shard: ShardSpec; read: ShardRead; eventual?: boolean } & Opening; result: unknown };
  /** Resolves when the shard is open. */
  'shards.ready': { params: { shard: ShardSpec }; result: null };
  /**
   * The next page; null when nobody asked for it for half a minute, or the shard was closed or
   * moved: then one has to start over. Of 0 bytes it is empty, and keeps the next one for another
   * half a minute.
   */
  'shards.next': {
    params: { shard: ShardSpec; rest: string; pageMaxBytes: number };
    result: Page<PageItem> | null;
  };
  /** What is left will not be asked for. */
  'shards.leave': { params: { shard: ShardSpec; rest: string }; result: null };
  /** Never opens the shard: the head in memory or, when closed, in the store. */
  'shards.head': { params: { shard: ShardSpec }; result: ShardHead };
  /** What updates by id would do. */
  'shards.previewUpdates': {
    params: { shard: ShardSpec; updates: RecordUpdate[]; terms: PreviewTerms };
    result: ChangePreview;
  };
  /** How many bytes the metadata of each record has; 0 where there is no such record. */
  'shards.metadataBytes': { params: { shard: ShardSpec; ids: string[] }; result: number[] };
  'shards.countNew': { params: { shard: ShardSpec; ids: string[] }; result: number };
  'shards.prove': { params: { shard: ShardSpec; id: string }; result: ShardProof };
  /**
   * The shard's own root at `seq` as its bytes give it, to be held against the chain before
   * anything newer is anchored; null when `seq` lies before the checkpoint it opened from.
   */
  'shards.headAt': { params: { shard: ShardSpec; seq: number }; result: ShardHead | null };
  /** An operator has decided that what the shard holds is right: records its root as it is. */
  'shards.resume': { params: { shard: ShardSpec }; result: null };
  /** `run`: what the events `shards.recomputing` name it by; default: there are none. */
  'shards.recompute': { params: { shard: ShardSpec; run?: string }; result: Recomputed };
  /** Lays the log through `seq` over a recomputed state. */
  'shards.extend': { params: { session: string; seq: number }; result: Recomputed };
  /** Somebody still waits to extend it. */
  'shards.keep': { params: { session: string }; result: null };
  'shards.release': { params: { session: string }; result: null };
  /** Has the asked node open the shard; throws ShardMoved where another one holds it. */
  'shards.adopt': { params: { shard: ShardSpec }; result: null };
  /**
   * Has the asked node, which holds the shard, give it to `node`. Throws INVALID_ARGUMENT where
   * that one takes none.
   */
  'shards.move': { params: { key: ShardKey; node: string }; result: null };
  /**
   * Has the asked node follow a shard whose holder is at `seq`; does not wait for it to catch up.
   */
  'shards.follow': { params: { shard: ShardSpec; seq: number }; result: ReplicaState };
  /** Asks the asked node whether it takes a shard of that size; null: yes, and it waits for it. */
  'shards.offer': {
    params: { bytes: number; load: number; reason: 'memory' | 'load' | 'home' };
    result: 'draining' | 'busy' | 'room' | 'share' | null;
  };
  /** Has the asked node give every shard away. */
  'shards.drain': { params: Record<string, never>; result: null };
  /** What is open on the asked node. */
  'shards.held': { params: Record<string, never>; result: OpenShardStats[] };
  /** Closes what the asked node holds of a collection that is in the catalog no more. */
  'shards.forget': { params: { collectionId: string }; result: null };
  /** Closes all shards of a collection and drops its stored data. Idempotent. */
  'shards.drop': { params: { collectionId: string }; result: null };
  'shards.stats': { params: Record<string, never>; result: ShardStats };
}
