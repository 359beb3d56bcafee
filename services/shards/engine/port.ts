/**
 * What a shard's owner may ask of an engine, and what every engine promises.
 *
 * A shard has one writer and any number of snapshots. A snapshot shows exactly the commits up to
 * its head until it is released, no matter what is staged, committed, replayed or moved meanwhile.
 * Long work comes in steps (../steps.ts). All calls come from one thread, between two steps.
 *
 * An error that a step throws ends that work and changes nothing. See docs/internals/engine.md.
 */
import type { ErrorDetail } from '../../../lib/errors.ts';
import type { FilterNode } from '../../../lib/filter/ast.ts';
import type { ValueCount, ValueCounts } from '../../../lib/filter/value-counts.ts';
import type { RecordBatch } from '../../../lib/records/batch.ts';
import type {
  ChangePreview,
  MetadataMerge,
  PreviewOptions,
  RecordUpdate,
  ShardChange,
} from '../../../lib/shard/change.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { FetchedRecord, ListedRecord, QueryOptions, ShardMatch } from '../../../lib/shard/match.ts';
import type { MemoryParts } from '../../../lib/shard/memory.ts';
import type { ShardProof } from '../../../lib/shard/proof.ts';
import type { ListOptions, NamespaceRange } from '../../../lib/shard/read.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { WriteAck } from '../../../lib/shard/write-ack.ts';
import type { FetchedCheckpoint } from '../../../store/checkpoints.ts';
import type { LogEntry } from '../../../store/log.ts';
import type { StoredRecord } from '../../../store/records.ts';
import type { Steps } from '../steps.ts';

/** Makes shards. */
export interface ShardEngine {
  create(spec: ShardSpec): ShardWriter;
  /**
   * Loads a checkpoint. Throws an Error if it is damaged, belongs to another shard or does not
   * produce its root. The files may be removed afterwards.
   */
  load(checkpoint: FetchedCheckpoint, spec: ShardSpec): Steps<ShardWriter>;
}

/** A shard as its owner sees it: the only way to change the shard, and to take snapshots. */
export interface ShardWriter {
  readonly spec: ShardSpec;
  /** Head of the committed state. The same log gives the same root in every engine. */
  readonly head: ShardHead;
  readonly records: number;
  /** Bytes of memory held, estimated, including what snapshots keep. */
  readonly bytes: number;
  /** The same by part; the parts sum up to `bytes`. */
  readonly memory: MemoryParts;
  /** Number of records that `maintain` has not indexed yet. Queries find them all the same. */
  readonly unindexed: number;
  /**
   * Number of records that no request can name: their stored id begins with U+0000, but no
   * namespace follows.
   */
  readonly unaddressable: number;
  /** Whether the index has the layout of an earlier version, so that `maintain` replaces it. */
  readonly hasOutdatedIndex: boolean;
  /** Whether a group is staged or being staged. */
  readonly isStaged: boolean;

  /** Takes a snapshot of the committed state, in constant time. The caller must release it. */
  snapshot(): ShardSnapshot;

  /**
   * Computes what a group of writes changes, without making any of it visible. Throws RangeError
   * for an ill-formed id, vector or metadata, and Error while a group is staged.
   */
  stage(writes: Iterable<ShardWrite>): Steps<Staged>;
  /** Makes the staged group the committed state. Throws if there is none. */
  commit(): void;
  /** Discards the staged group, if any. Throws while a group is being staged. */
  abort(): void;

  /**
   * Applies a log entry. Returns false if the entry cannot be decoded or does not produce its
   * recorded root; the state advances all the same. Throws if the entry is out of order.
   */
  replay(entry: ReplayedEntry): boolean;
  /**
   * Loads stored records into a new shard and computes their leaves; `endRestore` must follow.
   * Skips rows that cannot be records of this shard, and returns how many it skipped.
   */
  restore(records: StoredRecord[]): number;
  /** Ends `restore`: the records are the state at `throughSeq`, the result of `version` writes. */
  endRestore(throughSeq: number, version: number): Steps<ShardHead>;

