import { createInterface } from 'node:readline';
import { type TrustOptions, trustedIn } from '../client/cli/proof-file.ts';
import {
  collectionAddress,
  VerificationError,
  type VerificationFailure,
  type VerifiedExport,
  verifyAccount,
  verifyExport,
} from '../client/index.ts';
import { openInput } from './input/read-text.ts';
import { countedRecords } from './output/counted.ts';

interface ExportVerdict {
  /** What `--json` prints. */
  document: Partial<VerifiedExport> & {
    verified: boolean;
    /** What the root was compared with; null if only with what the file states. */
    comparedWith: 'root' | 'ledger' | null;
    reason?: VerificationFailure;
    message?: string;
  };
  /** Contain text from the file: pass them through `printable`. */
  lines: string[];
}

/**
 * Computes the root of an export's records, and compares it with the root that the user trusts or
 * with the ledger. Without either, it is compared only with the root that the file states.
 */
export async function verdictOnExport(
  path: string,
  trust: TrustOptions,
  collectionId: string | undefined,
): Promise<ExportVerdict> {
  const isTrustGiven = Object.values(trust).some((value) => value !== undefined);
  const trusted = isTrustGiven ? trustedIn(trust) : null;
  const comparedWith = trusted === null ? null : 'root' in trusted ? 'root' : 'ledger';
  try {
    const found = await verifyExport(createInterface({ input: openInput(path), crlfDelay: Infinity }));
    const pinned = collectionId ?? found.collectionId;
    if (pinned !== found.collectionId)
      throw new VerificationError('wrong-content', `The export is of the collection ${found.collectionId}.`);
    const known = trusted === null ? null : 'root' in trusted ? trusted.root : await anchoredRoot(trusted, pinned);
    if (known !== null && known !== found.merkleRoot)
      throw new VerificationError('wrong-root', `The export has the root ${found.merkleRoot}, not ${known}.`);
    return { document: { verified: true, comparedWith, ...found }, lines: linesOf(found, comparedWith) };
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    const { reason, message } = error;
    return {
      document: { verified: false, comparedWith, reason, message },
      lines: [`NOT VERIFIED  ${message} (${reason})`],
    };
  }
}

/** Returns the newest root on the ledger. Rejects with a VerificationError if there is none. */
async function anchoredRoot(
  { authority, readAccount }: Exclude<ReturnType<typeof trustedIn>, { root: string }>,
  collectionId: string,
): Promise<string> {
  const address = collectionAddress(authority, collectionId);
  const account = await readAccount(address);
  if (account === null) throw new VerificationError('wrong-account', `There is no account ${address} on the ledger.`);
  return verifyAccount({ ...account, address }, { authority, collectionId }).merkleRoot;
}

function linesOf(found: VerifiedExport, comparedWith: 'root' | 'ledger' | null): string[] {
  const compared = {
    root: 'the given root',
    ledger: "the newest root in the collection's account",
    none: 'only the root that the file states; give --root, or --authority with --rpc',
  };
  return [
    `WHOLE  ${countedRecords(found.vectorCount)} of the collection ${found.collectionId}`,
    `  root           ${found.merkleRoot}`,
    `  compared with  ${compared[comparedWith ?? 'none']}`,
  ];
}
