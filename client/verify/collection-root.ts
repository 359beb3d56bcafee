import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from './content-hash.ts';
import { LeafTable } from './leaf-table.ts';

/** A record as written. `metadata` defaults to {}, `namespace` to the default namespace. */
export interface WholeRecord {
  id: string;
  namespace?: string;
  values: ArrayLike<number>;
  metadata?: object;
}

/** Set of records. Keeps only their hashes. */
export class RecordSet {
  readonly #leaves = new LeafTable();

  get size(): number {
    return this.#leaves.size;
  }

  /** Throws TypeError for an invalid record, and for an id that its namespace already has. */
  add({ id, namespace = '', values, metadata = {} }: WholeRecord): void {
    if (typeof id !== 'string' || typeof namespace !== 'string' || id === '') throw new TypeError('id must be text');
    const key = keyHashOf(id, namespace);
    const leaf = leafHashOf(key, vecHashOf(values), metaHashOf(metadata));
    if (!this.#leaves.add(key, leaf)) throw new TypeError(`The record ${JSON.stringify(id)} occurs twice.`);
  }

  /** Returns the root: 64 hex digits, format PV1. */
  root(): string {
    return this.#leaves.root();
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
