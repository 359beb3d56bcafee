/**
 * Loads a shard into memory: from the newest sound checkpoint and the log after it, or else from
 * the materialised records and the log after them.
 *
 * Guarantees: the final root is compared with the head in the log and, in an anchored collection,
 * the confirmed root is checked on the way. A difference is a contradiction, which is stored before
 * the shard accepts a write. On failure: a contradicted shard is served as it is, and its
 * collection is not anchored until an operator decides. If the contradiction cannot be stored, the
 * shard does not open. See docs/internals/shard.md.
 */

import type { Logger } from 'pino';
import { firstOf } from '../../../lib/checked-access.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { EMPTY_HEAD, isSameState, type ShardHead } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { FetchedCheckpoint } from '../../../store/checkpoints.ts';
import { versionAfter } from '../../../store/log.ts';
import { type Store, StoreError } from '../../../store/port.ts';
import { HEAD_HISTORY_MAX } from '../memory/head-history.ts';
import { WorkerLost } from '../worker/pool.ts';
import type { WorkerOps, WorkerRequests } from '../worker/protocol.ts';
import { contiguousEntries } from './contiguous-entries.ts';

/** Maximum number of restarts of an opening because the log was trimmed in the meantime. */
const RESTARTS_MAX = 5;
/**
 * Estimated bytes of a record besides its vector: 190, plus 150 for metadata. In the graph it takes
 * 200 more for links, plus the quantized vector.
 *
 * Measured bytes per record with 100 bytes of metadata, estimates in parentheses:
 * - bf16: 521 (552) at 2 dimensions, 641 (636) at 16, 2,851 (2,844) at 384
 * - f32: 525 (556), 672 (668), 3,603 (3,612)
 * - 1,000 records, which have no graph: 397 (348) at 2 dimensions
 *
 * At 2 dimensions without metadata: 429 to 447; with 400 bytes of metadata: 836.
 */
const RECORD_BYTES = 340;
const GRAPH_RECORD_BYTES = 200;
const GRAPH_MIN_RECORDS = 2_000;
const VALUE_BYTES = Float32Array.BYTES_PER_ELEMENT;
const QUANTIZED_BYTES = { f32: 4, f16: 2, bf16: 2, i8: 1 };

const UNDECIDED = 'The stored bytes contradicted the recorded root, and no operator has decided since.';

export interface OpenedShard {
  head: ShardHead;
  /** Seq of the checkpoint it was loaded from; 0 if loaded from records. */
  checkpointSeq: number;
  /** Head at the seq of the last confirmed anchor, if recovery passed it. */
  anchored: ShardHead | null;
  /** Newest heads that recovery passed, oldest first; empty if there is a contradiction. */
  passed: ShardHead[];
  /** Bytes of log bodies that were replayed. */
  replayedBytes: number;
  /** The contradiction found, as a sentence, or null. */
  contradiction: string | null;
  /** Whether there is a contradiction, new or earlier, that no operator has decided. */
  isContradicted: boolean;
  /**
   * Whether log entries are missing or unreachable. The shard can be read up to there, but nothing
   * can be appended.
   */
  isCutShort: boolean;
}

/** A shard that a worker already has in memory, at `head`. */
export interface LoadedCopy {
  head: ShardHead;
  /** Seq of the checkpoint it was loaded from; 0 if loaded from records. */
  checkpointSeq: number;
}

export interface OpenContext {
  spec: ShardSpec;
  key: ShardKey;
  /** The head up to which its log is read. */
  recorded: ShardHead;
  worker: WorkerRequests;
  store: Store;
  log: Logger;
}

interface ReplayResult {
  head: ShardHead;
  anchored: ShardHead | null;
  passed: ShardHead[];
  differs: number | null;
  bytes: number;
}

/**
 * Where recovery starts: a copy in memory, the newest usable checkpoint (the records if there is
 * none), or the records.
 */
type RecoveryStart = LoadedCopy | 'checkpoint' | 'records';

interface Recovery {
  base: LoadedCopy;
  end: ReplayResult;
  /** The contradiction found, as a sentence, or null. */
  contradiction: string | null;
}

type ReplayOptions = Pick<WorkerOps['replay']['params'], 'watchSeq' | 'exactFromSeq'> & { orClose: boolean };

