/** What `provec import-from` needs from a source. Each adapter beside this file reads one kind. */
import type { Issue } from './issues.ts';

/** Provec's metrics. */
export type Metric = 'cosine' | 'euclidean' | 'dot';

/** A collection, table, index or file from which records are moved. */
export interface Source {
  /** Describes the source as it is now. Rejects if it does not exist or cannot be read. */
  describe(): Promise<SourceDescription>;
  /**
   * Yields the records from a position on, in an order that stays the same as long as the source
   * does not change.
   */
  pages(begin: PageBegin): AsyncIterable<SourcePage>;
  /** Closes connections and files. */
  close(): Promise<void>;
}

export interface PageBegin {
  /** `next` of the last page that was processed; null for the beginning. */
  position: string | null;
  /** Maximum number of records in a page. */
  pageRecords: number;
}

export interface SourceDescription {
  /**
   * Identifies the source by properties that never change. Must not contain a password or key: it
   * goes into the checkpoint and the manifest.
   */
  identity: Readonly<Record<string, string | number>>;
  /** Number of records as the source counts them; null if it does not count. */
  count: number | null;
  /** Length of the vectors; null if the source does not say. */
  dimensions: number | null;
  /**
   * The source's name for its metric, and Provec's, null if Provec does not have it. Null if the
   * source has none.
   */
  metric: { there: string; here: Metric | null } | null;
  /** How the parts of a record are mapped. */
  mapping: readonly { there: string; here: string }[];
}

export interface SourcePage {
  records: SourceRecord[];
  /** Position after this page, from which a later run continues. */
  next: string;
}

/** A record as the source returned it. Values that JSON cannot represent are checked later. */
export interface SourceRecord {
  id: string;
  /** Undefined for the namespace that the user chose. */
  namespace?: string;
  /** Null if the record has no vector. A bigint is an integer that a double may not hold. */
  values: ArrayLike<number | bigint> | null;
  metadata: Readonly<Record<string, unknown>>;
  /** Parts, such as a document, that become metadata fields. */
  fields?: Readonly<Record<string, unknown>>;
  /** What the adapter had to leave out of the record. */
  issues?: readonly Issue[];
}
