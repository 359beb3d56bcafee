/**
 * What the main thread asks of a shard worker. Each request is answered once, in any order of
 * shards but in order within a shard, but for `query`, which overtakes requests that wait for a
 * staged group to be committed, and a long one is overtaken by what comes after it; and `size`,
 * `next`, `leave` and `close`, which overtake a `stage`. Whatever was answered before a query was
 * sent, the query sees.
 */

import type { ProvecError } from '../../../lib/errors.ts';
import type { ChangePreview, PreviewTerms, RecordUpdate } from '../../../lib/shard/change.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { FetchedRecord, Page, PageItem, ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardProof } from '../../../lib/shard/proof.ts';
import type { ShardReadOp, ShardReads } from '../../../lib/shard/read.ts';
import type { RecordDifference } from '../../../lib/shard/recomputed.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { FetchedCheckpoint } from '../../../lib/store/checkpoints.ts';
import type { LogEntry } from '../../../lib/store/log.ts';
import type { RecordScan, StoredRecord } from '../../../lib/store/records.ts';
import type { ParsedScope, ShardQuery } from '../engine/query.ts';
import type { Steps } from '../engine/steps.ts';
import type { Staged } from '../engine/write.ts';
import type { PostedWrite } from './posted-write.ts';

/** The part of a log entry that replaying needs. */
export type ReplayEntry = Pick<LogEntry, 'seq' | 'kind' | 'head' | 'body'>;

export interface ShardSize {
  bytes: number;
  records: number;
  /**
   * Records that the HNSW index has not caught up with; a shard too small for an index counts 0.
   */
  unindexed: number;
  /** Records that no request can name, because their id was written before namespaces were. */
  unnamed: number;
}

type OfShard<P = unknown, R = undefined> = { params: { key: ShardKey } & P; result: R };
/** Of one recomputation. */
type OfSession<P = unknown, R = undefined> = { params: { session: string } & P; result: R };

/** As the shard reads are, their filters parsed. */
type ReadOps = {
  [op in ShardReadOp]: OfShard<
    ShardReads[op]['params'] extends RecordScope
      ? Omit<ShardReads[op]['params'], 'filter'> & ParsedScope
      : ShardReads[op]['params'],
    ShardReads[op]['result']
  >;
};

