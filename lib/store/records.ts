import type { ShardKey } from '../shard/key.ts';

/**
 * A record's current value. `metadata` is canonical JSON (RFC 8785) in UTF-8; `leaf` its 32-byte
 * PV1 leaf as first written.
 */
export interface StoredRecord {
  id: string;
  /** The commit that wrote it. */
  seq: number;
  vector: Float32Array;
  metadata: Uint8Array;
  leaf: Uint8Array;
}

/** What one log entry does to the records, in order: `record` replaces, null deletes. */
export interface RecordChange {
  id: string;
  record: StoredRecord | null;
}

/**
 * A scan holds every change through `throughSeq`. It may hold changes after that too, of some
 * records and not of others, but none after `reachedSeq`: with the log entries from `throughSeq` to
 * there (or any later one) laid over it, it is exactly the state at the last of them. Must be read
 * to the end or `return()`ed.
 */
export interface RecordScan {
  throughSeq: number;
  /**
   * Known when the batches have been read to the end; before that it throws RangeError or is final
   * already.
   */
  readonly reachedSeq: number;
  /** Any order, each record once, batches of at most about 1 MiB. */
  batches: AsyncIterable<StoredRecord[]>;
  /**
   * Ids whose stored bytes do not decode, left out of the batches; complete when those have been
   * read to the end.
   */
  readonly unreadable: string[];
  /**
   * As `unreadable`, of rows that lie among the shard's and that no write replaces: they bear
   * another shard's number, or an id that no record has. The names are what such ids read as.
   */
  readonly stray: string[];
}

export interface RecordStore {
  /**
   * Applies the changes of the entries (fromSeq, throughSeq] in order and moves the mark to
   * `throughSeq`: together, or the mark last, so that one cut short is done again from the log.
   * Where the mark is already at or past `throughSeq`, or below `fromSeq`, nothing happens: a lower
   * seq never overwrites a higher one and a late apply never brings a deleted record back.
   */
  apply(shard: ShardKey, fromSeq: number, throughSeq: number, changes: RecordChange[]): Promise<void>;
  /** The mark: the last seq applied; 0 when none was. */
  appliedSeq(shard: ShardKey): Promise<number>;
  scan(shard: ShardKey): Promise<RecordScan>;
  /**
   * Removes rows that no write replaces (`stray`), and those whose ids are not the shard's: an
   * operator has decided that what the shard holds without them is right. Idempotent.
   */
  removeForeign(shard: ShardKey, isOwn: (id: string) => boolean): Promise<void>;
}
