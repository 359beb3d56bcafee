import type { Cut } from '../../shard/head.ts';
import {
  type AnchorHistoryItem,
  type AnchorRow,
  type AnchorRowWith,
  type AnchorStanding,
  standingOf,
  unreadableRow,
  withCuts,
} from '../anchors.ts';
import { idPart } from './document-id.ts';
import { decodeHead, encodeHead, type HeadDocument } from './head-codec.ts';
import { damaged } from './store-failure.ts';

type CutDocument = HeadDocument[];

/** A row of the outbox as stored. `_id` is its collection. */
export interface AnchorDocument extends AnchorRowWith<CutDocument> {
  _id: string;
  /** Left out where it is 'settled', so that a sparse index holds only what is open. */
  standing?: Exclude<AnchorStanding, 'settled'>;
  /** The newest item of the history, with the revision of the row that it came with. */
  newest: { item: AnchorHistoryItem; revision: number } | null;
}

export function encodeAnchor(row: AnchorRow): Omit<AnchorDocument, '_id' | 'newest'> {
  const standing = standingOf(row);
  return {
    ...withCuts(row, (cut) => cut.map(encodeHead)),
    ...(standing === 'settled' ? {} : { standing }),
  };
}

export function decodeAnchor({ _id, newest: _, standing: __, ...document }: AnchorDocument): AnchorRow {
  const { collectionId, revision } = document;
  try {
    if (Number.isSafeInteger(revision) && idPart(collectionId) === _id) return withCuts(document, decodeCut);
  } catch {
    // Said below.
  }
  return unreadableRow(_id, Number.isSafeInteger(revision) ? revision : 0);
}

function decodeCut(cut: CutDocument): Cut {
  if (!Array.isArray(cut)) throw damaged('The cut of an anchor row');
  return cut.map(decodeHead);
}