/** Estimates the bytes a closed shard takes once open. Throws StoreError. */
export async function sizeInMemory(spec: ShardSpec, { log }: Store): Promise<number> {
  const { collectionId, index, dimensions, quantization } = spec;
  const count = (await log.head(shardKey(collectionId, index)))?.count ?? 0;
  const inGraph = count < GRAPH_MIN_RECORDS ? 0 : GRAPH_RECORD_BYTES + dimensions * QUANTIZED_BYTES[quantization];
  return count * (RECORD_BYTES + dimensions * VALUE_BYTES + inGraph);
}

/**
 * Brings a copy of a shard from its current state (null for none) up to the head in the log,
 * without judging the store. Returns 'differs' if its root is not the recorded one and 'behind' if
 * the log no longer reaches back to it; the copy is then closed. Throws StoreError or WorkerLost.
 */
export async function followShard(
  context: OpenContext,
  from: LoadedCopy | null,
): Promise<LoadedCopy | 'differs' | 'behind'> {
  const { spec, key, recorded, worker, store } = context;
  const base = await loadBase(context, from ?? 'checkpoint');
  const { exactFromSeq } = base;
  // The holder keeps writing. Records read after the log's head may be ahead of it, in a state
  // without a recorded root.
  const goal = exactFromSeq > recorded.seq ? ((await store.log.head(key)) ?? recorded) : recorded;
  const confirmed = from === null ? await confirmedHead(spec, store) : null;
  const terms = { watchSeq: confirmed?.seq ?? null, exactFromSeq, orClose: true };
  const end = await replay(context, base.head, goal.seq, terms);
  const isThere = end.head.seq === goal.seq;
  const isConfirmed = !confirmed || !end.anchored || isSameState(end.anchored, confirmed);
  if (isThere && end.differs === null && isSameState(end.head, goal) && isConfirmed)
    return { head: end.head, checkpointSeq: base.checkpointSeq };
  await worker.request('close', { key });
  return isThere || end.differs !== null ? 'differs' : 'behind';
}

/** Throws COLLECTION_NOT_FOUND if the shard's collection is not in the catalog. */
export async function assertExists(spec: ShardSpec, store: Store): Promise<void> {
  if ((await store.catalog.getCollection(spec.collectionId)) === null) throw collectionNotFound();
}

/** Closes a shard in its worker. Never rejects. */
export async function closeInWorker(worker: WorkerRequests, key: ShardKey): Promise<void> {
  // A worker that is lost has closed its shards.
  await worker.request('close', { key }).catch(() => undefined);
}

/** Returns COLLECTION_NOT_FOUND if the collection has been deleted, otherwise `failure`. */
export async function orNotFound(failure: unknown, spec: ShardSpec, store: Store): Promise<unknown> {
  // If the catalog cannot be read, the failure stands.
  const row = await store.catalog.getCollection(spec.collectionId).catch(() => undefined);
  return row === null ? collectionNotFound() : failure;
}

function collectionNotFound(): ProvecError {
  return new ProvecError('COLLECTION_NOT_FOUND', 'The collection does not exist.');
}

/**
 * Opens a shard in a worker, up to the head in its log, starting from `copy` if given. Throws
 * StoreError, WorkerLost, COLLECTION_NOT_FOUND, or ShardMoved if another node has written to the
 * shard since `recorded`. On failure the caller closes the shard in the worker.
 */
export async function openShard(
  context: OpenContext,
  clock: Pick<Clock, 'wallMs'>,
  copy: LoadedCopy | null = null,
): Promise<OpenedShard> {
  const { spec, key, recorded, store } = context;
  // A late request must not reopen a shard of a deleted collection.
  await assertExists(spec, store);
  const { base, end, ...recovery } = await bestRecovery(context, copy);
  const contradiction = recovery.contradiction ?? (recorded.contradicted ? UNDECIDED : null);
  if (contradiction !== null) {
    const at = new Date(clock.wallMs()).toISOString();
    await store.contradictions.record(key, { seq: end.head.seq, reason: contradiction, at });
  }
  return {
    head: contradiction === null ? end.head : { ...end.head, contradicted: true },
    checkpointSeq: base.checkpointSeq,
    anchored: end.anchored,
    passed: contradiction === null ? end.passed : [],
    replayedBytes: end.bytes,
    contradiction,
    isContradicted: contradiction !== null || (await store.contradictions.list(spec.collectionId)).length > 0,
    isCutShort: end.head.seq !== recorded.seq,
  };
}

/**
 * Recovers from the fastest start that agrees with what was recorded, or else from the records. A
 * copy or a checkpoint is no evidence against the store. Throws ShardMoved if another node claimed
 * the shard and wrote to it in the meantime, because then the reads saw different states.
 */
