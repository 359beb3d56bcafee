/**
 * Changes of a shard that first read its content (`shards.change`): merges into records by id, and
 * deletes and merges of all records that a filter matches.
 *
 * Reading and changing are one log entry. A change by filter changes at most `max` records at a
 * time; `WriteAck.next` says how to continue. The rounds end, because records written after the
 * first round began are left alone.
 */
import type { ErrorDetail } from '../errors.ts';
import type { FieldReport } from './field-report.ts';
import type { RecordScope } from './scope.ts';

/** The records that a change by filter affects. */
interface ChangeSelection extends RecordScope {
  /** Records written by later entries are left alone; null: the shard's last seq at the change. */
  throughSeq: number | null;
  /** Maximum number of records to change. */
  max: number;
}

/** A key-by-key merge into metadata. No key is in both `set` and `unset`. */
export interface MetadataMerge {
  /** Canonical JSON of an object; null if nothing is set. */
  set: string | null;
  unset: readonly string[];
}

/** A record's new vector, or null to keep it, and a merge into its metadata. */
export interface RecordUpdate extends MetadataMerge {
  id: string;
  values: Float32Array | null;
  /** Position in the request, such as `updates[3]`. */
  path: string;
}

/** End of `expected` where a merge makes metadata too long. */
const ONCE_MERGED = ' bytes as compact JSON once merged';

/** Detail of the refusal of a merge that makes metadata too long. */
export const tooLongOnceMerged = (maxBytes: number, got: string): Omit<ErrorDetail, 'path'> => ({
  expected: `metadata of at most ${maxBytes}${ONCE_MERGED}`,
  got,
});

/** Returns whether `tooLongOnceMerged` made the detail. */
export const isTooLongOnceMerged = ({ expected }: ErrorDetail): boolean => expected.endsWith(ONCE_MERGED);

export type ShardChange =
  | ({ kind: 'delete matching' } & ChangeSelection)
  | ({ kind: 'merge matching'; metadataMaxBytes: number } & ChangeSelection & MetadataMerge)
  | { kind: 'update'; updates: RecordUpdate[]; metadataMaxBytes: number };

export interface PreviewOptions {
  metadataMaxBytes: number;
  /** Whether to compute which records would change, which takes as long as the merge. */
  countsChanges: boolean;
}

/** What a merge would do to a shard in its current state. */
export interface ChangePreview {
  /** Records found. */
  matched: number;
  /** Records that would change; an upper bound if `countsChanges` is false. */
  changed: number;
  /** A record whose metadata would become too long; null if there is none. */
  refused: ErrorDetail | null;
  /** Present if the request named fields. */
  fields?: FieldReport | undefined;
}
