import type { ShardHead } from './head.ts';

/**
 * A shard's state recomputed from stored bytes at `head.seq`, beside the head that the log recorded
 * there.
 */
export interface Recomputed {
  /**
   * Names the scan for `shards.extend`; freed by `shards.release`, or when nobody has asked for it,
   * not even by `shards.keep`, for minutes.
   */
  session: string;
  head: ShardHead;
  recorded: ShardHead;
  /** At most 1,000. */
  differences: RecordDifference[];
  /** The first one in the log; null where all are sound. */
  altered: AlteredEntry | null;
  /**
   * What stood against the stored bytes when the shard opened, one sentence; null where nothing
   * did, or an operator has decided.
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
  /** Ids of its records whose bytes do not give the leaf beside them; at most 1,000. */
  ids: string[];
}
