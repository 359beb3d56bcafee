import { collectionAddress } from './collection-address.ts';
import { type AccountContent, ledgerAccount } from './ledger-account.ts';
import { ledgerTransaction } from './ledger-transaction.ts';
import { checkShape, type RecordProof } from './record-proof.ts';
import { requireThat, VerificationError } from './verification-error.ts';
import { type Anchor, verifyAccount } from './verify-account.ts';
import { type ExpectedRecord, verifyProof } from './verify-proof.ts';
import { type AnchoringTransaction, verifyTransaction } from './verify-transaction.ts';

/** What the caller trusts: the only writer of the account, and functions that read the ledger. */
export interface Ledger {
  /** Base58. */
  authority: string;
  collectionId: string;
  readAccount(address: string): Promise<AccountContent | null>;
  /**
   * Returns the `result` of `getTransaction` with `finalized` and `base64`. Without this function,
   * only a proof of the account's current root can be checked.
   */
  readTransaction?(signature: string): Promise<unknown>;
}

/** What the ledger shows about a proof. */
export interface LedgerEvidence {
  /** Current content of the account. */
  anchor: Anchor;
  /** The transaction that wrote the proof's root; null if that is the account's current root. */
  transaction: AnchoringTransaction | null;
}

/**
 * Checks a proof against the collection's account. If the account has a newer root, checks the
 * transaction that anchored the proof's root. Reads both from the node at `rpcUrl`, or with
 * `readAccount` and `readTransaction`. Take `authority` and `collectionId` from your own notes,
 * never from the answer that you check: a proof's root does not cover its `collectionId`. Rejects
 * with a VerificationError if the proof does not hold, also if its root is not on the ledger yet,
 * and with a LedgerError if the ledger cannot be read.
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

/** Returns what the ledger shows. Rejects unless it shows the proof's root and version. */
export async function ledgerEvidence(proof: RecordProof, ledger: Ledger): Promise<LedgerEvidence> {
  checkShape(proof);
  if (ledger.collectionId === undefined) throw new TypeError(missingId(proof));
  const isSame = ledger.collectionId === proof.collectionId;
  requireThat(isSame, 'wrong-content', `The proof is about the collection ${proof.collectionId}.`);
  return anchoredEvidence({ ...proof, what: 'proof' }, ledger);
}

/** A root that something states, and the transaction that is to have anchored it. */
export interface StatedRoot {
  /** What states it, for errors. */
  what: 'proof' | 'manifest';
  merkleRoot: string;
  version: number;
  ledgerTx?: string | null;
}

/** Returns what the ledger shows about a root. Rejects unless it shows the root and its version. */
export async function anchoredEvidence(stated: StatedRoot, ledger: Ledger): Promise<LedgerEvidence> {
  const { authority, collectionId } = ledger;
  const address = collectionAddress(authority, collectionId);
  const account = await ledger.readAccount(address);
  requireThat(account !== null, 'wrong-account', `There is no account ${address} on the ledger: ${whyAbsent(stated)}`);
  const anchor = verifyAccount({ ...account, address }, { authority, collectionId });
  const { what, merkleRoot, version, ledgerTx: signature = null } = stated;
  if (anchor.version === version && anchor.merkleRoot === merkleRoot) return { anchor, transaction: null };
  if (signature === null) throw unanchoredError(stated, anchor);
  requireThat(
    ledger.readTransaction !== undefined,
    'wrong-root',
    `The ledger holds version ${anchor.version} and the ${what} is of version ${version}: give the transaction ${signature}, too.`,
  );
  const found = await ledger.readTransaction(signature);
  const expected = { authority, collectionId, signature, merkleRoot, version };
  return { anchor, transaction: verifyTransaction(found, expected) };
}

/** The root does not cover the proof's id, which a forger could change to another collection. */
const missingId = ({ collectionId }: RecordProof): string =>
  `collectionId is missing: pass the id that you noted when you created the collection. The proof names ${collectionId}, which the proof itself does not prove.`;

/** What names a transaction shows that the collection once had an account. */
function whyAbsent({ what, ledgerTx = null }: StatedRoot): string {
  if (ledgerTx === null) return 'no root of the collection was anchored so far, or it was deleted.';
  return `the collection was deleted, which closes its account, or the node is of another cluster. The verifier refuses ${what}s of deleted collections.`;
}

const sentence = (words: string): string => words.replace(/^./, (first) => first.toUpperCase());

/** Returns the error for a root without a transaction that is not the current one. */
function unanchoredError({ what, version }: StatedRoot, anchor: Anchor): VerificationError {
  const held = `The ledger holds version ${anchor.version}`;
  const [made, again] = what === 'proof' ? ['fetched', 'fetch it again'] : ['signed', 'import again'];
  if (version === 0)
    return new VerificationError(
      'wrong-root',
      `${held}, and the ${what} is of version 0, before the first write, which has no anchor. ${sentence(again)}.`,
    );
  if (anchor.version < version)
    return new VerificationError(
      'wrong-root',
      `${held}, and the ${what} is of version ${version}, whose anchor was pending when it was ${made}: check it again when the ledger holds that version, or ${again}.`,
    );
  if (anchor.version > version)
    return new VerificationError(
      'wrong-root',
      `${held}, and the ${what}, of version ${version}, names no transaction: the anchor of that version was pending when the ${what} was ${made}. ${sentence(again)}.`,
    );
  // A version is a sum over the shards, so two states can share one. This need not be tampering.
  return new VerificationError(
    'wrong-root',
    `The ledger holds another root of version ${anchor.version}, as it can while several shards are written: ${again} when nothing is written. If that one differs too, it is not of what the ledger holds.`,
  );
}
