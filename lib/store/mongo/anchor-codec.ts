import type { Cut } from '../../shard/shard-head.ts';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type AnchorStanding,
  type Confirmed,
  type InFlight,
  standingOf,
} from '../anchors.ts';
import { decodeHead, encodeHead, type HeadDocument } from './head-codec.ts';
import { damaged } from './store-failure.ts';

type CutDocument = HeadDocument[];

/** A row of the outbox as stored. `_id` is its collection. */
export interface AnchorDocument extends Omit<AnchorRow, 'wanted' | 'inFlight' | 'confirmed'> {
  _id: string;
  /** Left out where it is 'settled', so that a sparse index holds only what is open. */
  standing?: Exclude<AnchorStanding, 'settled'>;
  wanted: CutDocument | null;
  inFlight: (Omit<InFlight, 'cut'> & { cut: CutDocument | null }) | null;
  confirmed: (Omit<Confirmed, 'cut'> & { cut: CutDocument }) | null;
  /** The newest item of the history, with the revision of the row that it came with. */
  newest: { item: AnchorHistoryItem; revision: number } | null;
}

export function encodeAnchor(row: AnchorRow): Omit<AnchorDocument, '_id' | 'newest'> {
  const { wanted, inFlight, confirmed } = row;
  const standing = standingOf(row);
  return {
    ...row,
    ...(standing === 'settled' ? {} : { standing }),
    wanted: wanted?.map(encodeHead) ?? null,
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut?.map(encodeHead) ?? null },
    confirmed: confirmed && { ...confirmed, cut: confirmed.cut.map(encodeHead) },
  };
}

/** Throws StoreError 'damaged'. */
export function decodeAnchor({ _id, newest: _, standing: __, ...document }: AnchorDocument): AnchorRow {
  const { wanted, inFlight, confirmed } = document;
  if (!Number.isSafeInteger(document.revision) || typeof document.collectionId !== 'string')
    throw damaged('An anchor row');
  return {
    ...document,
    wanted: wanted && decodeCut(wanted),
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut && decodeCut(inFlight.cut) },
    confirmed: confirmed && { ...confirmed, cut: decodeCut(confirmed.cut) },
  };
}

function decodeCut(cut: CutDocument): Cut {
  if (!Array.isArray(cut)) throw damaged('The cut of an anchor row');
  return cut.map(decodeHead);
}
