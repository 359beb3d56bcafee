import { collectionAddress } from './collection-address.ts';
import { notProven, type TrustBasis, type Verdict } from './verdict.ts';
import { requireThat } from './verification-error.ts';
import { verifyAccount } from './verify-account.ts';
import { type VerifiedExport, verifyExport } from './verify-export.ts';
import type { LedgerEvidence } from './verify-on-ledger.ts';
import { verifyTransaction } from './verify-transaction.ts';

interface ExportSource {
  /** Pins the collection. Without it, the verdict is about the collection that the export names. */
  collectionId?: string;
  /** Base58: the transaction that anchored the export's root, if the collection has moved on. */
  signature?: string;
}

/**
 * Checks that the lines of an export are all records of a collection, against what the user trusts.
 * Rejects with the errors of `readAccount` and `readTransaction`.
 */
export async function verdictOnExport(
  lines: AsyncIterable<string>,
  trusted: TrustBasis,
  { collectionId, signature }: ExportSource,
): Promise<Verdict> {
  try {
    const found = await verifyExport(lines);
    const pinned = collectionId ?? found.collectionId;
    const isSame = pinned === found.collectionId;
    requireThat(isSame, 'wrong-content', `The export is of the collection ${found.collectionId}.`);
    const evidence = 'root' in trusted ? null : await evidenceOf(found, trusted, signature);
    if ('root' in trusted)
      requireThat(trusted.root === found.merkleRoot, 'wrong-root', 'The records have another root.');
    const isProvenOf = collectionId !== undefined && evidence !== null;
    const place = `the collection ${pinned}${isProvenOf ? '' : ' (as the export names it)'}`;
    return {
      isProven: true,
      outcome: 'complete',
      failure: null,
      lines: [
        ...headline(found, place, evidence),
        `  root       ${found.merkleRoot}`,
        ...('root' in trusted
          ? ['  ledger     not asked: the root was given']
          : [`  ledger     ${collectionAddress(trusted.authority, pinned)}, written by ${trusted.authority}`]),
      ],
    };
  } catch (error) {
    return notProven(error);
  }
}

/** Versions are not compared: two states can share one. */
async function evidenceOf(
  { collectionId, merkleRoot, version }: VerifiedExport,
  { authority, readAccount, readTransaction }: Exclude<TrustBasis, { root: string }>,
  signature: string | undefined,
): Promise<LedgerEvidence> {
  const address = collectionAddress(authority, collectionId);
  const account = await readAccount(address);
  requireThat(account !== null, 'wrong-account', `There is no account ${address} on the ledger.`);
  const anchor = verifyAccount({ ...account, address }, { authority, collectionId });
  if (anchor.merkleRoot === merkleRoot) return { anchor, transaction: null };
  requireThat(
    signature !== undefined && readTransaction !== undefined,
    'wrong-root',
    `The ledger holds another root, of version ${anchor.version}; the export is of version ${version}. Give the transaction that anchored the export's root (GET .../anchors lists it), or export again while nothing is written.`,
  );
  const expected = { authority, collectionId, signature, merkleRoot, version };
  return { anchor, transaction: verifyTransaction(await readTransaction(signature), expected) };
}

function headline({ vectorCount, version }: VerifiedExport, place: string, evidence: LedgerEvidence | null): string[] {
  const records = vectorCount === 1 ? '1 record' : `${vectorCount} records`;
  if (!evidence?.transaction) return [`COMPLETE  the file has all of ${place}: ${records}, none changed`];
  const { anchor, transaction } = evidence;
  const when = transaction.anchoredAt ?? `in slot ${transaction.slot}`;
  return [
    `COMPLETE at version ${version}, anchored ${when}; the collection is now at version ${anchor.version}`,
    `  records    the file has all ${records} of ${place}`,
    `  written    by the transaction ${transaction.signature}`,
  ];
}
