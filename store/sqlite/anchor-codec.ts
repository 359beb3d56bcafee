import type { CollectionId } from '../../lib/ids.ts';
import type { Cut, NodeType } from '../../lib/shard/head.ts';
import {
  type AnchorRow,
  type AnchorRowWith,
  mapCuts,
  type OutboxState,
  outboxStateOf,
  unreadableAnchorRow,
} from '../anchors.ts';
import { decodeRow, headOf } from './row-codec.ts';
import { damagedValue } from './store-failure.ts';

/**
 * An outbox row as stored: the whole row as JSON with hashes in hex, and the fields used in
 * conditions as columns.
 */
export interface EncodedAnchor {
  collectionId: CollectionId;
  revision: number;
  standing: OutboxState;
  wantedAt: string | null;
  row: string;
}

type CutJson = { seq: number; version: number; type: NodeType; hash: string; count: number }[];

export function encodeAnchor(anchor: AnchorRow): EncodedAnchor {
  const { collectionId, revision, wantedAt } = anchor;
  const row = JSON.stringify(mapCuts(anchor, cutToJson));
  return { collectionId, revision, standing: outboxStateOf(anchor), wantedAt, row };
}

/** A row as read from the table. */
export interface StoredAnchor {
  collection: string;
  revision: number;
  row: string;
}

export function decodeAnchor({ collection, revision, row }: StoredAnchor): AnchorRow {
  try {
    const decoded = mapCuts(decodeRow<AnchorRowWith<CutJson>>(row, 'An anchor row'), cutFromJson);
    if (decoded.collectionId === collection) return { ...decoded, revision };
  } catch {
    // Handled below.
  }
  return unreadableAnchorRow(collection, revision);
}

function cutToJson(cut: Cut): CutJson {
  return cut.map(({ seq, version, type, hash, count }) => {
    return { seq, version, type, hash: Buffer.from(hash).toString('hex'), count };
  });
}

function cutFromJson(json: CutJson): Cut {
  if (!Array.isArray(json)) throw damagedValue('The cut of an anchor row');
  return json.map((head) => headOf({ ...head, hash: Buffer.from(String(head.hash), 'hex') }));
}
