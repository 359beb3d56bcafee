import { bytesToHex } from '@noble/hashes/utils.js';
import { bitOf, innerHashOf, keyHashOf, leafHashOf, metaHashOf, vecHashOf } from './content-hash.ts';
import { EMPTY_HEX } from './record-proof.ts';

/** A record as written. `metadata` defaults to {}, `namespace` to the default namespace. */
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

/** Set of records. Keeps only their hashes. */
export class RecordSet {
  readonly #leaves: Leaf[] = [];
  readonly #keys = new Set<string>();

  get size(): number {
    return this.#leaves.length;
  }

  /** Throws TypeError for an invalid record, and for an id that its namespace already has. */
  add({ id, namespace = '', values, metadata = {} }: WholeRecord): void {
    if (typeof id !== 'string' || typeof namespace !== 'string' || id === '') throw new TypeError('id must be text');
    const key = keyHashOf(id, namespace);
    const text = bytesToHex(key);
    if (this.#keys.has(text)) throw new TypeError(`The record ${JSON.stringify(id)} occurs twice.`);
    this.#keys.add(text);
    this.#leaves.push({ key, hash: leafHashOf(key, vecHashOf(values), metaHashOf(metadata)) });
  }

  /** Returns the root: 64 hex digits, format PV1. */
  root(): string {
    return this.#leaves.length === 0 ? EMPTY_HEX : bytesToHex(subtreeOf(this.#leaves, 0));
  }
}

/**
 * Returns the root (64 hex digits, format PV1) of a collection with exactly these records, in any
 * order. Compare it with the root on the ledger. Throws TypeError for an invalid record, and for an
 * id that occurs twice in a namespace.
 */
export function rootOfRecords(records: Iterable<WholeRecord>): string {
  const set = new RecordSet();
  for (const record of records) set.add(record);
  return set.root();
}

function subtreeOf(leaves: Leaf[], depth: number): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return new Uint8Array(32);
  if (leaves.length === 1) return first.hash;
  const left: Leaf[] = [];
  const right: Leaf[] = [];
  for (const leaf of leaves) (bitOf(leaf.key, depth) === 1 ? right : left).push(leaf);
  return innerHashOf(subtreeOf(left, depth + 1), subtreeOf(right, depth + 1));
}
