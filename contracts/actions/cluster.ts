import type { AccountId, CollectionId } from '../../lib/ids.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import type { OutboxState } from '../../store/anchors.ts';
import type { LedgerInfo } from './anchoring.ts';
import type { VerificationOverview, VerifyResult } from './verification.ts';

/** Rows of a page of a long table. */
/** Length of the names by which operators refer to nodes, shards and collections, in characters. */
export const REFERENCE_CHARS = { min: 1, max: 1_024 } as const;

export const TABLE_PAGE = { maximum: 1_000, default: 100 } as const;

/** A range of rows of a long table. */
export interface RowRange {
  offset?: number;
  limit?: number;
}

/** A range of rows; `next` is the offset of the next one, null at the end. */
export interface TablePage<T> {
  rows: T[];
  next: number | null;
}

/** A node that did not respond, and why. */
export interface Unreachable {
  node: string;
  error: string;
}

/**
 * A node that runs the shards service or has a lease. If it did not respond, `error` says why, and
 * fields that only it can report are null.
 */
export interface ShardNodeRow {
  node: string;
  /** Whether the store has a lease of the node; true for a single process, which needs none. */
  lease: boolean;
  draining: boolean;
  open: number | null;
  opening: number | null;
  /** Copies of shards that other nodes hold. */
  copies: number | null;
  bytes: number | null;
  memoryLimitBytes: number | null;
  /** Requests waiting for a shard. */
  queued: number | null;
  /**
   * Average number of busy worker threads over the last minutes, out of `workers`; null in a single
   * process.
   */
  load: number | null;
  workers: number | null;
  version: string | null;
  /** Null when the node cannot be reached. */
  uptimeSeconds: number | null;
  error: string | null;
}

/** A node without shards: a gateway, a control service or a joined console. */
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
  /** Number of nodes left out because there are too many to list. */
  omitted: number;
}

/** `closed`: claimed, not in memory. `unclaimed`: claimed on next use. */
type ShardState = 'open' | 'closed' | 'unclaimed' | 'unreachable';

export interface ShardStatus {
  shard: ShardKey;
  /** `<account id>/<name>` */
  collection: string;
  node: string | null;
  epoch: number;
  seq: number;
  records: number;
  /** Size in memory; null unless the shard is known to be open. */
  bytes: number | null;
  /** `lag` is in commits; null while the copy is being made or its node does not respond. */
  followers: { node: string; lag: number | null }[];
  state: ShardState;
}

export interface CollectionInCluster {
  id: string;
  accountId: AccountId;
  account: string;
  name: string;
  shards: number;
  replicas: number;
  vectors: number;
  /** Size of its open shards in memory. */
  bytes: number;
  anchor: AnchorState;
}

/** `none`: anchoring was never requested. */
type AnchorState = 'none' | 'confirmed' | 'pending' | 'halted' | 'closing';

export interface AnchorOverview {
  collectionId: CollectionId;
  /** `<account id>/<name>`; null if the collection was deleted. */
  collection: string | null;
  state: AnchorState;
  wantedVersion: number | null;
  confirmedVersion: number | null;
  /** Age of the oldest unconfirmed request, null if there is none. */
  waitingSeconds: number | null;
  /** Age of the newest root on the ledger. */
  confirmedAgeSeconds: number | null;
  haltedReason: string | null;
}

/** Where the cluster anchors. A collection's account address follows from authority and program. */
export interface LedgerOverview extends LedgerInfo {
  /** Balance of the authority; null if the ledger is off or did not answer in time. */
  lamports: number | null;
  /** Account of the collection that the call names. */
  account: { collectionId: CollectionId; address: string; explorerUrl: string | null } | null;
}

export interface Backup {
  folder: string;
  bytes: number;
  /** ISO 8601 UTC; approximate time of the content that was copied. */
  at: string;
  /** Descriptions of the secrets in the backup; empty if they were left out. */
  secrets: string[];
  /** Secrets of the data folder that the copy lacks, since the caller asked for that. */
  leftOut: string[];
  /** Descriptions of what a start from the backup needs besides its files. */
  outside: string[];
}

/**
 * A backup in the folder for backups. `interrupted`: its service ended, or it is another node's.
 * `failed` ones leave no folder.
 */
export interface BackupStatus {
  name: string;
  folder: string;
  state: 'running' | 'done' | 'failed' | 'interrupted';
  /** Size of the copy so far. */
  bytes: number;
  /** ISO 8601 UTC; when the copy was complete, else null. */
  at: string | null;
  /** Why it failed, else null. */
  error: string | null;
}

/**
 * Operators' view and commands. A collection is named by its id, `<account id>/<name>` or `<account
 * name>/<name>`; a shard by its collection, a dot and its index. Throws INVALID_ARGUMENT,
 * COLLECTION_NOT_FOUND and ACCOUNT_NOT_FOUND with a message for the operator, and UNAVAILABLE if a
 * required node cannot be reached.
 */
export interface ClusterActions {
  'cluster.nodes': { params: Record<string, never>; result: ClusterNodes };
  'cluster.shards': {
    params: RowRange & { collection?: string };
    result: TablePage<ShardStatus> & { unreachable: Unreachable[] };
  };
  'cluster.collections': { params: RowRange; result: TablePage<CollectionInCluster> & { unreachable: Unreachable[] } };
  /** Returns background verifications of all accounts, running ones first, then the newest. */
  'cluster.verifications': {
    params: RowRange;
    result: TablePage<VerificationOverview> & { unreachable: Unreachable[] };
  };
  /** `standing` filters by state; default: all collections. */
  'cluster.anchors': {
    params: RowRange & { standing?: Exclude<OutboxState, 'settled'> };
    result: TablePage<AnchorOverview>;
  };
  /** Resolves when the shard is open on `node`. `from` is null if no node held it. */
  'cluster.move': {
    params: { shard: string; node: string };
    result: { shard: ShardKey; from: string | null; to: string };
  };
  /**
   * Stops the node from accepting shards until it restarts, and gives its shards away. `left` is
   * the number it still holds when its time is up.
   */
  'cluster.drain': { params: { node: string }; result: { node: string; left: number } };
  'cluster.verify': { params: { account: string; collection: string }; result: VerifyResult };
  'cluster.ledger': { params: { collection?: string }; result: LedgerOverview };
  /** Copies a snapshot of the data folder to a folder that is empty or does not exist. */
  'cluster.backup': { params: { folder: string; withoutSecrets?: boolean }; result: Backup };
  /** Starts a backup in the folder for backups. Throws INVALID_ARGUMENT while another one runs. */
  'cluster.startBackup': { params: { name: string; withoutSecrets?: boolean }; result: BackupStatus };
  /** Newest first. Throws INVALID_ARGUMENT if there is no folder for backups. */
  'cluster.backups': { params: RowRange; result: TablePage<BackupStatus> };
  /** Records the operator's decision that the shards' current content is right. */
  'cluster.resume': { params: { collection: string }; result: { collectionId: CollectionId } };
}
