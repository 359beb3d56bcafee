/**
 * A shard in memory, and the rules for what may run on it when. Reads, the staging of writes and
 * checkpoints run in slices, and other work runs between the slices. Other requests run to
 * completion.
 *
 * Guarantees: the shard does not change while a read depends on its current state. Nothing starves:
 * at most RUNNING_MAX reads run at once, each takes a bounded time, and waiting work continues in
 * order of arrival, after the operations that end staging. While a group is staged, only reads,
 * index building and the operations in RUNS_WHILE_STAGED run. See docs/internals/shard.md.
 */
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardWriter, Staged } from '../engine/port.ts';
import { IndexBackpressure } from './index-backpressure.ts';
import { PageCursors } from './page-cursor.ts';
import type { ShardSize, WorkerOp, WorkerRequest } from './protocol.ts';
import type { ReadOp } from './reads.ts';
import type { SlicedRun } from './sliced-run.ts';

/** Maximum number of reads that a commit waits for. */
const RUNNING_MAX = 4;

/** Operations that change what reads depend on. */
const CHANGES = new Set<WorkerOp>(['commit', 'replay', 'restore', 'endRestore']);
/**
 * Operations besides reads that may run while a group is staged. They must not queue behind those
 * that may not.
 */
const RUNS_WHILE_STAGED = new Set<WorkerOp>(['commit', 'abort', 'size', 'close', 'next', 'leave']);

/** A request that may have to wait. */
export type WaitingRequest = WorkerRequest<Exclude<WorkerOp, ReadOp>>;

export type Waiting =
  | { kind: 'request'; request: WaitingRequest }
  | { kind: 'read'; run: SlicedRun }
  | { kind: 'maintenance' };

export class HostedShard {
  readonly key: ShardKey;
  readonly shard: ShardWriter;
  readonly readings = new PageCursors();
  staging: SlicedRun<Staged> | null = null;
  readonly indexDebt = new IndexBackpressure();
  readonly #running: SlicedRun[] = [];
  readonly #waiting: Waiting[] = [];
  #requestsWaiting = 0;
  #maintenanceWaits = false;
  #mostBytes = 0;

  constructor(key: ShardKey, shard: ShardWriter) {
    this.key = key;
    this.shard = shard;
  }

  get size(): ShardSize {
    const { bytes, records, unindexed, unaddressable } = this.shard;
    return { bytes, records, unindexed, unaddressable };
  }

  /** Whether the shard has shrunk by `bytes` since this last returned true. */
  hasFreed(bytes: number): boolean {
    const now = this.shard.bytes;
    this.#mostBytes = Math.max(this.#mostBytes, now);
    if (this.#mostBytes - now < bytes) return false;
    this.#mostBytes = now;
    return true;
  }

  /** Number of running and waiting reads. */
  get reads(): number {
    const others = this.#requestsWaiting + (this.#maintenanceWaits ? 1 : 0);
    return this.#running.length + this.#waiting.length - others;
  }

  /** Whether a read is running that may get a turn. */
  get hasReads(): boolean {
    return this.#running.length > 0;
  }

  /** Whether the shard must not change. */
  get isRead(): boolean {
    return this.#running.some(({ isReading }) => isReading);
  }

  /** Whether a request that arrives now may run at once. */
  admits(op: WorkerOp): boolean {
    return this.#mayRun(op) && (RUNS_WHILE_STAGED.has(op) || this.#requestsWaiting === 0);
  }

  /** Queues a request until it may run. */
  wait(request: WaitingRequest): void {
    this.#requestsWaiting++;
    const waiting: Waiting = { kind: 'request', request };
    if (RUNS_WHILE_STAGED.has(request.op)) this.#waiting.unshift(waiting);
    else this.#waiting.push(waiting);
  }

  /** Queues index maintenance until the shard may change. */
  waitForMaintenance(): void {
    if (this.#maintenanceWaits) return;
    this.#maintenanceWaits = true;
    this.#waiting.push({ kind: 'maintenance' });
  }

  /** Queues or runs a read that its first slice did not finish. */
  enter(run: SlicedRun): void {
    const isBlocked = this.#waiting.some((waiting) => !this.#waitsForGroup(waiting));
    if (!isBlocked && this.#running.length < RUNNING_MAX) this.#running.push(run);
    else this.#waiting.push({ kind: 'read', run });
  }

  /** Passes the next read to `work`, which returns whether it is finished. */
  takeTurn(work: (run: SlicedRun) => boolean): void {
    const run = this.#running.shift();
    if (run && !work(run)) this.#running.push(run);
  }

  /** Removes a running or waiting read. Returns null if there is none with this id. */
  remove(id: number): SlicedRun | null {
    const running = this.#running.findIndex((run) => run.id === id);
    if (running >= 0) return this.#running.splice(running, 1)[0] ?? null;
    const waiting = this.#waiting.findIndex((each) => each.kind === 'read' && each.run.id === id);
    const [found] = waiting < 0 ? [] : this.#waiting.splice(waiting, 1);
    return found?.kind === 'read' ? found.run : null;
  }

  /**
   * Removes and returns the first waiting item, not counting requests that wait for the staged
   * group, if it may run now. A read then counts as running.
   */
  admitNext(): Waiting | null {
    const at = this.#waiting.findIndex((waiting) => !this.#waitsForGroup(waiting));
    const first = this.#waiting[at];
    if (first === undefined || !this.#mayGoOn(first)) return null;
    this.#waiting.splice(at, 1);
    if (first.kind === 'request') this.#requestsWaiting--;
    else if (first.kind === 'maintenance') this.#maintenanceWaits = false;
    else this.#running.push(first.run);
    return first;
  }

  beforeOp(op: WorkerOp): void {
    if (CHANGES.has(op)) this.beforeChange();
  }

  /**
   * Lets reads begin again on the next state, unless they only have to send what they found. The
   * engine would finish them on the state they began with, but more slowly, and keep that state for
   * them.
   */
  beforeChange(): void {
    for (const run of this.#running) run.restart();
    for (const waiting of this.#waiting) if (waiting.kind === 'read') waiting.run.restart();
  }

  /** Removes and returns everything, because the shard is being closed. */
  clear(): { reads: SlicedRun[]; requests: WaitingRequest[]; staging: SlicedRun<Staged> | null } {
    const { staging } = this;
    this.staging = null;
    const waiting = this.#waiting.splice(0);
    this.#requestsWaiting = 0;
    this.#maintenanceWaits = false;
    return {
      reads: [...this.#running.splice(0), ...waiting.flatMap((each) => (each.kind === 'read' ? [each.run] : []))],
      requests: waiting.flatMap((each) => (each.kind === 'request' ? [each.request] : [])),
      staging,
    };
  }

  #mayRun(op: WorkerOp): boolean {
    if (this.#isStaged && !RUNS_WHILE_STAGED.has(op)) return false;
    return !CHANGES.has(op) || !this.isRead;
  }

  get #isStaged(): boolean {
    return this.staging !== null || this.shard.isStaged;
  }

  /** Reads may pass such a request, because it does not wait for them. */
  #waitsForGroup(waiting: Waiting): boolean {
    return waiting.kind === 'request' && this.#isStaged && !RUNS_WHILE_STAGED.has(waiting.request.op);
  }

  #mayGoOn(waiting: Waiting): boolean {
    switch (waiting.kind) {
      case 'request':
        return this.#mayRun(waiting.request.op);
      case 'read':
        return this.#running.length < RUNNING_MAX;
      case 'maintenance':
        return !this.isRead;
    }
  }
}