export interface WorkerOps extends ReadOps {
  create: OfShard<{ spec: ShardSpec }>;
  load: OfShard<{ spec: ShardSpec; checkpoint: FetchedCheckpoint }, ShardHead>;
  /** Leaves out what cannot be a record of the shard; how many that were. */
  restore: OfShard<{ records: StoredRecord[] }, number>;
  endRestore: OfShard<{ seq: number; version: number }, ShardHead>;
  /**
   * `differs` is the seq of the first entry whose root is not the recorded one; `watched` the head
   * at `watchSeq` when it was passed. Both only from `exactFromSeq` on, before which the state may
   * be ahead in some records. With `orClose` the shard is let go at an entry that differs, before
   * anybody reads what it gave.
   */
  replay: OfShard<
    { entries: ReplayEntry[]; watchSeq: number | null; exactFromSeq: number; orClose?: boolean },
    { head: ShardHead; differs: number | null; watched: ShardHead | null }
  >;
  stage: OfShard<{ writes: PostedWrite[] }, Staged>;
  commit: OfShard<unknown, ShardSize>;
  abort: OfShard;
  query: OfShard<{ query: ShardQuery; pageMaxBytes: number }, Page<ShardMatch>>;
  fetch: OfShard<{ ids: string[]; pageMaxBytes: number }, Page<FetchedRecord>>;
  /** The next page of what was queried or fetched; null when it is not kept any more. */
  next: OfShard<{ rest: string; pageMaxBytes: number }, Page<PageItem> | null>;
  leave: OfShard<{ rest: string }>;
  previewUpdates: OfShard<{ updates: RecordUpdate[]; terms: PreviewTerms }, ChangePreview>;
  metadataBytes: OfShard<{ ids: string[] }, number[]>;
  countNew: OfShard<{ ids: string[] }, number>;
  prove: OfShard<{ id: string }, ShardProof>;
  size: OfShard<unknown, ShardSize>;
  save: OfShard<{ folder: string }, ShardHead>;
  close: OfShard;
  recomputeBegin: OfSession<{ spec: ShardSpec }>;
  /** This and `recomputeEntries` give how many records the recomputed state has by then. */
  recomputeRecords: OfSession<{ records: StoredRecord[] }, number>;
  recomputeLeftOut: OfSession<Pick<RecordScan, 'unreadable' | 'stray'>>;
  recomputeEntries: OfSession<{ entries: ReplayEntry[] }, number>;
  /**
   * `contradicting` counts records and entries that do not decode, and records whose leaf does not
   * follow from their bytes.
   */
  recomputeHead: OfSession<{ seq: number; version: number }, { head: ShardHead; contradicting: number }>;
  /**
   * Entries, in order, from which `recomputeCompare` is to know what was written; the first may be
   * that of seq 1, and then there are no other records.
   */
  recomputeWitness: OfSession<{ entries: ReplayEntry[] }>;
  /**
   * Names what differs from the open shard `key` (null: there is none), from the leaves stored
   * beside the records and from the log; at most `limit`.
   */
  recomputeCompare: OfSession<{ key: ShardKey | null; limit: number }, RecordDifference[]>;
  /**
   * Ids of the records of an entry whose bytes do not give the leaf beside them; at most `limit`.
   */
  recomputeAltered: OfSession<{ entry: ReplayEntry; limit: number }, string[]>;
  recomputeEnd: OfSession;
}

export type WorkerOp = keyof WorkerOps;

/**
 * What answers each of the ops. Long work for which nobody waits at once is given as steps: it is
 * done in slices, and others are answered in between.
 */
export type WorkerHandlers<O extends WorkerOp> = {
  [op in O]: (params: WorkerOps[op]['params']) => WorkerOps[op]['result'] | Steps<WorkerOps[op]['result']>;
};

/** Whoever answers requests: a worker thread, or a host without one. */
export interface WorkerRequests {
  /**
   * Rejects with ProvecError when the engine refused, WorkerLost when the thread ended, the reason
   * of `signal` when that aborts, Error for a fault of ours.
   */
  request<O extends WorkerOp>(
    op: O,
    params: WorkerOps[O]['params'],
    transfer?: ArrayBuffer[],
    signal?: AbortSignal,
  ): Promise<WorkerOps[O]['result']>;
}

export interface WorkerRequest {
  id: number;
  op: WorkerOp;
  params: WorkerOps[WorkerOp]['params'];
}

/**
 * Has a query or another long read end unfinished, whose caller does not wait for it any more. It
 * is answered as it would be, or refused.
 */
export interface CancelRequest {
  cancel: number;
  key: ShardKey;
}

/**
 * Asks the thread to end by itself, between two requests. `Worker.terminate` may strike while
 * native code runs or loads, and usearch then ends the process: its C++ exceptions have nowhere to
 * go in a thread that is being terminated.
 */
export const END = 'end';

export type WorkerFault = Pick<ProvecError, 'code' | 'message' | 'details'> | { code: null; message: string };

/** `tookMs`: time in the handler. */
export type WorkerReply = { id: number; result: unknown; tookMs: number } | { id: number; fault: WorkerFault };

/** Sent without being asked, when background work changed a shard's size. */
export interface SizeNotice {
  id: null;
  key: ShardKey;
  size: ShardSize;
}

/**
 * Sent unasked when a shard's index could not be built: its searches scan until it can. Of a row of
 * failures the first is told.
 */
export interface IndexNotice {
  id: null;
  key: ShardKey;
  indexFault: string;
}
