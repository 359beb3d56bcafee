import { collectionAddress } from './collection-address.ts';
import { type AccountContent, ledgerAccount } from './ledger-account.ts';
import { ledgerTransaction } from './ledger-transaction.ts';
import { checkShape, type RecordProof } from './record-proof.ts';
import { demand, VerificationError } from './verification-error.ts';
import { type Anchor, verifyAccount } from './verify-account.ts';
import { type ExpectedRecord, verifyProof } from './verify-proof.ts';
import { type AnchoringTransaction, verifyTransaction } from './verify-transaction.ts';

/** What is trusted: the only writer of the account, and the functions that read the ledger. */
export interface Ledger {
  /** Base58. */
  authority: string;
  collectionId: string;
  readAccount(address: string): Promise<AccountContent | null>;
  /**
   * The `result` of `getTransaction` with `finalized` and `base64`. Without it, only a proof of
   * what the account holds now can be checked.
   */
  readTransaction?(signature: string): Promise<unknown>;
}

/** What the ledger shows of a proof. */
export interface LedgerEvidence {
  /** What the account holds now. */
  anchor: Anchor;
  /** The transaction that wrote the proof's root; null if the account holds that root now. */
  transaction: AnchoringTransaction | null;
}

/**
 * Checks a proof against the collection's account and, where that has moved on, against the
 * transaction that anchored the proof's root. A node of the ledger is asked for both (at `rpcUrl`,
 * or by `readAccount` and `readTransaction`). `authority` and `collectionId` are the caller's own:
 * from its notes, never from the answer that is checked. Rejects with a VerificationError where it
 * does not hold, as when the root is not on the ledger yet, and with a LedgerError if the ledger
 * could not be read.
 */
export async function verifyOnLedger(
  proof: RecordProof,
  expected: ExpectedRecord,
  ledger: Ledger | (Omit<Ledger, 'readAccount' | 'readTransaction'> & { rpcUrl: string }),
  { signal }: { signal?: AbortSignal } = {},
): Promise<{ outcome: 'present' | 'absent' } & LedgerEvidence> {
  const { authority, collectionId } = ledger;
  const reads =
    'rpcUrl' in ledger
      ? {
          readAccount: (address: string) => ledgerAccount(ledger.rpcUrl, address, signal),
          readTransaction: (signature: string) => ledgerTransaction(ledger.rpcUrl, signature, signal),
        }
      : ledger;
  const evidence = await ledgerEvidence(proof, { ...reads, authority, collectionId });
  return { outcome: verifyProof(proof.merkleRoot, proof, expected), ...evidence };
}

/** What the ledger shows, if it shows the proof's root and version. */
export async function ledgerEvidence(proof: RecordProof, ledger: Ledger): Promise<LedgerEvidence> {
  const { authority, collectionId } = ledger;
  checkShape(proof);
  const isSame = collectionId === proof.collectionId;
  demand(isSame, 'wrong-content', `The proof is about the collection ${proof.collectionId}.`);
  const address = collectionAddress(authority, collectionId);
  const account = await ledger.readAccount(address);
  demand(account !== null, 'wrong-account', `There is no account ${address} on the ledger: ${whyAbsent(proof)}`);
  const anchor = verifyAccount({ ...account, address }, { authority, collectionId });
  const { merkleRoot, version, ledgerTx: signature = null } = proof;
  if (anchor.version === version && anchor.merkleRoot === merkleRoot) return { anchor, transaction: null };
  if (signature === null) throw unanchored(proof, anchor);
  demand(
    ledger.readTransaction !== undefined,
    'wrong-root',
    `The ledger holds version ${anchor.version} and the proof is of version ${version}: give the transaction ${signature}, too.`,
  );
  const found = await ledger.readTransaction(signature);
  const expected = { authority, collectionId, signature, merkleRoot, version };
  return { anchor, transaction: verifyTransaction(found, expected) };
}

/** A proof that names a transaction was made when the collection had an account. */
function whyAbsent({ ledgerTx = null }: RecordProof): string {
  if (ledgerTx === null) return 'no root of the collection was anchored so far, or it was deleted.';
  return 'the collection was deleted, which closes its account, or the node is of another cluster. The verifier refuses proofs of deleted collections.';
}

/** Error for a proof that names no transaction and whose root the account does not hold. */
function unanchored({ version }: RecordProof, anchor: Anchor): VerificationError {
  const held = `The ledger holds version ${anchor.version}`;
  if (anchor.version < version)
    return new VerificationError(
      'wrong-root',
      `${held}, and the proof is of version ${version}, whose anchor was pending when it was fetched: check it again when the ledger holds that version, or fetch it again.`,
    );
  if (anchor.version > version)
    return new VerificationError(
      'wrong-root',
      `${held}, and the proof, of version ${version}, names no transaction: the anchor of that version was pending when the proof was fetched. Fetch it again.`,
    );
  // A version is a sum over the shards, so two states can share one. The message explains it.
  return new VerificationError(
    'wrong-root',
    `The ledger holds another root of version ${anchor.version}, as it can while several shards are written: fetch a proof again when nothing is written. If that one differs too, it is not of what the ledger holds.`,
  );
}
