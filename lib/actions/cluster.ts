import type { ShardKey } from '../shard/key.ts';
import type { AnchorStanding } from '../store/anchors.ts';
import type { LedgerInfo } from './anchoring.ts';
import type { VerifyResult } from './verification.ts';

/** Part of a long table, by the number of rows before it. */
export interface Slice {
  offset?: number;
  limit?: number;
}

/** A part of a table, and where the next one begins; null at the end. */
export interface Part<T> {
  rows: T[];
  next: number | null;
}

/** Something that could not be asked, and why in a few words. */
export interface Unreachable {
  node: string;
  error: string;
}

/**
 * A node that runs the shards service or has a lease. What it would have to say itself is null
 * where `error` says why it did not.
 */
export interface ShardNodeRow {
  node: string;
  /**
   * Whether the store has a lease of it; where one process is all there is it needs none, and this
   * is true.
   */
  lease: boolean;
  draining: boolean;
  open: number | null;
  opening: number | null;
  /** Copies of shards that other nodes hold. */
  copies: number | null;
  bytes: number | null;
  memoryLimitBytes: number | null;
  /** Requests that wait for a shard. */
  queued: number | null;
  /** Worker threads that are busy, averaged over minutes, of `workers`. */
  load: number | null;
  workers: number | null;
  version: string | null;
  /** Null when it cannot be reached. */
  uptimeSeconds: number | null;
  error: string | null;
}

/** A node without shards: gateways, control services, joined consoles. */
export interface OtherNodeRow {
  node: string;
  services: string[];
  version: string | null;
  uptimeSeconds: number | null;
  available: boolean;
}

export interface ClusterNodes {
  shardNodes: ShardNodeRow[];
  others: OtherNodeRow[];
  /** Nodes that were left out because there are too many to list. */
  omitted: number;
}

/**
 * `closed`: claimed, and out of memory; `unclaimed`: the next use has a node claim it;
 * `unreachable`: its holder does not answer.
 */
type ShardState = 'open' | 'closed' | 'unclaimed' | 'unreachable';

export interface ShardRow {
  shard: ShardKey;
  /** `<account id>/<name>` */
  collection: string;
  node: string | null;
  epoch: number;
  seq: number;
  records: number;
  /** In memory; null where it is not known to be open. */
  bytes: number | null;
  /** `lag` in commits; null while a copy is being made or its node does not answer. */
  followers: { node: string; lag: number | null }[];
  state: ShardState;
}

export interface CollectionInCluster {
  id: string;
  accountId: string;
  account: string;
  name: string;
  shards: number;
  replicas: number;
  vectors: number;
  /** Of its open shards. */
  bytes: number;
  anchor: AnchorState;
}

/** `none`: nothing was ever to be anchored. */
type AnchorState = 'none' | 'confirmed' | 'pending' | 'halted' | 'closing';

export interface AnchorOverview {
  collectionId: string;
  /** `<account id>/<name>`; null when the collection was deleted. */
  collection: string | null;
  state: AnchorState;
  wantedVersion: number | null;
  confirmedVersion: number | null;
  /** For how long something has waited to be anchored; null when nothing waits. */
  waitingSeconds: number | null;
  /** For how long the newest root has been on the ledger. */
  confirmedAgeSeconds: number | null;
  haltedReason: string | null;
}

/** Where the cluster anchors; a collection's account follows from authority and program. */
export interface LedgerOverview extends LedgerInfo {
  /** Of the collection that was named. */
  account: { collectionId: string; address: string; explorerUrl: string | null } | null;
}

export interface Backup {
  folder: string;
  bytes: number;
  /** ISO 8601 UTC; about when the moment was that it is of. */
  at: string;
  /** Secrets in it, in words; none where they were left out. */
  secrets: string[];
  /** What a start on it needs beside it. */
  outside: string[];
}

/**
 * What an operator sees and does. A collection is named by its id, `<account id>/<name>` or
 * `<account name>/<name>`; a shard by its collection, a dot and its index. Throws INVALID_ARGUMENT,
 * COLLECTION_NOT_FOUND and ACCOUNT_NOT_FOUND with a sentence for the operator, UNAVAILABLE where a
 * node that must act cannot be reached.
 */
export interface ClusterActions {
  'cluster.nodes': { params: Record<string, never>; result: ClusterNodes };
  'cluster.shards': {
    params: Slice & { collection?: string };
    result: Part<ShardRow> & { unreachable: Unreachable[] };
  };
  'cluster.collections': { params: Slice; result: Part<CollectionInCluster> & { unreachable: Unreachable[] } };
  /** Default of `standing`: all collections. */
  'cluster.anchors': {
    params: Slice & { standing?: Exclude<AnchorStanding, 'settled'> };
    result: Part<AnchorOverview>;
  };
  /** Resolves when the shard is open on `node`. `from` is null when no node held it. */
  'cluster.move': {
    params: { shard: string; node: string };
    result: { shard: ShardKey; from: string | null; to: string };
  };
  /**
   * Resolves when the node has given its shards away, or has no more time for it: `left` are those
   * that it still holds. It takes none until it starts again.
   */
  'cluster.drain': { params: { node: string }; result: { node: string; left: number } };
  'cluster.verify': { params: { account: string; collection: string }; result: VerifyResult };
  'cluster.ledger': { params: { collection?: string }; result: LedgerOverview };
  /** Copies the data folder, as it is at one moment, to a folder that is empty or not there. */
  'cluster.backup': { params: { folder: string; withoutSecrets?: boolean }; result: Backup };
  /** The operator's decision that what the shards hold is right. */
  'cluster.resume': { params: { collection: string }; result: { collectionId: string } };
}
