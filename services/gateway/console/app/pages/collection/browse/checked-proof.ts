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
    const isAnchored = anchor.merkleRoot === proof.merkleRoot && anchor.version === proof.version;
    return { proof, outcome, isAnchored: isAnchored || typeof proof.ledgerTx === 'string' };
  } catch (error) {
    // The verifier's message says which step failed.
    return { fault: (error as Error).message };
  }
}
