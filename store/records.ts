import type { ShardKey } from '../lib/shard/key.ts';

/**
 * A record's current value. `metadata` is canonical JSON (RFC 8785) in UTF-8; `leaf` is its 32-byte
 * PV1 leaf as first written.
 */
export interface StoredRecord {
  id: string;
  /** Seq of the commit that wrote the record. */
  seq: number;
  vector: Float32Array;
  metadata: Uint8Array;
  leaf: Uint8Array;
}

/** A change that a log entry makes: `record` replaces the stored one, null deletes it. */
export interface RecordChange {
  id: string;
  record: StoredRecord | null;
}

/**
 * A scan of a shard. It contains every change through `throughSeq`, may contain some of the later
 * changes, and none after `reachedSeq`. Replaying the log from `throughSeq` to `reachedSeq`, or
 * further, over it gives the exact state at the last replayed entry. Must be read to the end or
 * `return()`ed.
 */
export interface RecordScan {
  throughSeq: number;
  /** Final once the batches have been read to the end; before that it may throw RangeError. */
  readonly reachedSeq: number;
  /** Each record once, in any order, in batches of at most about 1 MiB. */
  batches: AsyncIterable<StoredRecord[]>;
  /**
   * Ids whose stored bytes do not decode. They are not in the batches. Complete once the batches
   * have been read to the end.
   */
  readonly unreadable: string[];
  /**
   * Ids of the shard's rows that no write replaces, because they have another shard's number or an
   * id that no record can have. Complete at the same time as `unreadable`.
   */
  readonly stray: string[];
}

export interface RecordStore {
  /**
   * Applies the changes of the entries (fromSeq, throughSeq] in order and sets appliedSeq to
   * `throughSeq`, atomically or as the last step, so that an interrupted call is repeated from the
   * log. Does nothing if appliedSeq is below `fromSeq` or at least `throughSeq`: a late call never
   * overwrites newer records or restores deleted ones.
   */
  apply(shard: ShardKey, fromSeq: number, throughSeq: number, changes: RecordChange[]): Promise<void>;
  /** Returns the last seq applied; 0 if there is none. */
  appliedSeq(shard: ShardKey): Promise<number>;
  scan(shard: ShardKey): Promise<RecordScan>;
  /**
   * Removes orphan rows (`stray`) and rows whose ids do not belong to the shard, after an operator
   * decided that the shard is right without them. Idempotent.
   */
  removeForeign(shard: ShardKey, isOwn: (id: string) => boolean): Promise<void>;
}
