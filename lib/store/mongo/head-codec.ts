import { Binary } from 'mongodb';
import type { ShardHead } from '../../shard/head.ts';
import { damaged } from './store-failure.ts';

const TYPES = ['empty', 'leaf', 'inner'];
const HASH_BYTES = 32;

/** A shard's head as a part of a document. */
export interface HeadDocument {
  seq: number;
  version: number;
  type: ShardHead['type'];
  hash: Binary;
  count: number;
}

export function encodeHead({ seq, version, type, hash, count }: ShardHead): HeadDocument {
  return { seq, version, type, hash: new Binary(hash), count };
}

/** Throws StoreError 'damaged'. */
export function decodeHead(head: HeadDocument | undefined): ShardHead {
  const hash = bytesOf(head?.hash);
  const sound =
    Number.isSafeInteger(head?.seq) &&
    Number.isSafeInteger(head?.version) &&
    Number.isSafeInteger(head?.count) &&
    TYPES.includes(head?.type ?? '') &&
    hash?.byteLength === HASH_BYTES;
  if (!head || !hash || !sound) throw damaged('A shard head');
  return { seq: head.seq, version: head.version, type: head.type, hash, count: head.count };
}

/** A copy of a Binary's bytes, in a buffer of its own; null when it is none. */
export function bytesOf(value: unknown): Uint8Array<ArrayBuffer> | null {
  return value instanceof Binary ? new Uint8Array(value.buffer.subarray(0, value.position)) : null;
}
