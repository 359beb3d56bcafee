import type { Dataset } from '../dataset.ts';

/** What a query or a change is about: each field equals a value, or lies within bounds. */
export interface Condition {
  field: string;
  equals?: string;
  /** At least, and below. */
  within?: [number, number];
}

/** Where a listing goes on: an id, or how many were listed before. */
export interface Place {
  afterId: string | null;
  offset: number;
}

/**
 * A database as the bench of record operations asks it, over one connection. What it has no call
 * for is left out.
 */
export interface Peer {
  name: string;
  version(): Promise<string>;
  /** Stores all records of an empty collection in the way that it offers for many. */
  import(data: Dataset): Promise<void>;
  /** Resolves when all that was stored is in the index. */
  indexed(): Promise<void>;
  /** Reads every record with vector and metadata; gives their number. */
  export(): Promise<number>;
  /** Ids and metadata of the next records in the order of ids, or in its own. */
  list(place: Place, limit: number): Promise<string[]>;
  count?(conditions: Condition[]): Promise<number>;
  /** The most frequent values of a field. */
  facets?(field: string, limit: number): Promise<{ value: string; count: number }[]>;
  /** Sets one field of the metadata of each. */
  updateIds(ids: string[], field: string, value: number): Promise<void>;
  updateWhere?(conditions: Condition[], field: string, value: number): Promise<number>;
  /** Gives how many went, where it says so. */
  deleteWhere(conditions: Condition[]): Promise<number | null>;
  /** Stores records anew. */
  upsert(data: Dataset, rows: number[]): Promise<void>;
  /** The ids of the best `topK` for each vector, asked for in one request. */
  queries(vectors: Float32Array[], topK: number): Promise<string[][]>;
  close(): Promise<void>;
}
