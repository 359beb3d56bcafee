import type { FieldReport } from './field-report.ts';
import type { ShardHead } from './head.ts';

/**
 * Answer to a committed write: the head that contains it. A write that changes nothing (deletes of
 * absent ids) commits nothing.
 */
export interface WriteAck {
  head: ShardHead;
  upserted: number;
  /** Records that existed and were deleted. */
  deleted: number;
  /** Change of the number of stored vectors. */
  created: number;
  /** Of a change: records that it found, changed or not. */
  matched?: number;
  /** Of a change by filter that left records of the first round: how the next one goes on. */
  next?: { throughSeq: number };
  /** Field report from before the change, if requested. */
  fields?: FieldReport | undefined;
}
