import type { NodeType, ShardHead } from '../../lib/shard/head.ts';
import { isHead } from '../log.ts';
import { damagedValue } from './store-failure.ts';

/** Throws StoreError 'damaged' if the text is not a JSON object. */
export function decodeRow<T extends object>(text: string, what: string): T {
  const row = parse(text, what);
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw damagedValue(what);
  return row as T;
}

/** Throws StoreError 'damaged' if the text is not a JSON array. */
export function decodeList<T>(text: string, what: string): T[] {
  const list = parse(text, what);
  if (!Array.isArray(list)) throw damagedValue(what);
  return list as T[];
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw damagedValue(what, error);
  }
}

export interface HeadRow {
  seq: number;
  version: number;
  type: string;
  hash: Uint8Array;
  count: number;
}

/** Throws StoreError 'damaged' if the head is malformed. */
export function headOf(row: HeadRow): ShardHead {
  if (!isHead(row)) throw damagedValue('A shard head');
  const { seq, version, type, hash, count } = row;
  return { seq, version, type: type as NodeType, hash: new Uint8Array(hash), count };
}
