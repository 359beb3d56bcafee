/**
 * Requests from the main thread to a shard worker. Each is answered once. The requests of one shard
 * are answered in order, with these exceptions:
 *
 * - A read (reads.ts) overtakes every request that waits.
 * - Later requests may overtake a read, or an opening or saving of the shard, of several slices.
 * - `size`, `next`, `leave`, `close`, `commit` and `abort` overtake a `stage` and what waits for
 *   it.
 *
 * A read sees the effect of everything answered before it was sent.
 */

import type { ProvecError } from '../../../lib/errors.ts';
import type { ChangePreview, PreviewOptions, RecordUpdate } from '../../../lib/shard/change.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { AnswerPage, FetchedRecord, PageItem, ShardMatch } from '../../../lib/shard/match.ts';
import type { MemoryParts } from '../../../lib/shard/memory.ts';
import type { ShardProof } from '../../../lib/shard/proof.ts';
import type { ShardReadOp, ShardReads } from '../../../lib/shard/read.ts';
import type { RecordDifference } from '../../../lib/shard/recomputed.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { FetchedCheckpoint } from '../../../store/checkpoints.ts';
import type { RecordScan, StoredRecord } from '../../../store/records.ts';
import type { ParsedScope, ReplayedEntry, ShardQuery, Staged } from '../engine/port.ts';
import type { Steps } from '../steps.ts';
import type { PostedWrite } from './posted-write.ts';

export interface ShardSize {
  bytes: number;
  records: number;
  /** Number of records not in the HNSW index yet; 0 for a shard too small for an index. */
  unindexed: number;
  /** Number of records that no request can name; see `ShardWriter`. */
  unaddressable: number;
}

type OfShard<P = unknown, R = undefined> = { params: { key: ShardKey } & P; result: R };
/** A request of one recomputation session. */
type OfSession<P = unknown, R = undefined> = { params: { session: string } & P; result: R };

/** The reads of a shard, with their filters parsed. */
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
  /** Skips whatever cannot be a record of the shard. Returns how many were skipped. */
  restore: OfShard<{ records: StoredRecord[] }, number>;
  endRestore: OfShard<{ seq: number; version: number }, ShardHead>;
  /**
   * `differs` is the seq of the first entry whose root is not the recorded one, `watched` the head
   * at `watchSeq`. Both cover only entries from `exactFromSeq` on, because earlier states may be
   * ahead in some records. With `orClose`, the shard is closed at an entry that differs, before it
   * can be read.
   */
  replay: OfShard<
    { entries: ReplayedEntry[]; watchSeq: number | null; exactFromSeq: number; orClose?: boolean },
    { head: ShardHead; differs: number | null; watched: ShardHead | null }
  >;
  stage: OfShard<{ writes: PostedWrite[] }, Staged>;
  commit: OfShard<unknown, ShardSize>;
  abort: OfShard;
  query: OfShard<{ query: ShardQuery; pageMaxBytes: number }, AnswerPage<ShardMatch>>;
  fetch: OfShard<{ ids: string[]; pageMaxBytes: number }, AnswerPage<FetchedRecord>>;
  /** Returns the next page of a query or fetch, or null if it is no longer kept. */
  next: OfShard<{ rest: string; pageMaxBytes: number }, AnswerPage<PageItem> | null>;
  leave: OfShard<{ rest: string }>;
  previewUpdates: OfShard<{ updates: RecordUpdate[]; terms: PreviewOptions }, ChangePreview>;
  metadataBytes: OfShard<{ ids: string[] }, number[]>;
  countNew: OfShard<{ ids: string[] }, number>;
  prove: OfShard<{ id: string }, ShardProof>;
  size: OfShard<unknown, ShardSize>;
  memory: OfShard<unknown, MemoryParts>;
  save: OfShard<{ folder: string }, ShardHead>;
  close: OfShard;
  recomputeBegin: OfSession<{ spec: ShardSpec }>;
  /** This and `recomputeEntries` return the number of records recomputed so far. */
  recomputeRecords: OfSession<{ records: StoredRecord[] }, number>;
  recomputeLeftOut: OfSession<Pick<RecordScan, 'unreadable' | 'stray'>>;
  recomputeEntries: OfSession<{ entries: ReplayedEntry[] }, number>;
  /**
   * `contradicting` counts records and entries that cannot be decoded, and records whose leaf does
   * not match their bytes.
   */
  recomputeHead: OfSession<{ seq: number; version: number }, { head: ShardHead; contradicting: number }>;
  /**
   * Provides entries, in order, as evidence of what was written for `recomputeCompare`. If they
   * start at seq 1, they cover all records.
   */
  recomputeWitness: OfSession<{ entries: ReplayedEntry[] }>;
  /**
   * Returns up to `limit` differences from the open shard `key` (null for none), from the leaves
   * stored with the records, and from the log.
   */
  recomputeCompare: OfSession<{ key: ShardKey | null; limit: number }, RecordDifference[]>;
  /** Returns the ids of up to `limit` records of an entry whose bytes do not match their leaf. */
  recomputeAltered: OfSession<{ entry: ReplayedEntry; limit: number }, string[]>;
  recomputeEnd: OfSession;
}

export type WorkerOp = keyof WorkerOps;

/**
 * The handlers of the operations. Long work that nothing urgently waits for returns steps, which
 * run in slices between other requests.
 */
export type WorkerHandlers<O extends WorkerOp> = {
  [op in O]: (params: WorkerOps[op]['params']) => WorkerOps[op]['result'] | Steps<WorkerOps[op]['result']>;
};

/** Answers requests: a worker thread, or a host without one. */
export interface WorkerRequests {
  /**
   * Rejects with ProvecError if the engine refused, WorkerLost if the thread ended, the reason of
   * `signal` if it aborts, and Error for an internal fault.
   */
  request<O extends WorkerOp>(
    op: O,
    params: WorkerOps[O]['params'],
    transfer?: ArrayBuffer[],
    signal?: AbortSignal,
  ): Promise<WorkerOps[O]['result']>;
}

export type WorkerRequest<O extends WorkerOp = WorkerOp> = {
  [op in O]: { id: number; op: op; params: WorkerOps[op]['params'] };
}[O];

/** Cancels a read whose caller no longer waits. It is answered as usual or refused. */
export interface CancelRequest {
  cancel: number;
  key: ShardKey;
}

/**
 * Asks the thread to exit on its own, between two requests. `Worker.terminate` may interrupt native
 * code that is running or loading. usearch then ends the process, because its C++ exceptions cannot
 * propagate in a thread that is being terminated.
 */
export const END = 'end';

export type WorkerFault =
  | Pick<ProvecError, 'code' | 'message' | 'details'>
  | { code: null; message: string; isFailedAssertion: boolean };

/** `tookMs` is the time spent in the handler. */
export type WorkerReply<R = unknown> = { id: number; result: R; tookMs: number } | { id: number; fault: WorkerFault };

/** Sent unrequested when background work changed a shard's size. */
export interface SizeNotice {
  id: null;
  key: ShardKey;
  size: ShardSize;
}

/**
 * Sent unrequested when a shard's index could not be built; its searches scan until it is. Only the
 * first of consecutive failures is reported.
 */
export interface IndexNotice {
  id: null;
  key: ShardKey;
  indexFault: string;
}
