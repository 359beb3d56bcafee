import type { ShardHead } from './head.ts';

/**
 * A shard's state recomputed from stored bytes at `head.seq`, and the head that the log recorded
 * there.
 */
export interface Recomputed {
  /**
   * Id of the scan for `shards.extend`. Freed by `shards.release`, or after minutes without any
   * call for it, including `shards.keep`.
   */
  session: string;
  head: ShardHead;
  recorded: ShardHead;
  /** At most 1,000. */
  differences: RecordDifference[];
  /** The first altered entry in the log; null if there is none. */
  altered: AlteredEntry | null;
  /**
   * The contradiction found in the stored bytes when the shard opened, as one sentence. Null if
   * there was none or an operator has decided on it.
   */
  contradiction: string | null;
}

export interface RecordDifference {
  id: string;
  /**
   * One of: `values`, `metadata`, `values and metadata`, `values or metadata`, `missing`,
   * `unexpected`, `unreadable`, `an earlier write in the log`.
   */
  what: string;
}

/** A log entry that is not what was appended. */
export interface AlteredEntry {
  seq: number;
  /** Ids of its records whose bytes do not match the leaf stored with them; at most 1,000. */
  ids: string[];
}
