import type { ErrorCode } from '../../lib/errors.ts';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import type { RecordDifference } from '../../lib/shard/recomputed.ts';
import type { CollectionRow } from '../../store/catalog.ts';

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
  /** A sentence, set unless the state is `match`. */
  reason?: string;
  differences?: NamedDifference[];
}

/** `namespace` is absent for the default namespace. */
export type NamedDifference = RecordDifference & { namespace?: string };

/** A verification that runs in the background or ended recently. */
export interface Verification {
  id: string;
  state: 'running' | 'done' | 'failed';
  /** Records recomputed, out of the number at the start, which `scanned` never exceeds. */
  progress: { scanned: number; total: number };
  /** Set when done. */
  result?: VerifyResult;
  /** Set when failed. */
  error?: { code: ErrorCode; message: string };
}

/** A background verification as an operator sees it: whose, since when, and its outcome. */
export interface VerificationOverview extends Pick<Verification, 'id' | 'state' | 'progress'> {
  collectionId: CollectionId;
  /** `<account id>/<name>` */
  collection: string;
  /** ISO 8601 UTC. */
  startedAt: string;
  /** ISO 8601 UTC; null while it runs. */
  endedAt: string | null;
  /** State of the result; null unless it is done. */
  verdict: VerifyState | null;
  /** Why it failed; null unless it did. */
  error: string | null;
}

interface VerifyTarget {
  accountId: AccountId;
  name: string;
}

export interface VerificationActions {
  'verification.verify': { params: VerifyTarget; result: VerifyResult };
  /**
   * Starts a background verification, or returns the running one. Throws UNAVAILABLE if too many
   * run. `collection` is the collection's own name, also if the call used an alias.
   */
  'verification.begin': { params: VerifyTarget; result: Verification & { collection: string } };
  /** Throws VERIFICATION_NOT_FOUND. */
  'verification.get': { params: VerifyTarget & { id: string }; result: Verification };
  /** Performs `begin` on the called node. */
  'verification.run': { params: { collection: CollectionRow }; result: Verification };
  /** Returns the called node's verification with that id, or its running one if no id is given. */
  'verification.find': { params: { collectionId: CollectionId; id?: string }; result: Verification | null };
  /** Returns the called node's running verifications, and the newest ones that ended. */
  'verification.list': { params: Record<string, never>; result: VerificationOverview[] };
}
