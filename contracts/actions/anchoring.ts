import type { CollectionId } from '../../lib/ids.ts';
import type { AnchoredRoot } from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { AnchorHistoryItem, AnchorRow } from '../../store/anchors.ts';

export type AnchorStatus = 'confirmed' | 'pending' | 'none';

/** Anchor state reported with a write. `signature` is of a transaction whose root covers it. */
export interface AnchorReceipt {
  status: AnchorStatus;
  signature: string | null;
  /** Null when no explorer can show the transaction; so are all others below. */
  explorerUrl: string | null;
}

export interface LedgerInfo {
  /** False with PROVEC_LEDGER=off: nothing is anchored, and verify reports `not_anchored`. */
  enabled: boolean;
  /** Address of the Token-2022 program. */
  program: string;
  /** Base58; null when the ledger is off. */
  authority: string | null;
  cluster: string;
  /** Origins of the RPC URLs; paths and queries may contain keys. Empty when the ledger is off. */
  rpc: string[];
  isEmbedded: boolean;
}

/** The collection's account on the ledger. `foreign`: wrong owner program, authority or address. */
export type OnChain =
  | ({ status: 'found'; address: string; explorerUrl: string | null } & AnchoredRoot)
  | { status: 'absent' | 'foreign' | 'unreachable'; reason: string; address: string; explorerUrl: string | null };

/** A confirmed root of the past. */
export interface PastAnchor extends Omit<AnchorHistoryItem, 'decisions' | 'place'> {
  /** Place in the collection's history; later roots have higher ones. */
  position: number;
  /** The account's decision count; null for roots that earlier versions confirmed. */
  decisions: number | null;
  /** False for roots that earlier versions confirmed, and where this service has no keypair. */
  isSealed: boolean;
}

/** What shows that the stored history was changed, at a position. */
export interface HistoryFault {
  position: number;
  fault: string;
}

export interface AnchorHistoryPage<T extends PastAnchor = PastAnchor> {
  items: T[];
  faults: HistoryFault[];
  /** Number of roots, older than all others, that are no longer kept. */
  dropped: number;
  /** Position of the page's last entry; null on the last page. */
  next: number | null;
}

export interface AnchoringStats {
  pending: number;
  /** Age of the oldest root that is requested but not confirmed; 0 if there is none. */
  oldestPendingSeconds: number;
  confirmed: number;
  failures: number;
  halted: number;
}

export interface AnchoringActions {
  /** Requests anchoring of `cut`. Waits up to `waitMs` for a confirmed root that contains it. */
  'anchoring.submit': { params: { collectionId: CollectionId; cut: Cut; waitMs: number }; result: AnchorReceipt };
  /**
   * Waits up to `waitMs` for a confirmed root whose cut contains `cut`, without requesting one.
   * Returns `pending` at once when the collection has no anchor row, is halted or is being closed.
   * Otherwise it waits even if no root is pending: another instance may be about to request one.
   */
  'anchoring.confirmation': { params: { collectionId: CollectionId; cut: Cut; waitMs: number }; result: AnchorReceipt };
  'anchoring.state': { params: { collectionId: CollectionId }; result: AnchorRow | null };
  /** Address of the collection's account, which may not exist yet; null when the ledger is off. */
  'anchoring.address': {
    params: { collectionId: CollectionId };
    result: { address: string; explorerUrl: string | null } | null;
  };
  'anchoring.onChain': { params: { collectionId: CollectionId }; result: OnChain };
  'anchoring.explorerUrl': { params: { signature: string }; result: string | null };
  /** Returns confirmed roots with a position below `before` (null: all), newest first. */
  'anchoring.history': {
    params: { collectionId: CollectionId; limit: number; before: number | null };
    result: AnchorHistoryPage<PastAnchor & { explorerUrl: string | null }>;
  };
  /** Halts anchoring of a collection until an operator resumes it. */
  'anchoring.halt': { params: { collectionId: CollectionId; reason: string }; result: null };
  /** Resumes anchoring after an operator has decided that the shards' current content is right. */
  'anchoring.resume': { params: { collectionId: CollectionId }; result: null };
  /** Closes the collection's account and deletes its row and history, in the background. */
  'anchoring.close': { params: { collectionId: CollectionId }; result: null };
  'anchoring.info': { params: Record<string, never>; result: LedgerInfo };
  /** Asks the ledger for the authority's balance; null if the ledger is off or does not answer. */
  'anchoring.balance': { params: Record<string, never>; result: { lamports: number | null } };
  'anchoring.stats': { params: Record<string, never>; result: AnchoringStats };
}