async function bestRecovery(context: OpenContext, copy: LoadedCopy | null): Promise<Recovery> {
  const { key, recorded, worker, store, log } = context;
  const starts: RecoveryStart[] = copy ? [copy, 'checkpoint', 'records'] : ['checkpoint', 'records'];
  let refutedSeq = 0;
  for (let overtaken = 0; ; ) {
    const start = firstOf(starts);
    const recovery = await recoverFrom(context, start);
    if (await isOvertaken(key, recovery.end.head, recorded, store)) {
      if (++overtaken === RESTARTS_MAX)
        throw new StoreError('unavailable', 'The log is trimmed faster than it can be read.');
      // The copy is closed below and then gone.
      if (start === copy) starts.shift();
    } else if (recovery.contradiction === null) {
      if (refutedSeq > 0) {
        log.error({ shard: key, seq: refutedSeq }, 'removed a checkpoint that contradicted the records');
        await store.checkpoints.prune(key, refutedSeq + 1);
      }
      return recovery;
    } else {
      if (((await store.log.head(key))?.seq ?? 0) > recorded.seq) throw new ShardMoved(null);
      const { checkpointSeq } = recovery.base;
      if (start === 'records' || (start === 'checkpoint' && checkpointSeq === 0)) return recovery;
      if (start === 'checkpoint') refutedSeq = checkpointSeq;
      starts.shift();
    }
    await worker.request('close', { key });
  }
}

async function recoverFrom(context: OpenContext, start: RecoveryStart): Promise<Recovery> {
  const { spec, recorded, store } = context;
  const base = await loadBase(context, start);
  // Read the confirmed root after the base: records are never ahead of the root confirmed by the
  // time they are read.
  const confirmed = await confirmedHead(spec, store);
  const terms = { watchSeq: confirmed?.seq ?? null, exactFromSeq: base.exactFromSeq, orClose: false };
  const end = await replay(context, base.head, recorded.seq, terms);
  const isStored = typeof start === 'string';
  return { base, end, contradiction: contradictionOf(recorded, base, end, confirmed, isStored) };
}

/** `skipped` is the number of stored rows that cannot be records of the shard. */
type RecoveryBase = LoadedCopy & { exactFromSeq: number; skipped: number };

async function loadBase(context: OpenContext, start: RecoveryStart): Promise<RecoveryBase> {
  if (typeof start === 'object') return { ...start, exactFromSeq: start.head.seq, skipped: 0 };
  const loaded = start === 'checkpoint' ? await fromCheckpoint(context) : null;
  return loaded ?? fromRecords(context);
}

/** Returns the shard's head at the last confirmed anchor. */
async function confirmedHead({ collectionId, index }: ShardSpec, { anchors }: Store): Promise<ShardHead | null> {
  return (await anchors.get(collectionId))?.confirmed?.cut[index] ?? null;
}

/**
 * Whether the log was trimmed past the recovered state, as a previous holder may still do. Recovery
 * then starts over from what is materialised.
 */
async function isOvertaken(key: ShardKey, head: ShardHead, recorded: ShardHead, store: Store): Promise<boolean> {
  return head.seq < recorded.seq && (await store.records.appliedSeq(key)) > head.seq;
}

async function fromCheckpoint({ spec, key, recorded: { seq: throughSeq }, worker, store, log }: OpenContext) {
  const checkpoints = await store.checkpoints.list(key);
  // A small shard has none; returning early saves trips to the store.
  if (checkpoints.length === 0) return null;
  const firstSeq = await store.log.firstSeq(key);
  const confirmed = await confirmedHead(spec, store);
  for (const { seq } of checkpoints) {
    const logReaches = seq === throughSeq || (firstSeq !== null && firstSeq <= seq + 1);
    if (seq > throughSeq || !logReaches || (confirmed && seq > confirmed.seq)) continue;
    let checkpoint: FetchedCheckpoint | null = null;
    try {
      checkpoint = await store.checkpoints.fetch(key, seq);
      if (checkpoint === null) continue;
      const head = await worker.request('load', { key, spec, checkpoint });
      return { head, checkpointSeq: seq, exactFromSeq: seq, skipped: 0 };
    } catch (error) {
      if (error instanceof WorkerLost) throw error;
      // Throws if the whole store is unavailable, not just this checkpoint.
      await store.reach();
      log.error({ err: error, shard: key, seq }, 'could not load a checkpoint; using an older one or the records');
    } finally {
      if (checkpoint !== null) await store.checkpoints.release(checkpoint);
    }
  }
  return null;
}

