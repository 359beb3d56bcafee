/**
 * Holds a collection's recomputed root against the one on the ledger.
 *
 * Promises: `match` only when the root recomputed from stored bytes equals the root in the
 * collection's account on the ledger, at the same cut, and the log recorded the same root. A
 * contradiction that needs no ledger to see (stored bytes against the log, halted anchoring) is
 * `mismatch` whether or not the ledger answers; `unreachable`, `pending` and `none` are said only
 * when nothing contradicts.
 */
import type { OnChain } from '../../lib/actions/anchoring.ts';
import type { VerifyState } from '../../lib/actions/verification.ts';
import {
  type AnchoredRoot,
  anchorInWords,
  type CollectionRoot,
  collectionRoot,
  isSameAnchor,
  isSameRoot,
} from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/head.ts';
import type { AnchorRow } from '../../lib/store/anchors.ts';
import type { Contradiction } from '../../lib/store/contradictions.ts';
import type { CollectionScan } from './collection-scan.ts';

/** What a verification found out; `reason` is null for a match alone. */
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

/**
 * The cut behind the root on the ledger, where this service anchored it; null when it knows of
 * none.
 */
export function cutOnChain(onChain: OnChain, row: AnchorRow | null): Cut | null {
  if (onChain.status !== 'found' || row === null) return null;
  if (row.confirmed?.version === onChain.version) return row.confirmed.cut;
  const sent = row.inFlight?.cut ?? null;
  return sent && collectionRoot(sent).version === onChain.version ? sent : null;
}

/** What is known of a collection beside its stored bytes. */
export interface AnchorRecord {
  row: AnchorRow | null;
  /** Found when its shards opened, and not yet decided. */
  contradictions: Contradiction[];
}

/** Contradictions that are seen without the ledger; null when there are none. */
export function contradiction(scan: CollectionScan, { row, contradictions }: AnchorRecord): Verdict | null {
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
 * The outcome for an anchored collection whose scan has been brought as near to the cut on the
 * ledger as it goes. `cut` is the cut behind the root on the ledger, null when none is known.
 */
export function judge(scan: CollectionScan, record: AnchorRecord, onChain: OnChain, cut: Cut | null): Verdict {
  const { row } = record;
  const local = contradiction(scan, record);
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

/** Whether there was no write and no root was ever wanted on the ledger. */
function isUnwritten(scan: CollectionScan, row: AnchorRow | null): boolean {
  const isRootDue = row !== null && (row.wanted !== null || row.inFlight !== null || row.lapsed !== null);
  return scan.computed.version === 0 && !isRootDue;
}

const waiting = (computed: CollectionRoot, chain: CollectionRoot): Verdict =>
  pending(`Version ${computed.version} waits for its anchor; the ledger holds version ${chain.version}.`);

/**
 * Whether the ledger holds what is to be replaced: the root of the time before roots were no longer
 * anchored, or the one that an operator decided against.
 */
function isPutUpWith(chain: AnchoredRoot, row: AnchorRow | null, computed: CollectionRoot): boolean {
  if (row === null || row.confirmed !== null) return false;
  if (row.trusted === anchorInWords(chain)) return true;
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
    return isPutUpWith(chain, row, computed)
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
