import { bytesToHex } from '@noble/hashes/utils.js';
import { innerHashOf, keyHashOf, leafHashOf, metaHashOf, vecHashOf } from './content-hash.ts';
import { EMPTY_HEX } from './record-proof.ts';

/** A record as it is written; without metadata it has {}, without a namespace the default one. */
export interface WholeRecord {
  id: string;
  namespace?: string;
  values: ArrayLike<number>;
  metadata?: object;
}

interface Leaf {
  key: Uint8Array;
  hash: Uint8Array;
}

/**
 * The root (64 hex digits, format PV1) of the collection that holds these records and no others, in
 * whatever order: whoever has all records holds it against the root on the ledger. Throws TypeError
 * for what no record can be, and for an id that occurs twice.
 */
export function rootOfRecords(records: Iterable<WholeRecord>): string {
  const leaves: Leaf[] = [];
  const keys = new Set<string>();
  for (const { id, namespace = '', values, metadata = {} } of records) {
    const key = keyHashOf(id, namespace);
    const text = bytesToHex(key);
    if (keys.has(text)) throw new TypeError(`The record ${JSON.stringify(id)} occurs twice.`);
    keys.add(text);
    leaves.push({ key, hash: leafHashOf(key, vecHashOf(values), metaHashOf(metadata)) });
  }
  return leaves.length === 0 ? EMPTY_HEX : bytesToHex(subtreeOf(leaves, 0));
}

function subtreeOf(leaves: Leaf[], depth: number): Uint8Array {
  if (leaves.length === 1) return leaves[0]!.hash;
  const halves: [Leaf[], Leaf[]] = [[], []];
  for (const leaf of leaves) halves[(leaf.key[depth >>> 3]! >>> (7 - (depth & 7))) & 1]!.push(leaf);
  const [left, right] = halves.map((half) => (half.length === 0 ? new Uint8Array(32) : subtreeOf(half, depth + 1)));
  return innerHashOf(left!, right!);
}
