import type { ValueCount } from '../filter/value-counts.ts';
import type { FieldReport } from './field-report.ts';
import type { RecordScope } from './scope.ts';

export interface QueryOptions extends RecordScope {
  vector: Float32Array;
  topK: number;
  includeValues: boolean;
  includeMetadata: boolean;
  scoreThreshold: number | null;
  exact: boolean;
}

export interface ShardMatch {
  id: string;
  /** Present in an answer about all namespaces. */
  namespace?: string;
  /** Exact: float32 vectors, float64 sums. Higher is better. */
  score: number;
  /** euclidean only. */
  distance?: number;
  /** JSON text. */
  metadata?: string;
  values?: Float32Array;
}

export interface FetchedRecord {
  id: string;
  values: Float32Array;
  /** JSON text. */
  metadata: string;
}

/** What of a listed record is told beside its id. */
export interface Included {
  includeValues: boolean;
  includeMetadata: boolean;
}

export interface ListedRecord {
  id: string;
  /** Present in an answer about all namespaces. */
  namespace?: string;
  values?: Float32Array;
  /** JSON text. */
  metadata?: string;
}

/** What answers that come in pages are made of. */
export type PageItem = ShardMatch | FetchedRecord | ListedRecord | ValueCount;

/** The first part of an answer, or its next one: in order, and all of one state of the shard. */
export interface Page<T> {
  items: T[];
  /** Present on a first page if the request named fields. */
  fields?: FieldReport | undefined;
  /** Names what is left, for `shards.next`; null where nothing is. */
  rest: string | null;
}
