import { collectionAddress } from './collection-address.ts';
import { type AccountContent, ledgerAccount } from './ledger-account.ts';
import { checkShape, type RecordProof } from './record-proof.ts';
import { demand } from './verification-error.ts';
import { type Anchor, verifyAccount } from './verify-account.ts';
import { type ExpectedRecord, verifyProof } from './verify-proof.ts';

/** What of the ledger is trusted: who alone may write the account, and whoever reads it. */
export interface Ledger {
  /** Base58. */
  authority: string;
  collectionId: string;
  readAccount(address: string): Promise<AccountContent | null>;
}

/**
 * Checks a proof against the collection's account, which a node of the ledger is asked for (at
 * `rpcUrl`, or by `readAccount`). `authority` and `collectionId` are the caller's own: from its
 * notes, never from the answer that is checked. Rejects with a VerificationError where it does not
 * hold, as when the root is not on the ledger yet, and with a LedgerError where nobody could be
 * asked.
 */
export async function verifyOnLedger(
  proof: RecordProof,
  expected: ExpectedRecord,
  ledger: Ledger | (Omit<Ledger, 'readAccount'> & { rpcUrl: string }),
  { signal }: { signal?: AbortSignal } = {},
): Promise<{ outcome: 'present' | 'absent'; anchor: Anchor }> {
  const { authority, collectionId } = ledger;
  const readAccount = (address: string) =>
    'rpcUrl' in ledger ? ledgerAccount(ledger.rpcUrl, address, signal) : ledger.readAccount(address);
  const anchor = await anchoredRoot(proof, { authority, collectionId, readAccount });
  return { outcome: verifyProof(anchor.merkleRoot, proof, expected), anchor };
}

/** What the ledger holds of the collection, if that is what the proof is about. */
export async function anchoredRoot(
  proof: RecordProof,
  { authority, collectionId, readAccount }: Ledger,
): Promise<Anchor> {
  checkShape(proof);
  const isSame = collectionId === proof.collectionId;
  demand(isSame, 'wrong-content', `The proof is about the collection ${proof.collectionId}.`);
  const address = collectionAddress(authority, collectionId);
  const account = await readAccount(address);
  demand(
    account !== null,
    'wrong-account',
    `There is no account ${address} on the ledger: no root of the collection was anchored so far, or it was deleted.`,
  );
  const anchor = verifyAccount({ ...account, address }, { authority, collectionId });
  demand(
    anchor.version === proof.version,
    'wrong-root',
    `The ledger holds version ${anchor.version} and the proof is of version ${proof.version}: fetch a proof again, or check this one against the root that the account's transaction of version ${proof.version} wrote.`,
  );
  // Said here, as there it would read like tampering: a version is a sum over the shards.
  demand(
    anchor.merkleRoot === proof.merkleRoot,
    'wrong-root',
    `The ledger holds another root of version ${anchor.version}, as it can while several shards are written: fetch a proof again when nothing is written. If that one differs too, it is not of what the ledger holds.`,
  );
  return anchor;
}