  /**
   * Writes a checkpoint of the committed state at its first step into an empty folder. Reads and
   * writes may run between its steps. Returns the head of that state.
   */
  checkpoint(folder: string): Steps<ShardHead>;
  /**
   * Indexes and compacts for about `budgetMs`. Returns true while there is more to do. Starts to
   * replace an outdated index only if `mayUpgrade` is true. Throws IndexFailure.
   */
  maintain(budgetMs: number, mayUpgrade?: boolean): boolean;
}

/** One committed state of a shard, readable until `release`. */
export interface ShardSnapshot {
  readonly head: ShardHead;

  /** Finds the best matches, best first. Throws RangeError for a vector of another length. */
  query(query: ShardQuery): Steps<ReadResult<ShardMatch>>;
  /** Lists the first matching records of a range, in the order of their ids' UTF-8 bytes. */
  list(listing: ListOptions & ParsedScope): Steps<ReadResult<ListedRecord>>;
  /** Returns the records that exist, in the order of `ids`. */
  fetch(ids: string[]): Steps<ReadResult<FetchedRecord>>;
  /** Returns all records, in any order. */
  scan(): ReadResult<FetchedRecord>;
  count(scope: ParsedScope): Steps<{ count: number } & Reported>;
  /** Counts how often each value of a field occurs in the records of a scope. */
  facets(field: string, scope: ParsedScope): Steps<{ counts: ValueCounts; missing: number } & Reported>;
  /** Lists the non-empty namespaces by name, with the number of records in each. */
  namespaces(range: NamespaceRange): Steps<ValueCount[]>;
  /** Computes what a merge into the records of a scope would do. */
  previewMerge(change: ParsedScope & MetadataMerge & PreviewOptions): Steps<ChangePreview & Reported>;
  /** Computes what updates by id (no id twice) would do. */
  previewUpdates(updates: RecordUpdate[], terms: PreviewOptions): Steps<ChangePreview>;
  /** Returns the size of each record's metadata in bytes, 0 if the record does not exist. */
  metadataBytes(ids: string[]): Steps<number[]>;
  /** Counts how many of `ids` (no id twice) do not exist. */
  countNew(ids: string[]): Steps<number>;
  /**
   * Returns a proof of the record's presence or absence under `head`. For a record of another shard
   * the head alone is the proof, unless this shard holds a single record: then the proof must show
   * it.
   */
  prove(id: string): Steps<ShardProof>;

  /** Returns the record's leaf and the seq of the commit that wrote it. */
  leafOf(id: string): { leaf: Buffer; seq: number } | null;
  /** Returns the hashes that the record's leaf is computed from. */
  partsOf(id: string): { vecHash: Buffer; metaHash: Buffer } | null;
  /** Yields each record's id and the seq that wrote it, in any order. */
  ids(): Iterable<{ id: string; seq: number }>;

  /** Ends the snapshot; its results stay readable. Calling it again does nothing. */
  release(): void;
}

/**
 * The items that a read found. They stay readable until `release`, also after the snapshot is
 * released. A result keeps no other records. Calling `release` again does nothing.
 */
export interface ReadResult<T> extends Reported {
  readonly length: number;
  /** Returns the next item. Call it at most `length` times. */
  next(): T;
  release(): void;
}

interface Reported {
  /** Report on the fields that the request named, if any. */
  fields?: FieldReport | undefined;
}

/** The parts of a log entry that a replay needs. */
export type ReplayedEntry = Pick<LogEntry, 'seq' | 'kind' | 'head' | 'body'>;

/** A scope whose filter is parsed. */
export interface ParsedScope extends Omit<RecordScope, 'filter'> {
  filter: FilterNode | null;
}

/** A query whose filter is parsed. */
export type ShardQuery = Omit<QueryOptions, 'filter'> & ParsedScope;

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
export interface WriteOutcome extends Omit<WriteAck, 'head'> {
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

/**
 * Thrown when an index could not be built. Searches scan the affected records until the index is
 * rebuilt after a pause.
 */
export class IndexFailure extends Error {
  override name = 'IndexFailure';
  readonly pauseMs: number;
  /** Whether an index was complete, or not needed, since the previous failure. */
  readonly isFirst: boolean;

  constructor(cause: unknown, pauseMs: number, isFirst: boolean) {
    super('An index could not be built.', { cause });
    this.pauseMs = pauseMs;
    this.isFirst = isFirst;
  }
}
