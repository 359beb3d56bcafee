import type * as Api from '../../../../../../../client/api/generated.ts';
import type { RecordProof } from '../../../../../../../client/verify/record-proof.ts';
import { ask } from '../../../data/service.ts';
import type { RecordPlace } from './record-place.ts';

/** A proof, and what this browser found when it checked it. */
export interface CheckedProof {
  proof: RecordProof;
  outcome: 'present' | 'absent';
  /** Where the ledger stands: the root is on it, or is not yet. */
  isAnchored: boolean;
}

/** A proof that holds, or why it does not. */
export type ProofVerdict = CheckedProof | { fault: string };

/** A path may be sound and lead to a root that is on no ledger, as after a change on disk. */
const OTHER_ROOT =
  'It leads to a root that is not the one on the ledger. Verify, under Trust, says which records differ.';

/** Fetches a proof and checks it here, against what the page shows. */
export async function checkedProof(
  { collection, id, namespace }: RecordPlace,
  record: Api.StoredRecord | null,
  signal: AbortSignal,
): Promise<ProofVerdict> {
  const at = { id, ...(namespace !== '' && { namespace }) };
  const path = { name: collection.name };
  const { proof } = await ask('proveRecord', { path, query: at }, signal);
  const { anchor } = (await ask('getCollection', { path }, signal)).collection;
  const { verifyProof } = await import('../../../../../../../client/verify/verify-proof.ts');
  const content = record === null ? {} : { values: record.values, metadata: record.metadata };
  try {
    const outcome = verifyProof(proof.merkleRoot, proof, { ...at, ...content });
    const isNewest = anchor.merkleRoot === proof.merkleRoot && anchor.version === proof.version;
    const isAnchored = isNewest || typeof proof.ledgerTx === 'string';
    if (!isAnchored && (anchor.status === 'halted' || anchor.version === proof.version)) return { fault: OTHER_ROOT };
    return { proof, outcome, isAnchored };
  } catch (error) {
    // The verifier's message says which step failed.
    return { fault: (error as Error).message };
  }
}
