import type { ErrorDetail } from '../../../lib/errors.ts';
import type { RecordBatch } from '../../../lib/records/batch.ts';
import type { ShardChange } from '../../../lib/shard/change.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ParsedScope } from './query.ts';

/** One request's writes to one shard. */
export type ShardWrite =
  | { kind: 'upsert'; batch: RecordBatch }
  | { kind: 'delete'; ids: string[] }
  | Extract<ShardChange, { kind: 'update' }>
  | Filtered<Exclude<ShardChange, { kind: 'update' }>>;

/** As a shard takes it: its filter is parsed. */
type Filtered<C> = C extends { filter: unknown } ? Omit<C, 'filter'> & ParsedScope : never;

/** Whether it looks at the shard as it was before its group, and so is a group of its own. */
export const isByFilter = ({ kind }: ShardWrite): boolean => kind === 'delete matching' || kind === 'merge matching';

/** What one write of a group did, counted as if the group's writes had run one after the other. */
export interface WriteOutcome {
  upserted: number;
  /** Records that existed and were deleted. */
  deleted: number;
  /** Change of the number of records. */
  created: number;
  /** As in `WriteAck`. */
  matched?: number;
  next?: { throughSeq: number };
  fields?: FieldReport | undefined;
  /** Why nothing of it was done. */
  refused?: ErrorDetail;
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
