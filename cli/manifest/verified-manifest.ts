import { InputError } from '../../client/cli/json-file.ts';
import { type TrustOptions, trustedIn } from '../../client/cli/proof-file.ts';
import { VerificationError } from '../../client/index.ts';
import { anchoredEvidence, type LedgerEvidence } from '../../client/verify/verify-on-ledger.ts';
import { type Comparison, comparedWithCollection } from '../moving/read-back.ts';
import { countedRecords } from '../output/counted.ts';
import type { Session } from '../session.ts';
import { demand, ManifestError, type ManifestFailure } from './manifest-lines.ts';
import { type ReadManifest, readManifest } from './manifest-reader.ts';
import { ownSigner } from './signing-key.ts';

const SIGNER = /^[0-9a-f]{64}$/;

export interface ManifestOptions extends TrustOptions {
  /** Public key that must have signed; this user's own by default. */
  signer?: string;
  /** Id of the collection that it must be about. */
  collectionId?: string;
  /** Collection that is compared with the manifest as it is now. */
  collection?: string;
}

export interface ManifestVerdict {
  /** What `--json` prints. */
  document: { verified: boolean; reason?: ManifestFailure; message?: string; [field: string]: unknown };
  /** Contain text from the file: pass them through `printable`. */
  lines: string[];
}

/** Checks a manifest against what the user trusts, and with a collection's name against that. */
export async function verdictOnManifest(
  session: Session,
  path: string,
  options: ManifestOptions,
): Promise<ManifestVerdict> {
  const { signer: given, collectionId, collection, ...trust } = options;
  if (given !== undefined && !SIGNER.test(given)) throw new InputError('--signer must be 64 lower-case hex digits.');
  const signer = given ?? (await ownSigner());
  if (signer === null)
    throw new InputError('You have no key of your own here: give --signer, which provec import-from printed.');
  const isTrustGiven = Object.values(trust).some((value) => value !== undefined);
  const trusted = isTrustGiven ? trustedIn(trust) : null;
  try {
    const manifest = await readManifest(path, signer);
    const subject = manifest.head.target.collectionId;
    demand((collectionId ?? subject) === subject, 'wrong-content', `It is about the collection ${subject}.`);
    const evidence = trusted === null ? null : await evidenceFor(manifest, trusted);
    const comparison = collection === undefined ? null : await compared(session, collection, manifest);
    return verdict(manifest, evidence, comparison, trusted !== null && 'root' in trusted);
  } catch (error) {
    if (!(error instanceof ManifestError) && !(error instanceof VerificationError)) throw error;
    const { reason, message } = error;
    return { document: { verified: false, reason, message }, lines: [`NOT VERIFIED  ${message} (${reason})`] };
  }
}

/**
 * Compares the root with the one that the user trusts, and returns null, or with the ledger.
 * Rejects with a ManifestError or a VerificationError if it is another one.
 */
async function evidenceFor(
  { head, end }: ReadManifest,
  trusted: ReturnType<typeof trustedIn>,
): Promise<LedgerEvidence | null> {
  if ('root' in trusted) {
    demand(end.merkleRoot === trusted.root, 'wrong-root', `It has the root ${end.merkleRoot}, not ${trusted.root}.`);
    return null;
  }
  const { collectionId } = head.target;
  const evidence = await anchoredEvidence({ ...end, what: 'manifest' }, { ...trusted, collectionId });
  demand(
    evidence.transaction !== null || evidence.anchor.vectorCount === end.vectorCount,
    'wrong-content',
    `It states ${countedRecords(end.vectorCount)} in the collection, and the ledger ${evidence.anchor.vectorCount}.`,
  );
  return evidence;
}

/** Rejects with a ManifestError unless the collection has every record of the manifest. */
async function compared(session: Session, name: string, { head, leaves }: ReadManifest): Promise<Comparison> {
  const collection = await session.collection(name);
  const { id } = await collection.describe(session.request);
  demand(
    id === head.target.collectionId,
    'wrong-content',
    `It is about another collection than ${name}: ${head.target.collectionId}.`,
  );
  const found = await comparedWithCollection(session, collection, leaves);
  const { missing, changed, examples } = found;
  const isWhole = missing === 0 && changed === 0;
  const named = examples.length > 0 ? `: ${examples.map((id) => JSON.stringify(id)).join(', ')}` : '';
  demand(
    isWhole,
    'wrong-content',
    `The collection lacks ${countedRecords(missing)} of it, and has ${countedRecords(changed)} with other content${named}.`,
  );
  demand(
    found.isRootGiven,
    'wrong-root',
    'The records of the collection do not give the root that the service states.',
  );
  return found;
}

function verdict(
  { head, end }: ReadManifest,
  evidence: LedgerEvidence | null,
  comparison: Comparison | null,
  isRootGiven: boolean,
): ManifestVerdict {
  const { count, vectorCount, merkleRoot, version, ledgerTx } = end;
  const isWholeCollection = count === vectorCount;
  const others = vectorCount - count;
  return {
    document: {
      verified: true,
      signer: head.signer,
      startedAt: head.startedAt,
      finishedAt: end.finishedAt,
      source: head.source,
      sourceCount: end.sourceCount,
      leftOut: end.leftOut,
      collectionId: head.target.collectionId,
      count,
      merkleRoot,
      version,
      ledgerTx,
      isRootOfRecords: isWholeCollection,
      comparedWith: evidence !== null ? 'ledger' : isRootGiven ? 'root' : null,
      anchoredAt: evidence?.transaction?.anchoredAt ?? null,
      otherRecords: comparison?.others ?? null,
    },
    lines: [
      `VERIFIED  ${countedRecords(count)} that ${head.source.kind} returned, moved ${end.finishedAt}`,
      `  signed by   ${head.signer}`,
      `  source      ${Object.values(head.source).join(' ')}`,
      `  collection  ${head.target.collectionId}`,
      `  root        ${merkleRoot} version ${version}`,
      `  records     ${isWholeCollection ? 'give the root' : `do not give the root: the collection held ${countedRecords(others)} besides`}`,
      `  ledger      ${ledgerText(evidence, isRootGiven)}`,
      ...(comparison === null
        ? []
        : [`  now         the collection has all of them unchanged, and ${countedRecords(comparison.others)} besides`]),
    ],
  };
}

function ledgerText(evidence: LedgerEvidence | null, isRootGiven: boolean): string {
  if (evidence === null)
    return isRootGiven ? 'not asked: the root was given' : 'not asked: give --authority with --rpc';
  const { transaction } = evidence;
  if (transaction === null) return 'the account has this root';
  return `anchored ${transaction.anchoredAt ?? `in slot ${transaction.slot}`} by the transaction ${transaction.signature}`;
}
