import type { RecordBatch } from '../../../lib/records/batch.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';

/** One request's writes to one shard. */
export type ShardWrite = { kind: 'upsert'; batch: RecordBatch } | { kind: 'delete'; ids: string[] };

/** What one write of a group did, counted as if the group's writes had run one after the other. */
export interface WriteOutcome {
  upserted: number;
  /** Records that existed and were deleted. */
  deleted: number;
  /** Change of the number of records. */
  created: number;
}

/**
 * A group of writes worked out but not shown. `commit` is null when the group changed nothing; then
 * nothing is staged.
 */
export interface Staged {
  /** One per write, in order. */
  outcomes: WriteOutcome[];
  commit: {
    /** The shard after the group. */
    head: ShardHead;
    /** The log entry's body, in a buffer of its own. */
    body: Uint8Array<ArrayBuffer>;
  } | null;
}
