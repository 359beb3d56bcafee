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

/** A change whose filter is parsed. */
type Filtered<C> = C extends { filter: unknown } ? Omit<C, 'filter'> & ParsedScope : never;

/**
 * Whether a write reads the shard as it was before its group, so that it needs a group of its own.
 */
export const isByFilter = ({ kind }: ShardWrite): boolean => kind === 'delete matching' || kind === 'merge matching';

/** What one write of a group did, counted as if the group's writes had run one after the other. */
export interface WriteOutcome {
  upserted: number;
  /** Number of records that existed and were deleted. */
  deleted: number;
  /** Change in the number of records. */
  created: number;
  /** As in `WriteAck`. */
  matched?: number;
  next?: { throughSeq: number };
  fields?: FieldReport | undefined;
  /** Why the write was refused as a whole. */
  refused?: ErrorDetail;
}

/**
 * A staged group that is not visible yet. `commit` is null if the group changed nothing; then
 * nothing is staged.
 */
export interface Staged {
  /** One per write, in order. */
  outcomes: WriteOutcome[];
  commit: {
    /** Head of the shard after the group. */
    head: ShardHead;
    /** Body of the log entry, in its own buffer. */
    body: Uint8Array<ArrayBuffer>;
  } | null;
}
