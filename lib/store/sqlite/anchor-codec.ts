import type { Cut, NodeType } from '../../shard/shard-head.ts';
import { type AnchorRow, type AnchorStanding, type Confirmed, type InFlight, standingOf } from '../anchors.ts';
import { decodeRow, headOf } from './row-codec.ts';
import { damaged } from './store-failure.ts';

/** An outbox row as it is stored: what conditions ask for in columns of its own, the whole as JSON with hashes in hex. */
export interface EncodedAnchor {
  collectionId: string;
  revision: number;
  standing: AnchorStanding;
  wantedAt: string | null;
  row: string;
}

type CutJson = { seq: number; type: NodeType; hash: string; count: number }[];
interface AnchorJson extends Omit<AnchorRow, 'wanted' | 'inFlight' | 'confirmed'> {
  wanted: CutJson | null;
  inFlight: (Omit<InFlight, 'cut'> & { cut: CutJson | null }) | null;
  confirmed: (Omit<Confirmed, 'cut'> & { cut: CutJson }) | null;
}

export function encodeAnchor(anchor: AnchorRow): EncodedAnchor {
  const { collectionId, revision, wantedAt, wanted, inFlight, confirmed } = anchor;
  const json: AnchorJson = {
    ...anchor,
    wanted: wanted && cutToJson(wanted),
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut && cutToJson(inFlight.cut) },
    confirmed: confirmed && { ...confirmed, cut: cutToJson(confirmed.cut) },
  };
  return { collectionId, revision, standing: standingOf(anchor), wantedAt, row: JSON.stringify(json) };
}

/** Throws StoreError 'damaged'. */
export function decodeAnchor(row: string): AnchorRow {
  const json = decodeRow<AnchorJson>(row, 'An anchor row');
  const { wanted, inFlight, confirmed } = json;
  return {
    ...json,
    wanted: wanted && cutFromJson(wanted),
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut && cutFromJson(inFlight.cut) },
    confirmed: confirmed && { ...confirmed, cut: cutFromJson(confirmed.cut) },
  };
}

function cutToJson(cut: Cut): CutJson {
  return cut.map(({ seq, type, hash, count }) => ({ seq, type, hash: Buffer.from(hash).toString('hex'), count }));
}

function cutFromJson(json: CutJson): Cut {
  if (!Array.isArray(json)) throw damaged('The cut of an anchor row');
  return json.map(({ seq, type, hash, count }) => headOf(seq, type, Buffer.from(String(hash), 'hex'), count));
}
