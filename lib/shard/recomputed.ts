import type { ShardHead } from './head.ts';

/** A shard's state recomputed from stored bytes at `head.seq`, and the head in the log there. */
export interface RecomputedShard {
  /** Id for `shards.extend`. Freed by `shards.release`, or after minutes without a call. */
  session: string;
  head: ShardHead;
  recorded: ShardHead;
  /** At most 1,000. */
  differences: RecordDifference[];
  /** The first altered entry in the log; null if there is none. */
  altered: AlteredEntry | null;
  /** A contradiction found when the shard opened, as a sentence; null if none is undecided. */
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
