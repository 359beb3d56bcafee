/**
 * One open shard on the node that holds it: the only writer of its log.
 *
 * Guarantees: an acknowledged write is one durable log entry, complete or absent, and every read
 * that begins after the acknowledgement sees it. No part of a write is visible before its entry is
 * durable. At most one append is in flight. On failure: ProvecError means that no part of the write
 * is or will be committed; StoreError 'unknown' means that the outcome is unknown. A refused append
 * leaves the shard unchanged. The shard closes when an outcome cannot be determined, when another
 * node took the seq, or when its worker ends. See docs/internals/shard.md.
 */

import { randomUUID } from 'node:crypto';
import type { FairShares } from '../../../lib/admission/fair-share.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import { ProvecError, unavailable } from '../../../lib/errors.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { WriteAck } from '../../../lib/shard/write-ack.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { dayOf, monthOf } from '../../../lib/time/month.ts';
import type { LogEntry, ShardLog } from '../../../store/log.ts';
import { StoreError } from '../../../store/port.ts';
import type { ShardWrite, Staged, WriteOutcome } from '../engine/port.ts';
import { AssertionFailed, type ShardWorker, WorkerLost } from '../worker/pool.ts';
import { toPosted } from '../worker/posted-write.ts';
import type { ShardSize, WorkerRequests } from '../worker/protocol.ts';
import { clientErrorOf, ShardTransitioning } from './failure.ts';
import { appendEntry } from './log-append.ts';
import { type QueuedWrite, WriteQueue } from './write-queue.ts';

export interface ActorEvents<W extends WorkerRequests = ShardWorker> {
  /** An entry was committed. Called before the writers are acknowledged. */
  committed(actor: ShardActor<W>, entryBytes: number): void;
  resized(actor: ShardActor<W>, size: ShardSize): void;
  /** The actor must not be used any more. */
  broken(actor: ShardActor<W>, reason: string): void;
}

export interface ActorOptions<W extends WorkerRequests = ShardWorker> {
  spec: ShardSpec;
  /** The worker that holds the shard, at `head`. */
  worker: W;
  head: ShardHead;
  /** The epoch under which entries are appended. */
  epoch: number;
  /** Whether this node may still answer for the shard. */
  holds(): boolean;
  /** Why writes are refused, or null if they are not. */
  barrier: ProvecError | null;
}

/** What the actors of a node share. */
export interface ActorContext<W extends WorkerRequests = ShardWorker> {
  log: ShardLog;
  clock: Clock;
  events: ActorEvents<W>;
  /** Bytes of queued writes of all shards. */
  writes: FairShares;
  /** Whether callers in this process retry a write after the shard has moved. */
  keepsWrites: boolean;
}

/** The engine threw while staging a group. The shard is unchanged. */
class EngineFault extends Error {
  override name = 'EngineFault';

  constructor(cause: unknown) {
    super('The engine failed.', { cause });
  }
}

export class ShardActor<W extends WorkerRequests = ShardWorker> {
  readonly key: ShardKey;
  readonly spec: ShardSpec;
  readonly worker: W;
  /** Maintained by ShardCache, which also maintains the totals. */
  size: ShardSize = { bytes: 0, records: 0, unindexed: 0, unaddressable: 0 };
  #head: ShardHead;
  readonly #terms: ActorOptions<W>;
  readonly #context: ActorContext<W>;
  #queue: WriteQueue;
  #running: Promise<void> | null = null;
  #closed = false;
  #broken = false;

  constructor(terms: ActorOptions<W>, context: ActorContext<W>) {
    const { spec, worker, head } = terms;
    this.key = shardKey(spec.collectionId, spec.index);
    this.spec = spec;
    this.worker = worker;
    this.#head = head;
    this.#terms = terms;
    this.#context = context;
    this.#queue = new WriteQueue(context.clock, spec.accountId, context.writes);
  }

  get head(): ShardHead {
    return this.#head;
  }

  get queued(): number {
    return this.#queue.length;
  }

