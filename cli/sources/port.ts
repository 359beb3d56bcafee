/** What `provec import-from` needs of a source. Each adapter beside this file reads one kind. */
import type { Issue } from './issues.ts';

/** Metrics of Provec. */
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
  /** `next` of the last page that was taken; null for the beginning. */
  position: string | null;
  /** Maximum number of records in a page. */
  pageRecords: number;
}

export interface SourceDescription {
  /**
   * Says which source it is, by what does not change while it is the same one. Never has a
   * password or a key: it goes into the checkpoint and the manifest.
   */
  identity: Readonly<Record<string, string | number>>;
  /** Number of records as the source counts them; null if it does not count. */
  count: number | null;
  /** Length of its vectors; null if the source does not say. */
  dimensions: number | null;
  /**
   * The metric by its name there, and the one of Provec, null if Provec does not have it. Null if
   * the source has none.
   */
  metric: { there: string; here: Metric | null } | null;
  /** How the parts of its records are mapped. */
  mapping: readonly { there: string; here: string }[];
}

export interface SourcePage {
  records: SourceRecord[];
  /** Position behind this page, for a later run. */
  next: string;
}

/** A record as the source returned it. Values that JSON does not have are checked later. */
export interface SourceRecord {
  id: string;
  /** Undefined for the namespace that the user chose. */
  namespace?: string;
  /** Null if the record has no vector. A bigint is an integer that a double may not hold. */
  values: ArrayLike<number | bigint> | null;
  metadata: Readonly<Record<string, unknown>>;
  /** Parts beside the metadata that become fields of it, such as a document. */
  fields?: Readonly<Record<string, unknown>>;
  /** What the adapter had to leave out of the record. */
  issues?: readonly Issue[];
}
