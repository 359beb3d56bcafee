/**
 * Compares a collection's recomputed root with the one on the ledger.
 *
 * The verdict is `match` only if the root recomputed from stored bytes equals the root in the
 * collection's account on the ledger, at the same cut, and the log recorded the same root. A
 * contradiction found without the ledger (stored bytes against the log, halted anchoring) is a
 * `mismatch` whether or not the ledger responds. `unreachable`, `pending` and `none` are given only
 * if there is no contradiction.
 */
import type { OnChain } from '../../contracts/actions/anchoring.ts';
import type { VerifyState } from '../../contracts/actions/verification.ts';
import {
  type AnchoredRoot,
  anchorText,
  type CollectionRoot,
  collectionRoot,
  isSameAnchor,
  isSameRoot,
} from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { AnchorRow } from '../../store/anchors.ts';
import type { Contradiction } from '../../store/contradictions.ts';
import type { CollectionScan } from './collection-scan.ts';

/** The result of a verification; `reason` is null only for a match. */
export interface Verdict {
  state: VerifyState;
  reason: string | null;
}

const MATCH: Verdict = { state: 'match', reason: null };
const UNWRITTEN: Verdict = {
  state: 'none',
  reason: 'The collection was never written to, so the ledger holds no root of it.',
};
const mismatch = (reason: string): Verdict => ({ state: 'mismatch', reason });
const pending = (reason: string): Verdict => ({ state: 'pending', reason });

/** Returns the cut behind the root on the ledger if this service anchored it; null if unknown. */
export function cutOnChain(onChain: OnChain, row: AnchorRow | null): Cut | null {
  if (onChain.status !== 'found' || row === null) return null;
  if (row.confirmed?.version === onChain.version) return row.confirmed.cut;
  const sent = row.inFlight?.cut ?? null;
  return sent && collectionRoot(sent).version === onChain.version ? sent : null;
}

/** What is known of a collection besides its stored bytes. */
export interface AnchorRecord {
  row: AnchorRow | null;
  /** Found when its shards opened, and not yet decided by an operator. */
  contradictions: Contradiction[];
}

/** Returns a contradiction that is visible without the ledger; null if there is none. */
export function localContradiction(scan: CollectionScan, { row, contradictions }: AnchorRecord): Verdict | null {
  if (!scan.intact) {
    const named = scan.differences.length;
    return mismatch(
      named > 0
        ? `The stored bytes of ${named === 1 ? 'a record' : `${named} records`} contradict the root recorded when they were written.`
        : 'The stored bytes contradict the root recorded when they were written.',
    );
  }
  if (scan.alteredEntry !== null)
    return mismatch(`Entry ${scan.alteredEntry} of a shard's log is not what was written there.`);
  const reason = row?.halted?.reason ?? contradictions[0]?.reason ?? scan.contradiction;
  return reason === null ? null : mismatch(`Anchoring is halted until an operator decides: ${reason}`);
}

/**
 * Returns the verdict for an anchored collection. The caller has extended the scan to the ledger's
 * cut if possible. `cut` is that cut, null if unknown.
 */
export function judge(scan: CollectionScan, record: AnchorRecord, onChain: OnChain, cut: Cut | null): Verdict {
  const { row } = record;
  const local = localContradiction(scan, record);
  if (local) return local;
  switch (onChain.status) {
    case 'unreachable':
      return { state: 'unreachable', reason: `The ledger cannot be reached: ${onChain.reason}` };
    case 'foreign':
      return mismatch(`The account on the ledger is not one that this service wrote: ${onChain.reason}`);
    case 'absent':
      if (row?.confirmed) return mismatch('The ledger confirmed a root, but the account that held it is gone.');
      return isUnwritten(scan, row) ? UNWRITTEN : pending('The first root of the collection waits for its anchor.');
    case 'found':
      return judgeRoots(scan, row, onChain, cut);
  }
}

/** Whether nothing was ever written and no root was ever requested to be anchored. */
function isUnwritten(scan: CollectionScan, row: AnchorRow | null): boolean {
  const isRootDue = row !== null && (row.wanted !== null || row.inFlight !== null || row.lapsed !== null);
  return scan.computed.version === 0 && !isRootDue;
}

const waiting = (computed: CollectionRoot, chain: CollectionRoot): Verdict =>
  pending(`Version ${computed.version} waits for its anchor; the ledger holds version ${chain.version}.`);

/**
 * Whether the ledger's root may be replaced: the last one before the plan stopped anchoring, or one
 * that an operator decided to replace.
 */
function isReplaceable(chain: AnchoredRoot, row: AnchorRow | null, computed: CollectionRoot): boolean {
  if (row === null || row.confirmed !== null) return false;
  if (row.trusted === anchorText(chain)) return true;
  const isNoOlder = computed.version > chain.version || isSameRoot(computed, chain);
  return isNoOlder && (row.lapsed ?? []).some((root) => isSameAnchor(root, chain));
}

function judgeRoots(scan: CollectionScan, row: AnchorRow | null, chain: AnchoredRoot, cut: Cut | null): Verdict {
  const computed = scan.computed;
  if (row?.confirmed && chain.version < row.confirmed.version) {
    return mismatch(
      `The ledger holds version ${chain.version}, older than version ${row.confirmed.version} confirmed before.`,
    );
  }
  if (cut === null) {
    return isReplaceable(chain, row, computed)
      ? waiting(computed, chain)
      : mismatch(`The ledger holds version ${chain.version}, which this service did not anchor.`);
  }
  const anchored = collectionRoot(cut);
  if (!isSameRoot(anchored, chain)) {
    return mismatch(
      `The ledger holds a different root for version ${chain.version} from the one that this service recorded.`,
    );
  }
  if (computed.merkleRoot === chain.merkleRoot && computed.vectorCount === chain.vectorCount) return MATCH;
  if (scan.isPast(cut)) return waiting(computed, chain);
  return mismatch(`The stored bytes give a different root for version ${chain.version} from the one on the ledger.`);
}
