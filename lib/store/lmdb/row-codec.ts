import type { Cut, NodeType, ShardHead } from '../../shard/shard-head.ts';
import type { AnchorRow, Confirmed, InFlight } from '../anchors.ts';
import { damaged } from './store-failure.ts';

/** Rows are JSON in UTF-8; those that hold hashes have a form of their own with the hashes in hex. */
export function encodeRow(row: object): Buffer {
  return Buffer.from(JSON.stringify(row));
}

/** Throws StoreError 'damaged' when the bytes are not the JSON of an object. */
export function decodeRow<T extends object>(bytes: Uint8Array, what: string): T {
  let row: unknown;
  try {
    row = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (error) {
    throw damaged(what, error);
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw damaged(what);
  return row as T;
}

export interface HeadJson {
  seq: number;
  type: NodeType;
  hash: string;
  count: number;
}

export function headToJson(head: ShardHead): HeadJson {
  return { seq: head.seq, type: head.type, hash: Buffer.from(head.hash).toString('hex'), count: head.count };
}

/** Throws StoreError 'damaged'. */
export function headFromJson(json: HeadJson): ShardHead {
  const sound =
    Number.isSafeInteger(json?.seq) &&
    Number.isSafeInteger(json.count) &&
    ['empty', 'leaf', 'inner'].includes(json.type) &&
    /^[0-9a-f]{64}$/.test(json.hash);
  if (!sound) throw damaged('A shard head');
  return { seq: json.seq, type: json.type, hash: new Uint8Array(Buffer.from(json.hash, 'hex')), count: json.count };
}

type CutJson = HeadJson[];
interface AnchorJson extends Omit<AnchorRow, 'wanted' | 'inFlight' | 'confirmed'> {
  wanted: CutJson | null;
  inFlight: (Omit<InFlight, 'cut'> & { cut: CutJson | null }) | null;
  confirmed: (Omit<Confirmed, 'cut'> & { cut: CutJson }) | null;
}

export function encodeAnchor(row: AnchorRow): Buffer {
  const { wanted, inFlight, confirmed } = row;
  const json: AnchorJson = {
    ...row,
    wanted: wanted?.map(headToJson) ?? null,
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut?.map(headToJson) ?? null },
    confirmed: confirmed && { ...confirmed, cut: confirmed.cut.map(headToJson) },
  };
  return encodeRow(json);
}

/** Throws StoreError 'damaged'. */
export function decodeAnchor(bytes: Uint8Array): AnchorRow {
  const json = decodeRow<AnchorJson>(bytes, 'An anchor row');
  const { wanted, inFlight, confirmed } = json;
  return {
    ...json,
    wanted: wanted && cutFromJson(wanted),
    inFlight: inFlight && { ...inFlight, cut: inFlight.cut && cutFromJson(inFlight.cut) },
    confirmed: confirmed && { ...confirmed, cut: cutFromJson(confirmed.cut) },
  };
}

function cutFromJson(json: CutJson): Cut {
  if (!Array.isArray(json)) throw damaged('The cut of an anchor row');
  return json.map(headFromJson);
}
