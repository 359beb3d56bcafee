import type { RecordDifference } from '../shard/recomputed.ts';

export type VerifyState = 'match' | 'mismatch' | 'pending' | 'unreachable' | 'not_anchored';

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

export interface VerificationActions {
  'verification.verify': { params: { accountId: string; name: string }; result: VerifyResult };
}
