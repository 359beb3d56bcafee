/**
 * Runs in a worker thread that holds shards. Most requests run to completion, one after the other.
 * Long work runs in slices of milliseconds, and accounts take turns (turn-scheduler.ts): reads
 * after their first slice, staging of writes, and background work (building and compacting the
 * index). A request waits for the slice in progress and for what its own account has queued before
 * it. An index that falls behind gets more turns (index-backpressure.ts).
 */

import { ProvecError } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import { SYSTEM_TIMERS, type Timers } from '../../../lib/time/timers.ts';
import { collectGarbage } from '../../../process/garbage.ts';
import { IndexFailure, type ShardEngine, type ShardWrite, type ShardWriter } from '../engine/port.ts';
import { runThrough, type Steps } from '../steps.ts';
import { GraphUpgrades } from './graph-upgrades.ts';
import { HostedShard, type WaitingRequest } from './hosted-shard.ts';
import { fromPosted, type PostedWrite } from './posted-write.ts';
import type {
  CancelRequest,
  IndexNotice,
  SizeNotice,
  WorkerHandlers,
  WorkerOp,
  WorkerOps,
  WorkerReply,
  WorkerRequest,
} from './protocol.ts';
import { isRead, type ReadOp, readWork, withSnapshot } from './reads.ts';
import { recomputeHandlers } from './recompute-handlers.ts';
import { type RunLimits, SlicedRun } from './sliced-run.ts';
import { TurnScheduler } from './turn-scheduler.ts';
import { describeThrown, workerFaultOf } from './worker-fault.ts';

const MAINTAIN_SLICE_MS = 2;
const RECOMPUTE_SLICE_MS = 0.5;
const STAGE_SLICE_MS = 4;
/** Slice of loading or saving a checkpoint, or of hashing a restored shard. */
const CHECKPOINT_SLICE_MS = 4;
/**
 * Amounts of background work, and of freed memory, after which a garbage collection is worth the
 * pause.
 */
const COLLECT_AFTER_WORK_MS = 1_000;
const COLLECT_AFTER_FREED_BYTES = 32 * 2 ** 20;
/** A timer may fire slightly early, while the index build is still paused. */
const TIMER_SLACK_MS = 10;
const CANCELLED = 'The request was cancelled.';
const OPENING_AGAIN = 'The shard is reopening; try again.';

interface ReadSlices extends Pick<RunLimits, 'cpuMaxMs' | 'waitMaxMs'> {
  /** Longest time a read works before other work gets a turn, in ms. */
  sliceMs: number;
  /**
   * Minimum duration of a read's first slice, in ms, however many reads its shard has. Most reads
   * take less.
   */
  firstSliceMinMs: number;
  monotonicMs(): number;
}

const READ_SLICES: ReadSlices = {
  sliceMs: 2,
  firstSliceMinMs: 1,
  cpuMaxMs: INTERNAL_LIMITS.queryCpuMaxMs,
  waitMaxMs: INTERNAL_LIMITS.actionTimeoutMs,
  monotonicMs: () => performance.now(),
};

export type Post = (message: WorkerReply | SizeNotice | IndexNotice, transfer: ArrayBuffer[]) => void;

/** Options for tests: how reads are sliced and how time passes. */
export interface HostOptions extends Partial<ReadSlices> {
  timers?: Timers;
}

/** Operations other than reads and staging. */
type HandledOp = Exclude<WorkerOp, ReadOp | 'stage'>;

/** Handles requests and posts replies and notices. Independent of threads. */
export class ShardHost {
  readonly #post: Post;
  readonly #terms: ReadSlices;
  readonly #engine: ShardEngine;
  readonly #timers: Timers;
  readonly #later: (run: () => void) => void;
  readonly #turns: TurnScheduler;
  readonly #upgrades = new GraphUpgrades();
  readonly #shards = new Map<ShardKey, HostedShard>();
  /** Openings and savings of shards under way. A load has no `hosted`: its shard comes last. */
  readonly #runs = new Map<SlicedRun, { key: ShardKey; hosted: HostedShard | undefined }>();
  /** Cancels the timers of shards with unfinished cursors. */
  readonly #expiring = new Map<HostedShard, () => void>();
  /** Milliseconds of background work since the last garbage collection. */
  #workedMs = 0;

