import type { Dataset } from '../dataset.ts';

/** A condition of a query or change: the field equals a value or is within bounds. */
export interface Condition {
  field: string;
  equals?: string;
  /** Lower bound, inclusive, and upper bound, exclusive. */
  within?: [number, number];
}

/** Where a listing continues: after an id, or after a number of records. */
export interface ListPosition {
  afterId: string | null;
  offset: number;
}

/**
 * A database as the benchmark of record operations uses it, over one connection. Operations that a
 * database lacks are left out.
 */
export interface BenchedDatabase {
  name: string;
  version(): Promise<string>;
  /** Stores all records into an empty collection, by the database's bulk operation. */
  import(data: Dataset): Promise<void>;
  /** Resolves when everything stored is in the index. */
  indexed(): Promise<void>;
  /** Reads every record with vector and metadata; returns their number. */
  export(): Promise<number>;
  /** Ids and metadata of the next records, in the order of ids or in the database's own order. */
  list(place: ListPosition, limit: number): Promise<string[]>;
  count?(conditions: Condition[]): Promise<number>;
  facets?(field: string, limit: number): Promise<{ value: string; count: number }[]>;
  /** Sets one metadata field of each record. */
  updateIds(ids: string[], field: string, value: number): Promise<void>;
  updateWhere?(conditions: Condition[], field: string, value: number): Promise<number>;
  /** Returns the number of deleted records, null when the database does not report it. */
  deleteWhere(conditions: Condition[]): Promise<number | null>;
  /** Overwrites records. */
  upsert(data: Dataset, rows: number[]): Promise<void>;
  /** The ids of the best `topK` for each vector, in one request. */
  queries(vectors: Float32Array[], topK: number): Promise<string[][]>;
  close(): Promise<void>;
}
