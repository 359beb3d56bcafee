import type { ErrorCode } from '../errors.ts';
import type { RecordDifference } from '../shard/recomputed.ts';
import type { CollectionRow } from '../store/catalog.ts';

export type VerifyState = 'match' | 'mismatch' | 'pending' | 'unreachable' | 'none' | 'not_anchored';

export interface VerifyResult {
  verified: boolean;
  onChainRoot: string | null;
  computedRoot: string;
  match: boolean;
  vectorCount: number;
  ledgerExplorerUrl: string | null;
  state: VerifyState;
  version: number;
  anchoredVersion: number | null;
  ledgerAddress: string | null;
  checkedAt: string;
  /** A sentence when the state is not match. */
  reason?: string;
  differences?: NamedDifference[];
}

/** `namespace`: where it is not the default one. */
export type NamedDifference = RecordDifference & { namespace?: string };

/** A verification that runs in the background, or ended lately. */
export interface Verification {
  id: string;
  state: 'running' | 'done' | 'failed';
  /**
   * Records recomputed so far, of those that there were at the start: never more, and all when
   * done.
   */
  progress: { scanned: number; total: number };
  /** When done. */
  result?: VerifyResult;
  /** When failed. */
  error?: { code: ErrorCode; message: string };
}

interface Named {
  accountId: string;
  name: string;
}

export interface VerificationActions {
  'verification.verify': { params: Named; result: VerifyResult };
  /**
   * Begins one in the background, or gives the one that runs. Throws UNAVAILABLE where too many
   * run. `collection`: its own name, where it was named by an alias.
   */
  'verification.begin': { params: Named; result: Verification & { collection: string } };
  /** Throws VERIFICATION_NOT_FOUND. */
  'verification.get': { params: Named & { id: string }; result: Verification };
  /** `begin` on the asked node. */
  'verification.run': { params: { collection: CollectionRow }; result: Verification };
  /** What the asked node has by that id; without an id, what it runs. */
  'verification.find': { params: { collectionId: string; id?: string }; result: Verification | null };
}