async function fromRecords({ spec, key, recorded, worker, store }: OpenContext) {
  await worker.request('create', { key, spec });
  const scan = await store.records.scan(key);
  let skipped = 0;
  for await (const records of scan.batches) skipped += await worker.request('restore', { key, records });
  // A record applied during the scan is ahead of the others until the log through `reachedSeq` is
  // replayed.
  const seq = scan.throughSeq;
  const head = await worker.request('endRestore', { key, seq, version: await versionAt(key, seq, recorded, store) });
  skipped += scan.unreadable.length + scan.stray.length;
  return { head, checkpointSeq: 0, exactFromSeq: scan.reachedSeq, skipped };
}

/**
 * Returns how many writes led to a materialised seq. The log records this number for its end and
 * for each entry.
 */
async function versionAt(key: ShardKey, seq: number, recorded: ShardHead, { log }: Store): Promise<number> {
  // The log may have grown and been trimmed past this seq since.
  if (seq === recorded.seq) return recorded.version;
  const before = await versionBefore(key, seq + 1, log);
  if (before !== null) return before;
  const newest = (await log.head(key)) ?? EMPTY_HEAD;
  // The next entry may have been appended between the two reads.
  const beforeLate = newest.seq > seq ? await versionBefore(key, seq + 1, log) : null;
  // Either the log ends here, or it cannot be followed from here, which recovery detects later in
  // any case. The number must never decrease.
  return beforeLate ?? newest.version;
}

/**
 * Returns how many writes led to the entry at `seq`, excluding it, or null if there is no such
 * entry.
 */
async function versionBefore(key: ShardKey, seq: number, log: Store['log']): Promise<number | null> {
  const [entry] = await log.read(key, seq - 1, 1);
  if (entry?.seq !== seq || entry.kind === 'damaged') return null;
  return entry.head.version - versionAfter(0, entry);
}

async function replay(
  { key, worker, store }: OpenContext,
  base: ShardHead,
  throughSeq: number,
  terms: ReplayOptions,
): Promise<ReplayResult> {
  const { watchSeq, exactFromSeq, orClose } = terms;
  let head = base;
  let anchored = base.seq === watchSeq && watchSeq >= exactFromSeq ? base : null;
  let passed = base.seq >= exactFromSeq ? [base] : [];
  let differs: number | null = null;
  let bytes = 0;
  for await (const entries of contiguousEntries(store.log, key, base.seq, throughSeq)) {
    const step = await worker.request('replay', { key, entries, watchSeq, exactFromSeq, orClose });
    head = step.head;
    anchored = step.watched ?? anchored;
    differs ??= step.differs;
    const exact = entries.filter(({ seq }) => seq >= exactFromSeq).map(({ head }) => head);
    passed = [...passed, ...exact].slice(-HEAD_HISTORY_MAX);
    bytes += entries.reduce((total, { body }) => total + body.byteLength, 0);
    if (orClose && differs !== null) break;
  }
  return { head, anchored, passed, differs, bytes };
}

/**
 * Returns the contradiction found, or null. `isStored` means that recovery started from stored
 * data, which is never ahead of the confirmed root.
 */
function contradictionOf(
  recorded: ShardHead,
  base: RecoveryBase,
  end: ReplayResult,
  confirmed: ShardHead | null,
  isStored: boolean,
): string | null {
  if (end.head.seq !== recorded.seq) return `The log ends at ${end.head.seq}, but its head says ${recorded.seq}.`;
  if (!isSameState(end.head, recorded)) return `The stored records do not match the root recorded at ${recorded.seq}.`;
  if (end.differs !== null) return `The stored log entry ${end.differs} does not match the root recorded with it.`;
  if (base.skipped > 0) return `The stored records include ${base.skipped} that the service did not write.`;
  if (confirmed && confirmed.seq > recorded.seq)
    return `The log ends at ${recorded.seq}, but a root at ${confirmed.seq} was confirmed on the ledger.`;
  if (confirmed && !end.anchored && isStored)
    return `The stored data begins at ${base.head.seq}, after the root that the ledger confirmed at ${confirmed.seq}.`;
  if (confirmed && end.anchored && !isSameState(end.anchored, confirmed))
    return `The stored records do not match the root that the ledger confirmed at ${confirmed.seq}.`;
  return null;
}
