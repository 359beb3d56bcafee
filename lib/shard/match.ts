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
  /** Present in results over all namespaces. */
  namespace?: string;
  /** Exact: float32 vectors, float64 sums. Higher is better. */
  score: number;
  /** For the euclidean metric only. */
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

/** Which parts of a listed record to return besides its id. */
export interface IncludedFields {
  includeValues: boolean;
  includeMetadata: boolean;
}

export type ListedRecord = Omit<ShardMatch, 'score' | 'distance'>;

/** An item of a paged answer. */
export type PageItem = ShardMatch | FetchedRecord | ListedRecord | ValueCount;

/** A part of an answer. The pages of an answer are in order and show one state of the shard. */
export interface AnswerPage<T> {
  items: T[];
  /** Present on a first page if the request named fields. */
  fields?: FieldReport | undefined;
  /** Id of the remaining pages, for `shards.next`; null after the last page. */
  rest: string | null;
}
