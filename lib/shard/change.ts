/**
 * Changes of a shard that look at what it holds before they change it (`shards.change`): merges
 * into records, and deletes and merges of all records that a filter matches.
 *
 * Promises: the look and the change are one log entry. A change by filter changes at most `max`
 * records at a time; `WriteAck.next` says how to go on with the others. Rounds end, because a
 * record that was written after the first has begun is left as it is.
 */
import type { ErrorDetail } from '../errors.ts';
import type { FieldReport } from './field-report.ts';
import type { RecordScope } from './scope.ts';

/** Which records are changed. */
interface Matching extends RecordScope {
  /** Records that a later entry wrote are left; null: the shard's last when the change is made. */
  throughSeq: number | null;
  /** Records that are changed at most. */
  max: number;
}

/** What is merged into metadata, key by key; a key is in one of them at most. */
export interface MetadataMerge {
  /** Canonical JSON of an object; null: nothing. */
  set: string | null;
  unset: readonly string[];
}

/** A record's new vector, where it gets one, and what is merged into its metadata. */
export interface RecordUpdate extends MetadataMerge {
  id: string;
  values: Float32Array | null;
  /** Where the request has it, such as `updates[3]`. */
  path: string;
}

export type ShardChange =
  | ({ kind: 'delete matching' } & Matching)
  | ({ kind: 'merge matching'; metadataMaxBytes: number } & Matching & MetadataMerge)
  | { kind: 'update'; updates: RecordUpdate[]; metadataMaxBytes: number };

export interface PreviewTerms {
  metadataMaxBytes: number;
  /** Whether it is worked out which records would change, which takes as long as the merge. */
  countsChanges: boolean;
}

/** What a merge would do to a shard as it is. */
export interface ChangePreview {
  /** Records that it finds. */
  matched: number;
  /** Records that it changes, or more where that is not worked out. */
  changed: number;
  /** A record whose metadata would become too long; null when there is none. */
  refused: ErrorDetail | null;
  /** Present if the request named fields. */
  fields?: FieldReport | undefined;
}
