import type { NodeType, ShardHead } from '../../shard/head.ts';
import { damaged } from './store-failure.ts';

/** Throws StoreError 'damaged' when the text is not the JSON of an object. */
export function decodeRow<T extends object>(text: string, what: string): T {
  const row = parse(text, what);
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw damaged(what);
  return row as T;
}

/** Throws StoreError 'damaged' when the text is not the JSON of a list. */
export function decodeList<T>(text: string, what: string): T[] {
  const list = parse(text, what);
  if (!Array.isArray(list)) throw damaged(what);
  return list as T[];
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw damaged(what, error);
  }
}

/** A head as a row has it. */
export interface HeadRow {
  seq: number;
  version: number;
  type: string;
  hash: Uint8Array;
  count: number;
}

/** Throws StoreError 'damaged' when these are not the parts of a head. */
export function headOf({ seq, version, type, hash, count }: HeadRow): ShardHead {
  const isSound =
    Number.isSafeInteger(seq) &&
    Number.isSafeInteger(version) &&
    Number.isSafeInteger(count) &&
    ['empty', 'leaf', 'inner'].includes(type) &&
    hash instanceof Uint8Array &&
    hash.byteLength === 32;
  if (!isSound) throw damaged('A shard head');
  return { seq, version, type: type as NodeType, hash: new Uint8Array(hash), count };
}
