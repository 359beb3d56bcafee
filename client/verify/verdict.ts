import { collectionAddress } from './collection-address.ts';
import { checkShape, type RecordProof } from './record-proof.ts';
import { requireThat, VerificationError } from './verification-error.ts';
import { type Ledger, type LedgerEvidence, ledgerEvidence } from './verify-on-ledger.ts';
import { type ExpectedRecord, verifyProof } from './verify-proof.ts';

/** Functions that read the ledger. */
export type LedgerSource = Pick<Ledger, 'readAccount' | 'readTransaction'>;

/**
 * What the user trusts: a root known from elsewhere, or the authority that alone can write the
 * collection's account, with a source for that account.
 */
export type TrustBasis = { root: string } | ({ authority: string } & LedgerSource);

export interface Verdict {
  isProven: boolean;
  /** What is proven; null if nothing is. */
  outcome: 'present' | 'absent' | 'complete' | null;
  /** Why it is not proven; null if it is. */
  failure: VerificationError | null;
  /** Contain text from the proof: escape its controls and marks of direction to show it. */
  lines: string[];
}

/** What the user expects; absent fields are not compared. */
interface Expected extends ExpectedRecord {
  collectionId?: string;
  outcome?: 'present' | 'absent';
}

/**
 * Checks a proof against what the user trusts. `collectionId` pins the collection. Without it, or
 * with only a root, the verdict is about the collection that the proof names, and says so. Rejects
 * with the errors of `readAccount` and `readTransaction`.
 */
export async function verdictOn(
  proof: RecordProof,
  trusted: TrustBasis,
  { collectionId, outcome: wanted, ...expected }: Expected,
): Promise<Verdict> {
  try {
    checkShape(proof);
    const pinned = collectionId ?? proof.collectionId;
    requireThat(
      pinned === proof.collectionId,
      'wrong-content',
      `The proof is about the collection ${proof.collectionId}.`,
    );
    const evidence = 'root' in trusted ? null : await ledgerEvidence(proof, { ...trusted, collectionId: pinned });
    const root = 'root' in trusted ? trusted.root : proof.merkleRoot;
    const outcome = verifyProof(root, proof, expected);
    requireThat((wanted ?? outcome) === outcome, 'wrong-content', `The record is ${outcome}.`);
    // A root does not identify its collection; the account's address does.
    const isProvenOf = collectionId !== undefined && evidence !== null;
    const place = `in the collection ${pinned}${isProvenOf ? '' : ' (as the proof names it)'}`;
    return {
      isProven: true,
      outcome,
      failure: null,
      lines: [
        ...headline(outcome, proof, place, evidence),
        ...(outcome === 'present' ? [`  content    ${comparison(expected)}`] : []),
        `  root       ${root}`,
        ...('root' in trusted
          ? ['  ledger     not asked: the root was given']
          : ledgerLines(proof, trusted, evidence!)),
      ],
    };
  } catch (error) {
    return notProven(error);
  }
}

/** Returns the verdict of a check that failed. Throws an error that is not a VerificationError. */
export function notProven(error: unknown): Verdict {
  if (!(error instanceof VerificationError)) throw error;
  const { message, reason } = error;
  return { isProven: false, outcome: null, failure: error, lines: [`NOT PROVEN  ${message} (${reason})`] };
}

function nameOf({ id, namespace = '' }: RecordProof): string {
  const name = JSON.stringify(id);
  return namespace === '' ? name : `${name} of the namespace ${JSON.stringify(namespace)}`;
}

function comparison({ values, metadata }: ExpectedRecord): string {
  if (values !== undefined && metadata !== undefined) return 'as expected';
  if (values !== undefined) return 'values as expected; metadata not compared';
  if (metadata !== undefined) return 'metadata as expected; values not compared';
  return 'not compared: no record was given';
}

/** States what is proven, for the current version on the ledger or an earlier one. */
function headline(
  outcome: 'present' | 'absent',
  proof: RecordProof,
  place: string,
  evidence: LedgerEvidence | null,
): string[] {
  const verdict = outcome.toUpperCase();
  const is = outcome === 'present' ? 'is' : 'is not';
  if (!evidence?.transaction) return [`${verdict}  ${nameOf(proof)} ${is} ${place}`];
  const { anchor, transaction } = evidence;
  const when = transaction.anchoredAt ?? `in slot ${transaction.slot}`;
  return [
    `${verdict} at version ${proof.version}, anchored ${when}; the collection is now at version ${anchor.version}`,
    `  record     ${nameOf(proof)} ${outcome === 'present' ? 'was' : 'was not'} ${place}`,
  ];
}

function ledgerLines(
  { version, collectionId }: RecordProof,
  { authority }: { authority: string },
  { anchor, transaction }: LedgerEvidence,
): string[] {
  const count = `${anchor.vectorCount} ${anchor.vectorCount === 1 ? 'vector' : 'vectors'}`;
  return [
    transaction === null
      ? `  version    ${version}, of ${count}`
      : `  written    by the transaction ${transaction.signature}`,
    `  ledger     ${collectionAddress(authority, collectionId)}, written by ${authority}`,
  ];
}
