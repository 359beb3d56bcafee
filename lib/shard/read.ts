import type { ValueCount } from '../filter/value-counts.ts';
import type { ChangePreview, MetadataMerge, PreviewOptions } from './change.ts';
import type { FieldReport } from './field-report.ts';
import type { ShardHead } from './head.ts';
import type { AnswerPage, FetchedRecord, IncludedFields, ListedRecord } from './match.ts';
import type { RecordScope } from './scope.ts';

/**
 * Parameters and results of read operations other than `shards.query` and `shards.fetch`. To add
 * one, add it here, in the worker's `reads.ts` and in the engine.
 */
export interface ShardReads {
  /** Number of matching records; `fields` if the request names some. */
  count: { params: RecordScope; result: { count: number; fields?: FieldReport | undefined } };
  /** What a merge into the matching records would do. */
  preview: { params: RecordScope & MetadataMerge & PreviewOptions; result: ChangePreview };
  /**
   * How often each value of a field occurs in the matching records. With `limit`, only the most
   * frequent values, most frequent first; without, all, paged and unordered.
   */
  facets: {
    params: RecordScope & { field: string; limit: number | null; pageMaxBytes: number };
    result: { missing: number; page: AnswerPage<ValueCount>; fields?: FieldReport | undefined };
  };
  /**
   * Namespaces and their numbers of records, by name: the first ones with `prefix` after `after`
   * (null: from the beginning).
   */
  namespaces: {
    params: NamespaceRange & { pageMaxBytes: number };
    result: AnswerPage<ValueCount>;
  };
  /** All records of the shard at `head`, of every namespace, in any order. */
  export: { params: { pageMaxBytes: number }; result: { head: ShardHead; page: AnswerPage<FetchedRecord> } };
  /** The first `limit` matching records in the order of ids, after an id and with a prefix. */
  list: { params: RecordScope & ListOptions & { pageMaxBytes: number }; result: AnswerPage<ListedRecord> };
}

/** A range of ids in UTF-8 order. Null `after`: from the first id. Null `prefix`: any id. */
export interface ListOptions extends IncludedFields {
  after: string | null;
  prefix: string | null;
  limit: number;
}

export interface NamespaceRange {
  prefix: string;
  after: string | null;
  limit: number;
}

export type ShardReadOp = keyof ShardReads;

/** A read request as sent between nodes. */
export type ShardRead<O extends ShardReadOp = ShardReadOp> = { [op in O]: { op: op } & ShardReads[op]['params'] }[O];
