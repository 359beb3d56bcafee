/** Carries out the plan of an import from a source, and signs what was moved. */
import type { Api, Provec } from '../../client/index.ts';
import { Checkpoint } from '../input/checkpoint.ts';
import { FORMAT, type ManifestEnd, type ManifestHead } from '../manifest/manifest-lines.ts';
import { ManifestWriter } from '../manifest/manifest-writer.ts';
import { ownKey } from '../manifest/signing-key.ts';
import { recordsWere } from '../output/counted.ts';
import { writeError } from '../output/streams.ts';
import type { Session } from '../session.ts';
import type { Source } from '../sources/port.ts';
import { anchorOfRoot, type RootAnchor } from './anchor-of-root.ts';
import type { Plan, PlanOptions } from './plan.ts';
import { type Comparison, comparedWithCollection } from './read-back.ts';
import { type MoveState, transferred } from './transfer.ts';

export interface MoveOptions extends PlanOptions {
  /** Path of the manifest. The checkpoint lies beside it. */
  manifest: string;
  /** Pages that are sent before the first of them is acknowledged. */
  inFlight: number;
  /** Options of the adapter, which hold no secret. */
  adapter: Readonly<Record<string, unknown>>;
}

/** How an import ended. */
export interface MoveOutcome {
  state: MoveState;
  /** Records that the source counted at the end; null if it does not count. */
  sourceCount: number | null;
  /** Whether the source is the one that was planned: a file may have been written meanwhile. */
  isSourceSame: boolean;
  comparison: Comparison;
  /** Null if the collection is not equal to what the source returned; nothing is signed then. */
  anchor: RootAnchor | null;
  signer: string;
}

export const checkpointPath = (manifest: string): string => `${manifest}.checkpoint`;

/**
 * Moves the records, reads them back, and writes the manifest. Continues an interrupted import of
 * the same source, collection and options.
 */
export async function carriedOut(
  session: Session,
  { client, url }: { client: Provec; url: string },
  source: Source,
  plan: Plan,
  options: MoveOptions,
): Promise<MoveOutcome> {
  const { target, description, pageRecords } = plan;
  const key = await ownKey();
  const { id: collectionId } = await createdOrFound(session, client, plan, options);
  const collection = client.collection(options.collection);
  const kept = manifestOptions(options);
  const subject = { source: description.identity, options: kept, collectionId };
  const counts = ['read', 'moved', 'manifestBytes'] as const;
  const checkpoint = new Checkpoint<MoveState>(checkpointPath(options.manifest), subject, counts);
  const head: Omit<ManifestHead, 'startedAt'> = {
    format: FORMAT,
    signer: key.signer,
    source: description.identity,
    options: kept,
    target: { url, collection: options.collection, collectionId, dimensions: target.dimensions, metric: target.metric },
  };
  const { manifest, begin } = await begun(checkpoint, options.manifest, head);
  try {
    const { leaveOut, limit, inFlight } = options;
    const transfer = {
      session,
      source,
      collection,
      target,
      manifest,
      checkpoint,
      leaveOut,
      limit,
      pageRecords,
      inFlight,
    };
    const state = begin.isComplete
      ? begin
      : await transferred({ ...transfer, count: plan.survey?.read ?? description.count }, begin);
    const { count: sourceCount, identity } = await source.describe();
    const isSourceSame = JSON.stringify(identity) === JSON.stringify(description.identity);
    const comparison = await comparedWithCollection(session, collection, manifest.leaves);
    const found = { state, sourceCount, isSourceSame, comparison, signer: key.signer };
    if (!isEqual(comparison, state)) return { ...found, anchor: null };
    const anchor = await anchorOfRoot(session, collection, comparison.head.merkleRoot, comparison.head.version);
    await manifest.finish(endOf(state, sourceCount, comparison, anchor), key);
    await checkpoint.remove();
    return { ...found, anchor };
  } finally {
    await manifest.close();
  }
}

/** Whether the collection has exactly what the source returned. */
const isEqual = ({ equal, isRootGiven }: Comparison, { moved }: MoveState): boolean => equal === moved && isRootGiven;

/** Whether every record that the source counts was returned by it. Unknown counts as true. */
export const isWholeSource = ({ state, sourceCount }: MoveOutcome, limit: number): boolean =>
  sourceCount === null || state.read === Math.min(sourceCount, limit);

async function createdOrFound(
  session: Session,
  client: Provec,
  plan: Plan,
  { collection }: MoveOptions,
): Promise<Api.Collection> {
  const { dimensions, metric } = plan.target;
  return plan.found ?? (await client.getOrCreate({ name: collection, dimensions, metric }, session.request));
}

/** Returns what decides which records are moved and how. */
const manifestOptions = ({ leaveOut, limit, namespace, adapter }: MoveOptions): ManifestHead['options'] => ({
  leaveOut: [...leaveOut].sort(),
  limit: limit === Number.POSITIVE_INFINITY ? null : limit,
  namespace,
  ...adapter,
});

async function begun(
  checkpoint: Checkpoint<MoveState>,
  path: string,
  head: Omit<ManifestHead, 'startedAt'>,
): Promise<{ manifest: ManifestWriter; begin: MoveState }> {
  const found = await checkpoint.read();
  if (found !== null) {
    await writeError(`${recordsWere(found.moved)} moved before; continuing`);
    return { manifest: await ManifestWriter.resume(path, found.manifestBytes), begin: found };
  }
  const startedAt = new Date().toISOString();
  const manifest = await ManifestWriter.begin(path, { ...head, startedAt });
  const manifestBytes = await manifest.sync();
  return {
    manifest,
    begin: { position: null, read: 0, moved: 0, leftOut: {}, manifestBytes, startedAt, isComplete: false },
  };
}

const endOf = (
  { moved, leftOut }: MoveState,
  sourceCount: number | null,
  { head }: Comparison,
  { ledgerAddress, ledgerTx }: RootAnchor,
): ManifestEnd => ({
  finishedAt: new Date().toISOString(),
  sourceCount,
  leftOut: leftOut as Record<string, number>,
  count: moved,
  vectorCount: head.vectorCount,
  merkleRoot: head.merkleRoot,
  version: head.version,
  ledgerAddress,
  ledgerTx,
});
