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
  readonly #held = new Map<ShardKey, HostedShard>();
  /** Openings and savings of shards under way. A load has no `held`: its shard comes last. */
  readonly #runs = new Map<SlicedRun, { key: ShardKey; held: HostedShard | undefined }>();
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
      read: (held) => this.#continueRead(held),
      stage: (held) => this.#continueStaging(held),
      maintain: (held) => this.#maintain(held),
    });
  }

  /** Answers a request: at once, in its turn, or when its shard allows it. */
  receive(request: WorkerRequest): void {
    this.#receive(request);
    this.#turns.runOverdue();
  }

  /** Cancels a running or waiting read. */
  cancel({ cancel, key }: CancelRequest): void {
    const held = this.#held.get(key);
    const run = held?.remove(cancel);
    if (!held || !run) return;
    this.#post(run.refuse(CANCELLED), []);
    if (run.hasKept) this.#wake(key);
    this.#admit(held);
  }

  #receive(request: WorkerRequest): void {
    const held = this.#shardOf(request);
    if (held) this.#expire(held);
    if (isRead(request)) {
      if (held) this.#read(request, held);
      else this.#refuse(request.id);
      return;
    }
    if (held && !held.admits(request.op)) held.wait(request);
    else this.#answer(request);
    if (held) this.#admit(held);
  }

  readonly #handlers: WorkerHandlers<HandledOp> = {
    create: ({ key, spec }) => void this.#host(key, this.#engine.create(spec)),
    load: (params) => this.#load(params),
    restore: ({ key, records }) => this.#hosted(key).shard.restore(records),
    endRestore: ({ key, seq, version }) => this.#thenWake(key, this.#hosted(key).shard.endRestore(seq, version)),
    replay: ({ key, entries, watchSeq, exactFromSeq, orClose = false }) => {
      const held = this.#hosted(key);
      const { shard } = held;
      let differs: number | null = null;
      let watched: ShardHead | null = null;
      for (const entry of entries) {
        const isSame = shard.replay(entry);
        if (entry.seq < exactFromSeq) continue;
        if (!isSame) differs ??= entry.seq;
        if (entry.seq === watchSeq) watched = shard.head;
      }
      if (orClose && differs !== null) this.#drop(held);
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
      const page = this.#held.get(key)?.readings.next(rest, pageMaxBytes, this.#terms.monotonicMs()) ?? null;
      if (page?.rest === null) this.#wake(key);
      return page;
    },
    leave: ({ key, rest }) => {
      this.#held.get(key)?.readings.end(rest);
      this.#wake(key);
    },
    // Waits while a group is staged: beside a group of 2,000 records a proof takes 25 ms, in one
    // step, because it undoes and redoes the group in the Merkle map.
    prove: ({ key, id }) => withSnapshot(this.#hosted(key).shard, (snapshot) => runThrough(snapshot.prove(id))),
    size: ({ key }) => this.#hosted(key).size,
    save: ({ key, folder }) => this.#thenWake(key, this.#save(this.#hosted(key).shard, folder)),
    close: ({ key }) => {
      this.#endRuns((run) => run.key === key);
      const held = this.#held.get(key);
      const bytes = held?.shard.bytes ?? 0;
      if (held) this.#drop(held);
      if (bytes >= COLLECT_AFTER_FREED_BYTES) collectGarbage();
    },
    ...recomputeHandlers((key) => this.#hosted(key).shard),
  };

  #shardOf({ params }: WorkerRequest): HostedShard | undefined {
    return 'key' in params && params.key !== null ? this.#held.get(params.key) : undefined;
  }

  #hosted(key: ShardKey): HostedShard {
    const found = this.#held.get(key);
    if (!found) throw new ProvecError('UNAVAILABLE', OPENING_AGAIN);
    return found;
  }

  #host(key: ShardKey, shard: ShardWriter): void {
    const former = this.#held.get(key);
    if (former) this.#drop(former);
    this.#held.set(key, new HostedShard(key, shard));
  }

  /** Closes a shard and answers everything that waits for it. */
  #drop(held: HostedShard): void {
    this.#held.delete(held.key);
    this.#turns.remove(held);
    this.#endUpgrade(held);
    this.#expiring.get(held)?.();
    this.#expiring.delete(held);
    this.#endRuns((run) => run.held === held);
    const { reads, requests, staging } = held.clear();
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
    const held = this.#shardOf(request);
    held?.beforeOp(op);
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
    if (!held || this.#held.get(held.key) !== held) return;
    this.#turns.charge(held, tookMs);
    // Opening a shard must not wait for its index to be built.
    if (op !== 'commit') return;
    held.indexDebt.add(tookMs, held.shard.unindexed);
    this.#buildIfDue(held);
  }

  #handle<O extends HandledOp>({ op, params }: WorkerRequest<O>): WorkerOps[O]['result'] | Steps<unknown> {
    return this.#handlers[op](params);
  }

  #begin({ id, op, params }: WorkerRequest<HandledOp>, steps: Steps<unknown>): void {
    const run = new SlicedRun(id, () => steps, this.#terms.monotonicMs);
    const key = 'key' in params ? params.key : null;
    if (key !== null) this.#runs.set(run, { key, held: op === 'load' ? undefined : this.#held.get(key) });
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

  #endRuns(isMeant: (run: { key: ShardKey; held: HostedShard | undefined }) => boolean): void {
    for (const [run, of] of this.#runs) {
      if (!isMeant(of)) continue;
      this.#runs.delete(run);
      this.#post(run.refuse(OPENING_AGAIN), []);
    }
  }

  /** Stages writes in turns, so that a large group delays others by at most one slice. */
  #stage({ id, params: { key, writes } }: WorkerRequest<'stage'>): void {
    const held = this.#held.get(key);
    if (held) {
      const steps = held.shard.stage(unpacked(writes));
      held.staging = new SlicedRun(id, () => steps, this.#terms.monotonicMs);
      this.#turns.enqueue('stage', held);
    } else this.#refuse(id);
  }

  #continueStaging(held: HostedShard): void {
    const run = held.staging;
    if (run === null) return;
    const reply = run.slice(STAGE_SLICE_MS);
    if (reply === null) this.#turns.enqueue('stage', held);
    else {
      held.staging = null;
      held.indexDebt.add(run.tookMs, held.shard.unindexed);
      this.#wake(held.key);
      const commit = 'result' in reply ? reply.result.commit : null;
      this.#post(reply, commit ? [commit.body.buffer] : []);
    }
    this.#admit(held);
  }

  #read(request: WorkerRequest<ReadOp>, held: HostedShard): void {
    const { monotonicMs, cpuMaxMs, waitMaxMs } = this.#terms;
    const { steps, tooMuch } = readWork(request, held, monotonicMs);
    const run = new SlicedRun(request.id, steps, monotonicMs, { cpuMaxMs, waitMaxMs, tooMuch });
    // Reads that arrive together get shorter first slices, so that other work does not wait for a
    // full slice of each.
    const { firstSliceMinMs, sliceMs } = this.#terms;
    const isAnswered = this.#work(held, run, Math.max(firstSliceMinMs, sliceMs / (1 + held.reads)));
    this.#turns.charge(held, run.lastSliceMs);
    if (isAnswered) return;
    held.enter(run);
    this.#awaitTurn(held);
  }

  /** Runs one slice of a read. Returns whether it is finished. */
  #work(held: HostedShard, run: SlicedRun, sliceMs: number): boolean {
    const reply = run.slice(sliceMs);
    held.indexDebt.add(run.lastSliceMs, held.shard.unindexed);
    if (!reply) return false;
    this.#post(reply, []);
    this.#buildIfDue(held);
    if (run.hasKept) this.#wake(held.key);
    if (run.hasBuilt) this.#post({ id: null, key: held.key, size: held.size }, []);
    if (held.readings.size > 0) this.#expireLater(held);
    return true;
  }

  /** Starts everything that is waiting and may run now. */
  #admit(held: HostedShard): void {
    for (let next = held.admitNext(); next; next = held.admitNext()) {
      if (next.kind === 'request') this.#answer(next.request);
      else if (next.kind === 'maintenance') this.#maintain(held);
    }
    this.#awaitTurn(held);
  }

  #awaitTurn(held: HostedShard): void {
    if (this.#held.get(held.key) !== held) return;
    if (held.hasReads) this.#turns.enqueue('read', held);
    if (held.readings.size > 0) this.#expireLater(held);
  }

  /** Expired cursors would keep the shard from being compacted. */
  #expire(held: HostedShard): void {
    if (held.readings.expire(this.#terms.monotonicMs())) this.#wake(held.key);
  }

  /** A timer is needed, because there may be no further request to trigger the expiry. */
  #expireLater(held: HostedShard): void {
    if (this.#expiring.has(held)) return;
    const cancel = this.#timers.after(INTERNAL_LIMITS.unaskedPageMaxMs + TIMER_SLACK_MS, () => {
      this.#expiring.delete(held);
      this.#expire(held);
      if (held.readings.size > 0) this.#expireLater(held);
    });
    this.#expiring.set(held, cancel);
  }

  #wake(key: ShardKey): void {
    const held = this.#held.get(key);
    if (held) this.#turns.enqueue('maintain', held);
  }

  /** Pinned records delayed compaction, so maintenance is woken after the steps. */
  *#thenWake<T>(key: ShardKey, steps: Steps<T>): Steps<T> {
    try {
      return yield* steps;
    } finally {
      this.#wake(key);
    }
  }

  #continueRead(held: HostedShard): void {
    held.takeTurn((run) => this.#work(held, run, this.#terms.sliceMs));
    this.#admit(held);
  }

  #maintain(held: HostedShard): void {
    // Maintenance waits for the staging; in between, it would take a third of the time under load.
    if (held.staging !== null) return;
    if (held.isRead) return void held.waitForMaintenance();
    if (this.#maintainSlice(held)) {
      this.#turns.enqueue('maintain', held);
      return;
    }
    this.#post({ id: null, key: held.key, size: held.size }, []);
    const isFreed = held.hasFreed(COLLECT_AFTER_FREED_BYTES);
    if ((this.#workedMs < COLLECT_AFTER_WORK_MS && !isFreed) || this.#turns.has('maintain')) return;
    this.#workedMs = 0;
    collectGarbage();
  }

  #buildIfDue(held: HostedShard): void {
    if (!held.indexDebt.isDue || held.isRead) return;
    this.#maintainSlice(held);
  }

  /** Returns true while there is more to do. */
  #maintainSlice(held: HostedShard): boolean {
    const { key, shard, indexDebt } = held;
    held.beforeChange();
    const startedMs = this.#terms.monotonicMs();
    const mayUpgrade = shard.hasOutdatedIndex && this.#upgrades.enter(held);
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
      if (mayUpgrade && !(more && shard.hasOutdatedIndex)) this.#endUpgrade(held);
      this.#workedMs += this.#terms.monotonicMs() - startedMs;
    }
  }

  /** Lets the next shard replace its outdated graph. */
  #endUpgrade(held: HostedShard): void {
    const next = this.#upgrades.leave(held);
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
