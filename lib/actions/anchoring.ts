import type { AnchoredRoot } from '../shard/collection-root.ts';
import type { Cut } from '../shard/head.ts';
import type { AnchorHistoryItem, AnchorRow } from '../store/anchors.ts';

export type AnchorStatus = 'confirmed' | 'pending' | 'none';

/**
 * What a write learns of its anchor. `signature` is that of a confirmed transaction whose root
 * contains the write.
 */
export interface AnchorReceipt {
  status: AnchorStatus;
  signature: string | null;
  /** Null where no explorer could open it; so everywhere below. */
  explorerUrl: string | null;
}

export interface LedgerInfo {
  /** False with PROVEC_LEDGER=off: nothing is anchored, and verify says not_anchored. */
  enabled: boolean;
  /** Token-2022. */
  program: string;
  /** Base58; null when the ledger is off. */
  authority: string | null;
  cluster: string;
  /** Origins of its RPC nodes, whose paths and queries may hold keys; none when it is off. */
  rpc: string[];
  isEmbedded: boolean;
}

/**
 * The collection's account as read from the ledger just now, after the checks of owner program,
 * authority and address.
 */
export type OnChain =
  | ({ status: 'found'; address: string; explorerUrl: string | null } & AnchoredRoot)
  | { status: 'absent' | 'foreign' | 'unreachable'; reason: string; address: string; explorerUrl: string | null };

export interface AnchoringStats {
  pending: number;
  /** Age of the oldest wanted but unconfirmed anchor; 0 when none waits. */
  oldestPendingSeconds: number;
  confirmed: number;
  failures: number;
  halted: number;
}

export interface AnchoringActions {
  /**
   * Wants `cut` on chain and waits up to `waitMs` for a confirmed root whose cut contains it (every
   * seq at least as high).
   */
  'anchoring.submit': { params: { collectionId: string; cut: Cut; waitMs: number }; result: AnchorReceipt };
  /**
   * Waits up to `waitMs` for a confirmed root whose cut contains `cut`. It writes nothing, and does
   * not request such a root. It returns `pending` without a wait where the collection has no row,
   * is halted or is being closed. Otherwise it waits even while no root is on its way: another
   * instance may be about to request one.
   */
  'anchoring.confirmation': { params: { collectionId: string; cut: Cut; waitMs: number }; result: AnchorReceipt };
  'anchoring.state': { params: { collectionId: string }; result: AnchorRow | null };
  /**
   * Address and explorer link of the collection's account, whether or not it exists yet; null when
   * the ledger is off.
   */
  'anchoring.address': {
    params: { collectionId: string };
    result: { address: string; explorerUrl: string | null } | null;
  };
  'anchoring.onChain': { params: { collectionId: string }; result: OnChain };
  'anchoring.explorerUrl': { params: { signature: string }; result: string | null };
  'anchoring.history': {
    params: { collectionId: string; limit: number; beforeVersion: number | null };
    result: (AnchorHistoryItem & { explorerUrl: string | null })[];
  };
  /** Stops anchoring of a collection until an operator decides. */
  'anchoring.halt': { params: { collectionId: string; reason: string }; result: null };
  /**
   * The operator's decision: what the shards hold now is right. Their roots are recorded as they
   * are, and anchored next.
   */
  'anchoring.resume': { params: { collectionId: string }; result: null };
  /**
   * Closes the collection's account, reclaims its rent, forgets its row and history; goes on in the
   * background until done.
   */
  'anchoring.close': { params: { collectionId: string }; result: null };
  'anchoring.info': { params: Record<string, never>; result: LedgerInfo };
  'anchoring.stats': { params: Record<string, never>; result: AnchoringStats };
}
