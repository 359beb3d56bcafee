import { collectionAddress } from '../verify/collection-address.ts';
import type { AccountContent } from '../verify/ledger-account.ts';
import { checkShape, type RecordProof } from '../verify/record-proof.ts';
import { demand, VerificationError } from '../verify/verification-error.ts';
import { anchoredRoot } from '../verify/verify-on-ledger.ts';
import { type ExpectedRecord, verifyProof } from '../verify/verify-proof.ts';

/**
 * What the reader trusts: a root that they have from elsewhere, or the authority that alone writes
 * the collection's account.
 */
export type Trusted =
  | { root: string }
  | { authority: string; readAccount(address: string): Promise<AccountContent | null> };

export interface Verdict {
  isProven: boolean;
  /** They hold the proof's own text: to be shown as `printable` makes it. */
  lines: string[];
}

/** What the reader expects; what is left out is not compared. */
interface Expected extends ExpectedRecord {
  collectionId?: string;
  outcome?: 'present' | 'absent';
}

/**
 * Holds a proof against what the reader trusts. `collectionId` pins the collection; without it, and
 * with a root alone, the one that the proof names is taken, and said. Rejects with what
 * `readAccount` rejects with.
 */
export async function verdictOn(
  proof: RecordProof,
  trusted: Trusted,
  { collectionId, outcome: wanted, ...expected }: Expected,
): Promise<Verdict> {
  try {
    checkShape(proof);
    const pinned = collectionId ?? proof.collectionId;
    demand(pinned === proof.collectionId, 'wrong-content', `The proof is about the collection ${proof.collectionId}.`);
    const { root, ledger } = await rootOf(proof, trusted, pinned);
    const outcome = verifyProof(root, proof, expected);
    // A root says nothing of the collection that it is of; the account's address does.
    const isProvenOf = collectionId !== undefined && !('root' in trusted);
    demand((wanted ?? outcome) === outcome, 'wrong-content', `The record is ${outcome}.`);
    return {
      isProven: true,
      lines: [
        `${outcome.toUpperCase()}  ${nameOf(proof)} ${outcome === 'present' ? 'is' : 'is not'} in the collection ${pinned}${isProvenOf ? '' : ' (as the proof names it)'}`,
        ...(outcome === 'present' ? [`  content    ${comparison(expected)}`] : []),
        `  root       ${root}`,
        ...ledger,
      ],
    };
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return { isProven: false, lines: [`NOT PROVEN  ${error.message} (${error.reason})`] };
  }
}

function nameOf({ id, namespace = '' }: RecordProof): string {
  const name = JSON.stringify(id);
  return namespace === '' ? name : `${name} of the namespace ${JSON.stringify(namespace)}`;
}

function comparison({ values, metadata }: ExpectedRecord): string {
  if (values !== undefined && metadata !== undefined) return 'as expected';
  if (values !== undefined) return 'values as expected; metadata not compared';
  if (metadata !== undefined) return 'metadata as expected; values not compared';
  return 'not compared: give --record';
}

async function rootOf(
  proof: RecordProof,
  trusted: Trusted,
  collectionId: string,
): Promise<{ root: string; ledger: string[] }> {
  if ('root' in trusted) return { root: trusted.root, ledger: ['  ledger     not asked: the root was given'] };
  const { authority } = trusted;
  const anchor = await anchoredRoot(proof, { ...trusted, collectionId });
  return {
    root: anchor.merkleRoot,
    ledger: [
      `  version    ${anchor.version}, of ${anchor.vectorCount} ${anchor.vectorCount === 1 ? 'vector' : 'vectors'}`,
      `  ledger     ${collectionAddress(authority, collectionId)}, written by ${authority}`,
    ],
  };
}
