import { Binary } from 'mongodb';
import type { ShardHead } from '../../lib/shard/head.ts';
import { isHead } from '../log.ts';
import { damagedDocument } from './store-failure.ts';

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

/** Throws StoreError 'damaged' if the head is malformed. */
export function decodeHead(head: HeadDocument | undefined): ShardHead {
  const { seq, version, type, count } = head ?? ({} as HeadDocument);
  const hash = bytesOf(head?.hash);
  if (hash === null || !isHead({ seq, version, type, hash, count })) throw damagedDocument('A shard head');
  return { seq, version, type, hash, count };
}

/** Returns a copy of a Binary's bytes in their own buffer; null if the value is not a Binary. */
export function bytesOf(value: unknown): Uint8Array<ArrayBuffer> | null {
  return value instanceof Binary ? new Uint8Array(value.buffer.subarray(0, value.position)) : null;
}