  get writing(): boolean {
    return this.#running !== null;
  }

  /**
   * Writes to the shard. Rejects with UNAVAILABLE if its turn has not come by `deadlineMs` on the
   * node's monotonic clock. May take over the vectors of an upsert.
   */
  write(write: ShardWrite, deadlineMs: number): Promise<WriteAck> {
    const { barrier } = this.#terms;
    if (barrier) return Promise.reject(barrier);
    if (this.#closed) return Promise.reject(new ShardTransitioning('The shard is closing; try again.'));
    const answer = this.#queue.push(write, deadlineMs);
    if (this.#queue.length > 0) this.#running ??= this.#run();
    return answer;
  }

  /**
   * Commits an entry that changes nothing and records the shard's current root, because an operator
   * declared it right.
   */
  async resume(): Promise<void> {
    while (this.#running) await this.#running;
    const { barrier, epoch } = this.#terms;
    if (barrier) throw barrier;
    if (this.#closed) throw new ShardTransitioning('The shard is closing; try again.');
    const { contradicted: _, ...before } = this.#head;
    const head = { ...before, seq: before.seq + 1 };
    const entry: LogEntry = {
      shard: this.key,
      seq: head.seq,
      epoch,
      entryId: randomUUID(),
      kind: 'void',
      head,
      tally: null,
      body: new Uint8Array(0),
    };
    const append = async (): Promise<void> => {
      const outcome = await appendEntry(this.#context.log, entry, before);
      if (outcome.kind === 'refused') throw clientErrorOf(outcome.reason);
      if (outcome.kind === 'voided') await this.#replay(outcome.voidEntry);
      else if (outcome.kind === 'committed') await this.#replay(entry);
      else this.#break('the root could not be recorded');
      if (this.#broken) throw unavailable('The root of a shard could not be recorded; try again.');
    };
    const appended = append();
    // The caller gets the error.
    const run = appended.catch(() => undefined).then(() => this.#run());
    this.#running = run;
    await appended;
  }

  /** Refuses new writes and resolves once all accepted writes are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /**
   * Refuses new writes and those still queued. If other nodes can hold the shard, callers retry
   * there.
   */
  refuseQueued(): void {
    this.#closed = true;
    this.#queue.refuse(new ShardTransitioning('The shard is closing; try again.'));
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#queue.take();
      await this.#answerGroup(group);
      this.#queue.release(group);
    }
    this.#running = null;
  }

  /** Resolves or rejects every write of the group. */
  async #answerGroup(group: QueuedWrite[]): Promise<void> {
    if (group.length === 0) return;
    try {
      if (this.#broken) throw reopeningError();
      await this.#writeGroup(group);
    } catch (error) {
      if (error instanceof EngineFault && group.length > 1) {
        const half = Math.ceil(group.length / 2);
        await this.#answerGroup(group.slice(0, half));
        await this.#answerGroup(group.slice(half));
      } else {
        const reason = error instanceof EngineFault ? faultyWrite(error.cause) : error;
        for (const { reject } of group) reject(reason);
      }
    }
  }

  async #writeGroup(group: QueuedWrite[]): Promise<void> {
    const staged = await this.#stage(group);
    const { epoch, holds } = this.#terms;
    if (staged.commit === null) {
      // Nothing was appended, so no fence was checked; the acknowledgement counts as a read and
      // needs a valid claim.
      if (!holds()) throw new ShardMoved(null);
      acknowledge(group, staged.outcomes, this.#head);
      return;
    }
    const { body } = staged.commit;
    const { contradicted } = this.#head;
    const head = contradicted ? { ...staged.commit.head, contradicted } : staged.commit.head;
    const entryBytes = body.byteLength;
    const wallMs = this.#context.clock.wallMs();
    await this.#append({
      shard: this.key,
      seq: head.seq,
      epoch,
      entryId: randomUUID(),
      kind: 'write',
      head,
      tally: {
        accountId: this.spec.accountId,
        month: monthOf(wallMs),
        day: dayOf(wallMs),
        writes: sum(staged.outcomes, 'upserted'),
        vectors: sum(staged.outcomes, 'created'),
      },
      body,
    });
    this.#head = head;
    this.#context.events.committed(this, entryBytes);
    await this.#show();
    acknowledge(group, staged.outcomes, head);
  }

  async #stage(group: QueuedWrite[]): Promise<Staged> {
    try {
      // Transferring gives a write away. Writes of a larger group may be staged again one by one,
      // so they are copied.
      const [only, ...others] = group;
      if (only === undefined || others.length > 0)
        return await this.worker.request('stage', { key: this.key, writes: group.map(({ write }) => write) });
      const { write, transfer } = await toPosted(only.write, this.#context.keepsWrites);
      return await this.worker.request('stage', { key: this.key, writes: [write] }, transfer);
    } catch (error) {
      if (error instanceof AssertionFailed) {
        // The shard reopens from the store. No write of the group is tried again on it.
        this.#break('an assertion of the engine failed');
        throw faultyWrite(error);
      }
      if (!(error instanceof WorkerLost) && !(error instanceof ProvecError)) throw new EngineFault(error);
      this.#break('staging failed');
      throw new ShardTransitioning('The shard could not accept the write; try again.', error);
    }
  }

  /** Returns once the entry is durable. Otherwise undoes the staged group and throws the reason. */
  async #append(entry: LogEntry): Promise<void> {
    const outcome = await appendEntry(this.#context.log, entry, this.#head);
    switch (outcome.kind) {
      case 'committed':
        return;
      case 'refused':
        await this.#undoStaged();
        throw clientErrorOf(outcome.reason);
      case 'voided':
        await this.#undoStaged();
        await this.#replay(outcome.voidEntry);
        throw unavailable('The write was not stored; try again.', outcome.reason);
      case 'fenced':
        this.#break('another owner wrote to the log');
        throw new ShardTransitioning('The shard has moved; try again.');
      case 'unknown':
        this.#break('the outcome of an append is unknown');
        throw new StoreError('unknown', 'The outcome of an append is unknown.', outcome.reason);
    }
  }

  async #replay(entry: LogEntry): Promise<void> {
    const { seq, kind, head, body } = entry;
    try {
      await this.worker.request('replay', {
        key: this.key,
        entries: [{ seq, kind, head, body }],
        watchSeq: null,
        exactFromSeq: 0,
      });
      this.#head = head;
      this.#context.events.committed(this, body.byteLength);
    } catch {
      this.#break('an entry could not be replayed');
    }
  }

  async #undoStaged(): Promise<void> {
    try {
      await this.worker.request('abort', { key: this.key });
    } catch {
      this.#break('a staged group could not be taken back');
    }
  }

  /** The entry is durable, so the write is committed even if this worker ends. */
  async #show(): Promise<void> {
    try {
      this.#context.events.resized(this, await this.worker.request('commit', { key: this.key }));
    } catch {
      this.#break('the worker ended after a commit');
    }
  }

  #break(reason: string): void {
    this.#closed = true;
    this.#broken = true;
    this.#queue.refuse(reopeningError());
    this.#context.events.broken(this, reason);
  }
}

function acknowledge(group: QueuedWrite[], outcomes: WriteOutcome[], head: ShardHead): void {
  group.forEach(({ resolve, reject }, at) => {
    const { refused, ...outcome } = itemAt(outcomes, at);
    if (refused) reject(invalidValue(refused.path, refused.expected, refused.got));
    else resolve({ head, ...outcome });
  });
}

function sum(outcomes: WriteOutcome[], name: 'upserted' | 'created'): number {
  return outcomes.reduce((total, outcome) => total + outcome[name], 0);
}

function faultyWrite(cause: unknown): ProvecError {
  return new ProvecError('INTERNAL', 'The service failed on this write; none of it was stored.', { cause });
}

function reopeningError(): ProvecError {
  return new ShardTransitioning('The shard is reopening; try again.');
}