  /** `later` runs its callback after the requests that have arrived are answered. */
  constructor(
    engine: ShardEngine,
    post: Post,
    later: (run: () => void) => void,
    { timers = SYSTEM_TIMERS, ...terms }: HostOptions = {},
  ) {
    this.#post = post;
    this.#terms = { ...READ_SLICES, ...terms };
    this.#engine = engine;
    this.#timers = timers;
    this.#later = later;
    this.#turns = new TurnScheduler(later, this.#terms.monotonicMs, {
      read: (hosted) => this.#continueRead(hosted),
      stage: (hosted) => this.#continueStaging(hosted),
      maintain: (hosted) => this.#maintain(hosted),
    });
  }

  /** Answers a request: at once, in its turn, or when its shard allows it. */
  receive(request: WorkerRequest): void {
    this.#receive(request);
    this.#turns.runOverdue();
  }

  /** Cancels a running or waiting read. */
  cancel({ cancel, key }: CancelRequest): void {
    const hosted = this.#shards.get(key);
    const run = hosted?.remove(cancel);
    if (!hosted || !run) return;
    this.#post(run.refuse(CANCELLED), []);
    if (run.hasKept) this.#wake(key);
    this.#admit(hosted);
  }

  #receive(request: WorkerRequest): void {
    const hosted = this.#shardOf(request);
    if (hosted) this.#expire(hosted);
    if (isRead(request)) {
      if (hosted) this.#read(request, hosted);
      else this.#refuse(request.id);
      return;
    }
    if (hosted && !hosted.admits(request.op)) hosted.wait(request);
    else this.#answer(request);
    if (hosted) this.#admit(hosted);
  }

  readonly #handlers: WorkerHandlers<HandledOp> = {
    create: ({ key, spec }) => void this.#host(key, this.#engine.create(spec)),
    load: (params) => this.#load(params),
    restore: ({ key, records }) => this.#hosted(key).shard.restore(records),
    endRestore: ({ key, seq, version }) => this.#thenWake(key, this.#hosted(key).shard.endRestore(seq, version)),
    replay: ({ key, entries, watchSeq, exactFromSeq, orClose = false }) => {
      const hosted = this.#hosted(key);
      const { shard } = hosted;
      let differs: number | null = null;
      let watched: ShardHead | null = null;
      for (const entry of entries) {
        const isSame = shard.replay(entry);
        if (entry.seq < exactFromSeq) continue;
        if (!isSame) differs ??= entry.seq;
        if (entry.seq === watchSeq) watched = shard.head;
      }
      if (orClose && differs !== null) this.#drop(hosted);
      this.#wake(key);
      return { head: shard.head, differs, watched };
    },
    commit: ({ key }) => {
      const entry = this.#hosted(key);
      entry.shard.commit();
      this.#wake(key);
      return entry.size;
    },
    abort: ({ key }) => {
      this.#hosted(key).shard.abort();
      this.#wake(key);
    },
    next: ({ key, rest, pageMaxBytes }) => {
      const page = this.#shards.get(key)?.readings.next(rest, pageMaxBytes, this.#terms.monotonicMs()) ?? null;
      if (page?.rest === null) this.#wake(key);
      return page;
    },
    leave: ({ key, rest }) => {
      this.#shards.get(key)?.readings.end(rest);
      this.#wake(key);
    },
    // Waits while a group is staged: beside a group of 2,000 records a proof takes 25 ms, in one
    // step, because it undoes and redoes the group in the Merkle map.
    prove: ({ key, id }) => withSnapshot(this.#hosted(key).shard, (snapshot) => runThrough(snapshot.prove(id))),
    size: ({ key }) => this.#hosted(key).size,
    memory: ({ key }) => this.#hosted(key).shard.memory,
    save: ({ key, folder }) => this.#thenWake(key, this.#save(this.#hosted(key).shard, folder)),
    close: ({ key }) => {
      this.#endRuns((run) => run.key === key);
      const hosted = this.#shards.get(key);
      const bytes = hosted?.shard.bytes ?? 0;
      if (hosted) this.#drop(hosted);
      if (bytes >= COLLECT_AFTER_FREED_BYTES) collectGarbage();
    },
    ...recomputeHandlers((key) => this.#hosted(key).shard),
  };

  #shardOf({ params }: WorkerRequest): HostedShard | undefined {
    return 'key' in params && params.key !== null ? this.#shards.get(params.key) : undefined;
  }

  #hosted(key: ShardKey): HostedShard {
    const found = this.#shards.get(key);
    if (!found) throw new ProvecError('UNAVAILABLE', OPENING_AGAIN);
    return found;
  }

  #host(key: ShardKey, shard: ShardWriter): void {
    const former = this.#shards.get(key);
    if (former) this.#drop(former);
    this.#shards.set(key, new HostedShard(key, shard));
  }

  /** Closes a shard and answers everything that waits for it. */
  #drop(hosted: HostedShard): void {
    this.#shards.delete(hosted.key);
    this.#turns.remove(hosted);
    this.#endUpgrade(hosted);
    this.#expiring.get(hosted)?.();
    this.#expiring.delete(hosted);
    this.#endRuns((run) => run.hosted === hosted);
    const { reads, requests, staging } = hosted.clear();
    for (const run of reads) this.#post(run.refuse(OPENING_AGAIN), []);
    if (staging !== null) this.#refuse(staging.id);
    for (const request of requests) this.#answer(request);
  }

  #refuse(id: number): void {
    this.#post({ id, fault: workerFaultOf(new ProvecError('UNAVAILABLE', OPENING_AGAIN)) }, []);
  }

  #answer(request: WaitingRequest): void {
    if (request.op === 'stage') return void this.#stage(request);
    const { id, op } = request;
    const hosted = this.#shardOf(request);
    hosted?.beforeOp(op);
    let tookMs = 0;
    try {
      const startedMs = this.#terms.monotonicMs();
      const result = this.#handle(request);
      if (isSteps(result)) return void this.#begin(request, result);
      tookMs = this.#terms.monotonicMs() - startedMs;
      this.#post({ id, result, tookMs }, []);
    } catch (error) {
      this.#post({ id, fault: workerFaultOf(error) }, []);
    }
    if (!hosted || this.#shards.get(hosted.key) !== hosted) return;
    this.#turns.charge(hosted, tookMs);
    // Opening a shard must not wait for its index to be built.
    if (op !== 'commit') return;
    hosted.indexDebt.add(tookMs, hosted.shard.unindexed);
    this.#buildIfDue(hosted);
  }

  #handle<O extends HandledOp>({ op, params }: WorkerRequest<O>): WorkerOps[O]['result'] | Steps<unknown> {
    return this.#handlers[op](params);
  }

  #begin({ id, op, params }: WorkerRequest<HandledOp>, steps: Steps<unknown>): void {
    const run = new SlicedRun(id, () => steps, this.#terms.monotonicMs);
    const key = 'key' in params ? params.key : null;
    if (key !== null) this.#runs.set(run, { key, hosted: op === 'load' ? undefined : this.#shards.get(key) });
    this.#slice(run, CHECKPOINTING.has(op) ? CHECKPOINT_SLICE_MS : RECOMPUTE_SLICE_MS);
  }

  /** Continues sliced work. Requests that have arrived run before the next slice. */
  #slice(run: SlicedRun, sliceMs: number): void {
    if (run.isEnded) return;
    const reply = run.slice(sliceMs);
    if (reply === null) return void this.#later(() => this.#slice(run, sliceMs));
    this.#runs.delete(run);
    this.#post(reply, []);
  }

  *#load({ key, spec, checkpoint }: WorkerOps['load']['params']): Steps<ShardHead> {
    const shard = yield* this.#engine.load(checkpoint, spec);
    this.#host(key, shard);
    this.#wake(key);
    return shard.head;
  }

  *#save(shard: ShardWriter, folder: string): Steps<ShardHead> {
    const head = yield* shard.checkpoint(folder);
    setImmediate(collectGarbage);
    return head;
  }

  #endRuns(isMeant: (run: { key: ShardKey; hosted: HostedShard | undefined }) => boolean): void {
    for (const [run, of] of this.#runs) {
      if (!isMeant(of)) continue;
      this.#runs.delete(run);
      this.#post(run.refuse(OPENING_AGAIN), []);
    }
  }

  /** Stages writes in turns, so that a large group delays others by at most one slice. */
  #stage({ id, params: { key, writes } }: WorkerRequest<'stage'>): void {
    const hosted = this.#shards.get(key);
    if (hosted) {
      const steps = hosted.shard.stage(unpacked(writes));
      hosted.staging = new SlicedRun(id, () => steps, this.#terms.monotonicMs);
      this.#turns.enqueue('stage', hosted);
    } else this.#refuse(id);
  }

  #continueStaging(hosted: HostedShard): void {
    const run = hosted.staging;
    if (run === null) return;
    const reply = run.slice(STAGE_SLICE_MS);
    if (reply === null) this.#turns.enqueue('stage', hosted);
    else {
      hosted.staging = null;
      hosted.indexDebt.add(run.tookMs, hosted.shard.unindexed);
      this.#wake(hosted.key);
      const commit = 'result' in reply ? reply.result.commit : null;
      this.#post(reply, commit ? [commit.body.buffer] : []);
    }
    this.#admit(hosted);
  }

  #read(request: WorkerRequest<ReadOp>, hosted: HostedShard): void {
    const { monotonicMs, cpuMaxMs, waitMaxMs } = this.#terms;
    const { steps, tooMuch } = readWork(request, hosted, monotonicMs);
    const run = new SlicedRun(request.id, steps, monotonicMs, { cpuMaxMs, waitMaxMs, tooMuch });
    // Reads that arrive together get shorter first slices, so that other work does not wait for a
    // full slice of each.
    const { firstSliceMinMs, sliceMs } = this.#terms;
    const isAnswered = this.#work(hosted, run, Math.max(firstSliceMinMs, sliceMs / (1 + hosted.reads)));
    this.#turns.charge(hosted, run.lastSliceMs);
    if (isAnswered) return;
    hosted.enter(run);
    this.#awaitTurn(hosted);
  }

  /** Runs one slice of a read. Returns whether it is finished. */
  #work(hosted: HostedShard, run: SlicedRun, sliceMs: number): boolean {
    const reply = run.slice(sliceMs);
    hosted.indexDebt.add(run.lastSliceMs, hosted.shard.unindexed);
    if (!reply) return false;
    this.#post(reply, []);
    this.#buildIfDue(hosted);
    if (run.hasKept) this.#wake(hosted.key);
    if (run.hasBuilt) this.#post({ id: null, key: hosted.key, size: hosted.size }, []);
    if (hosted.readings.size > 0) this.#expireLater(hosted);
    return true;
  }

  /** Starts everything that is waiting and may run now. */
  #admit(hosted: HostedShard): void {
    for (let next = hosted.admitNext(); next; next = hosted.admitNext()) {
      if (next.kind === 'request') this.#answer(next.request);
      else if (next.kind === 'maintenance') this.#maintain(hosted);
    }
    this.#awaitTurn(hosted);
  }

  #awaitTurn(hosted: HostedShard): void {
    if (this.#shards.get(hosted.key) !== hosted) return;
    if (hosted.hasReads) this.#turns.enqueue('read', hosted);
    if (hosted.readings.size > 0) this.#expireLater(hosted);
  }

  /** Expired cursors would keep the shard from being compacted. */
  #expire(hosted: HostedShard): void {
    if (hosted.readings.expire(this.#terms.monotonicMs())) this.#wake(hosted.key);
  }

  /** A timer is needed, because there may be no further request to trigger the expiry. */
  #expireLater(hosted: HostedShard): void {
    if (this.#expiring.has(hosted)) return;
    const cancel = this.#timers.after(INTERNAL_LIMITS.unaskedPageMaxMs + TIMER_SLACK_MS, () => {
      this.#expiring.delete(hosted);
      this.#expire(hosted);
      if (hosted.readings.size > 0) this.#expireLater(hosted);
    });
    this.#expiring.set(hosted, cancel);
  }

  #wake(key: ShardKey): void {
    const hosted = this.#shards.get(key);
    if (hosted) this.#turns.enqueue('maintain', hosted);
  }

  /** Pinned records delayed compaction, so maintenance is woken after the steps. */
  *#thenWake<T>(key: ShardKey, steps: Steps<T>): Steps<T> {
    try {
      return yield* steps;
    } finally {
      this.#wake(key);
    }
  }

  #continueRead(hosted: HostedShard): void {
    hosted.takeTurn((run) => this.#work(hosted, run, this.#terms.sliceMs));
    this.#admit(hosted);
  }

  #maintain(hosted: HostedShard): void {
    // Maintenance waits for the staging; in between, it would take a third of the time under load.
    if (hosted.staging !== null) return;
    if (hosted.isRead) return void hosted.waitForMaintenance();
    if (this.#maintainSlice(hosted)) {
      this.#turns.enqueue('maintain', hosted);
      return;
    }
    this.#post({ id: null, key: hosted.key, size: hosted.size }, []);
    const isFreed = hosted.hasFreed(COLLECT_AFTER_FREED_BYTES);
    if ((this.#workedMs < COLLECT_AFTER_WORK_MS && !isFreed) || this.#turns.has('maintain')) return;
    this.#workedMs = 0;
    collectGarbage();
  }

  #buildIfDue(hosted: HostedShard): void {
    if (!hosted.indexDebt.isDue || hosted.isRead) return;
    this.#maintainSlice(hosted);
  }

  /** Returns true while there is more to do. */
  #maintainSlice(hosted: HostedShard): boolean {
    const { key, shard, indexDebt } = hosted;
    hosted.beforeChange();
    const startedMs = this.#terms.monotonicMs();
    const mayUpgrade = shard.hasOutdatedIndex && this.#upgrades.enter(hosted);
    let more = false;
    try {
      more = shard.maintain(indexDebt.nextSliceMs(MAINTAIN_SLICE_MS), mayUpgrade);
      return more;
    } catch (error) {
      // The shard's state is unknown. The error ends the thread, and its shards reopen from the
      // store.
      if (!(error instanceof IndexFailure)) throw error;
      // The part of the index that was built is garbage.
      this.#workedMs = COLLECT_AFTER_WORK_MS;
      if (error.isFirst) this.#post({ id: null, key, indexFault: describeThrown(error.cause) }, []);
      this.#timers.after(error.pauseMs + TIMER_SLACK_MS, () => this.#wake(key));
      return false;
    } finally {
      if (mayUpgrade && !(more && shard.hasOutdatedIndex)) this.#endUpgrade(hosted);
      this.#workedMs += this.#terms.monotonicMs() - startedMs;
    }
  }

  /** Lets the next shard replace its outdated graph. */
  #endUpgrade(hosted: HostedShard): void {
    const next = this.#upgrades.leave(hosted);
    if (next !== null) this.#wake(next.key);
  }
}

const CHECKPOINTING = new Set<WorkerOp>(['load', 'save', 'endRestore']);

const isSteps = (result: unknown): result is Steps<unknown> =>
  typeof result === 'object' && result !== null && 'next' in result;

/** Unpacks the writes one by one, because each takes time. */
function* unpacked(writes: PostedWrite[]): Iterable<ShardWrite> {
  for (const write of writes) yield fromPosted(write);
}
