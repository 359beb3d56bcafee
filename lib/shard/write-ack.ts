import type { FieldReport } from './field-report.ts';
import type { ShardHead } from './head.ts';

/** Result of a write: the head that contains it. A write that changes nothing commits nothing. */
export interface WriteAck {
  head: ShardHead;
  upserted: number;
  /** Records that existed and were deleted. */
  deleted: number;
  /** Change of the number of stored vectors. */
  created: number;
  /** For a change: records found, changed or not. */
  matched?: number;
  /** For a change by filter that is not finished: parameters of the next round. */
  next?: { throughSeq: number };
  /** Field report from before the change, if requested. */
  fields?: FieldReport | undefined;
}
