import type { ValueCount } from '../filter/value-counts.ts';
import type { ChangePreview, MetadataMerge, PreviewTerms } from './change.ts';
import type { FieldReport } from './field-report.ts';
import type { ShardHead } from './head.ts';
import type { FetchedRecord, Included, ListedRecord, Page } from './match.ts';
import type { RecordScope } from './scope.ts';

/**
 * What can be read of a shard beside its nearest records (`shards.query`) and records by id
 * (`shards.fetch`): by operation, what it takes and gives. To add one: here, in the worker's
 * `reads.ts`, and in the engine.
 */
export interface ShardReads {
  /** Number of records that match; a plain number if the request names no fields. */
  count: { params: RecordScope; result: number | ReportedCount };
  /** What a merge into the records that match would do. */
  preview: { params: RecordScope & MetadataMerge & PreviewTerms; result: ChangePreview };
  /**
   * How often each value of a field occurs in the records that match. With `limit` only the values
   * that occur most, most first; without, all of them, in pages and in no order.
   */
  facets: {
    params: RecordScope & { field: string; limit: number | null; pageMaxBytes: number };
    result: { missing: number; page: Page<ValueCount>; fields?: FieldReport | undefined };
  };
  /**
   * The first namespaces that hold a record, by name, and how many each holds: those that begin
   * with `prefix` and come after `after`; null: from the first one on.
   */
  namespaces: {
    params: NamespacesAfter & { pageMaxBytes: number };
    result: Page<ValueCount>;
  };
  /** All records of the shard as it is at `head`, of every namespace, in any order. */
  export: { params: { pageMaxBytes: number }; result: { head: ShardHead; page: Page<FetchedRecord> } };
  /** The first `limit` records that match, after an id and with a prefix, in the order of ids. */
  list: { params: RecordScope & Listing & { pageMaxBytes: number }; result: Page<ListedRecord> };
}

interface ReportedCount {
  count: number;
  fields: FieldReport | undefined;
}

/** A part of the order of ids, by their UTF-8 bytes; null: from its beginning, any id. */
export interface Listing extends Included {
  after: string | null;
  prefix: string | null;
  limit: number;
}

export interface NamespacesAfter {
  prefix: string;
  after: string | null;
  limit: number;
}

export type ShardReadOp = keyof ShardReads;

/** A read that was asked for, as it travels. */
export type ShardRead<O extends ShardReadOp = ShardReadOp> = { [op in O]: { op: op } & ShardReads[op]['params'] }[O];
