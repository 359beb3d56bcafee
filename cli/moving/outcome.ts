import { printable } from '../../client/cli/printable.ts';
import { countedRecords } from '../output/counted.ts';
import { fieldLines, green, red } from '../output/table.ts';
import { isWholeSource, type MoveOptions, type MoveOutcome } from './move.ts';

/** What `--json` prints of an import. */
export interface OutcomeDocument {
  /** Whether every record of the source is in the collection as the source returned it. */
  moved: boolean;
  /** Why not; null if it is. */
  reason: string | null;
  count: number;
  read: number;
  sourceCount: number | null;
  leftOut: object;
  equal: number;
  changed: number;
  missing: number;
  otherRecords: number;
  vectorCount: number;
  merkleRoot: string;
  version: number;
  ledgerAddress: string | null;
  ledgerTx: string | null;
  anchor: string;
  /** Null if nothing was signed. */
  manifest: string | null;
  signer: string;
  seconds: number;
  recordsPerSecond: number;
}

/** Returns what `--json` prints. `seconds`: time of the transfer and the comparison. */
export function outcomeDocument(
  outcome: MoveOutcome,
  { limit, manifest }: MoveOptions,
  seconds: number,
): OutcomeDocument {
  const { state, sourceCount, comparison, anchor, signer } = outcome;
  const { equal, changed, missing, others, head } = comparison;
  const reason = reasonOf(outcome, limit);
  return {
    moved: reason === null,
    reason,
    count: state.moved,
    read: state.read,
    sourceCount,
    leftOut: state.leftOut,
    equal,
    changed,
    missing,
    otherRecords: others,
    vectorCount: head.vectorCount,
    merkleRoot: head.merkleRoot,
    version: head.version,
    ledgerAddress: anchor?.ledgerAddress ?? null,
    ledgerTx: anchor?.ledgerTx ?? null,
    anchor: anchor?.reason ?? 'confirmed',
    manifest: anchor === null ? null : manifest,
    signer,
    seconds: Math.round(seconds * 100) / 100,
    recordsPerSecond: Math.round(state.moved / Math.max(seconds, 0.001)),
  };
}

function reasonOf(outcome: MoveOutcome, limit: number): string | null {
  const { state, sourceCount, comparison, anchor, isSourceSame } = outcome;
  const { changed, missing, examples } = comparison;
  if (anchor === null && changed + missing > 0)
    return `${countedRecords(missing)} missing and ${countedRecords(changed)} other than the source returned (${examples.join(', ')})`;
  if (anchor === null) return 'the records that the service returned do not give the root that it states';
  if (!isSourceSame) return 'the source changed during the import';
  if (isWholeSource(outcome, limit)) return null;
  return `the source counts ${countedRecords(sourceCount ?? 0)} and returned ${state.read.toLocaleString('en')}`;
}

/** Returns the lines for people. */
export function outcomeLines(document: OutcomeDocument): string[] {
  const { moved, reason, count, read, sourceCount, leftOut, merkleRoot, version, otherRecords } = document;
  const all = (sourceCount ?? read).toLocaleString('en');
  const verdict = `${count.toLocaleString('en')} of ${all} records; every float32 equal to what the source returned; root ${merkleRoot} version ${version}`;
  return [
    moved ? `${green('MOVED')}  ${verdict}` : red(`NOT MOVED AS A WHOLE  ${printable(reason ?? '')}`),
    ...fieldLines({
      'left out':
        Object.entries(leftOut)
          .map(([issue, records]) => `${records} ${issue}`)
          .join(', ') || undefined,
      'other records':
        otherRecords > 0
          ? `${otherRecords.toLocaleString('en')} in the collection that are not of this source`
          : undefined,
      anchor: document.ledgerTx ?? document.anchor,
      manifest: document.manifest ?? 'none: nothing was signed',
      signer: document.signer,
      took: `${document.seconds.toLocaleString('en')} s, ${document.recordsPerSecond.toLocaleString('en')} records/s`,
    }),
  ];
}
