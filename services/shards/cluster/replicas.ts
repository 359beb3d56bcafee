/**
 * Copies of shards that other nodes hold, kept by reading the same log.
 *
 * Promises: a copy shows states of the shard that were committed, one after the other and each
 * whole; how far it is behind its holder is known. At every seq its root is held against the one
 * that the holder recorded: a copy that differs is thrown away and made anew, with an error in the
 * log. `take` hands a copy over to whoever opens the shard here, so that a takeover replays what is
 * missing and builds nothing. How it fails: a copy is a convenience. Where there is no memory for
 * it, or the log was trimmed past it, or its worker ended, it is dropped and made anew from the
 * newest checkpoint when its holder next asks for it; readers are sent to the holder meanwhile.
 */
import type { Logger } from 'pino';
import type { ReplicaState } from '../../../lib/actions/shards.ts';
import { EMPTY_HEAD } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Store } from '../../../lib/store/port.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { NodeMemory } from '../memory/node-memory.ts';
import { isUnavailable } from '../shard/failure.ts';
import { followShard, sizeInMemory, type Warm } from '../shard/open.ts';
import { type ShardWorker, WorkerLost, type WorkerPool } from '../worker/pool.ts';

/** A copy that nobody asked for so long has no holder any more, or another one. */
const FORGOTTEN_MS = 60_000;
const PAUSE = { minMs: 1_000, maxMs: 60_000 };

interface Replica {
  spec: ShardSpec;
  worker: ShardWorker;
  /** Null until the copy is whole. */
  at: Warm | null;
  /** What the holder has, as far as is known. */
  holderSeq: number;
  bytes: number;
  running: Promise<void> | null;
  ended: boolean;
  failures: number;
  notBeforeMs: number;
  askedForMs: number;
}

export interface ReplicasOptions {
  store: Store;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
  pool: Pick<WorkerPool, 'lightest'>;
  memory: Pick<NodeMemory, 'copies' | 'fitsCopy' | 'isTight'>;
}

export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #replicas = new Map<ShardKey, Replica>();
  /** Copies that are dropped and not out of their workers yet. */
  readonly #endings = new Map<ShardKey, Promise<void>>();
  /** Copies that were thrown away because their root was not that of the holder. */
  mismatches = 0;

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  bytesOf(key: ShardKey): number {
    return this.#replicas.get(key)?.bytes ?? 0;
  }

  list(): { shard: ShardKey; seq: number; holderSeq: number; bytes: number }[] {
    const living = [...this.#replicas].filter(([, { worker }]) => !worker.isGone);
    return living.map(([shard, { at, holderSeq, bytes }]) => ({ shard, seq: at?.head.seq ?? 0, holderSeq, bytes }));
  }

  /**
   * The holder, which is at `holderSeq`, wants the shard followed here; answers with how far the
   * copy is, without waiting for it to catch up.
   */
  follow(spec: ShardSpec, holderSeq: number): ReplicaState {
    const key = shardKey(spec.collectionId, spec.index);
    let replica = this.#replicas.get(key);
    if (!replica) {
      replica = {
        spec,
        worker: this.#options.pool.lightest(),
        at: null,
        holderSeq,
        bytes: 0,
        running: null,
        ended: false,
        failures: 0,
        notBeforeMs: 0,
        askedForMs: 0,
      };
      this.#replicas.set(key, replica);
      replica.worker.placed++;
    }
    replica.holderSeq = Math.max(replica.holderSeq, holderSeq);
    replica.askedForMs = this.#options.clock.monotonicMs();
    this.#wake(key, replica);
    return { seq: replica.at?.head.seq ?? null };
  }

  /** Runs `work` on the copy; throws ShardMoved where there is none that is whole. */
  async read<T>(spec: ShardSpec, work: (copy: { key: ShardKey; worker: ShardWorker }) => Promise<T>): Promise<T> {
    const key = shardKey(spec.collectionId, spec.index);
    const replica = this.#replicas.get(key);
    if (!replica?.at) throw new ShardMoved(null);
    try {
      return await work({ key, worker: replica.worker });
    } catch (error) {
      if (error instanceof WorkerLost) this.#forget(key, replica);
      // The engine lets go of a copy before it is known here.
      else if (!isUnavailable(error)) throw error;
      throw new ShardMoved(null);
    }
  }

  /**
   * Hands the copy over, if there is one that is whole; from then on it is the caller's, with its
   * worker.
   */
  async take(key: ShardKey): Promise<{ worker: ShardWorker; warm: Warm } | null> {
    // What is left of a copy that was dropped must not get in the way of what is opened now.
    await this.#endings.get(key);
    const replica = this.#replicas.get(key);
    if (!replica) return null;
    this.#forget(key, replica);
    await replica.running;
    if (replica.at) return { worker: replica.worker, warm: replica.at };
    await replica.worker.request('close', { key }).catch(() => undefined);
    return null;
  }

  /**
   * Drops copies, those least recently asked for first, until `bytes` are free; false when it
   * dropped none.
   */
  async shed(bytes: number): Promise<boolean> {
    const endings: Promise<void>[] = [];
    let freed = 0;
    for (const [key, replica] of [...this.#replicas].sort(([, a], [, b]) => a.askedForMs - b.askedForMs)) {
      if (freed >= bytes) break;
      freed += replica.bytes;
      endings.push(this.#drop(key, replica));
    }
    await Promise.all(endings);
    return endings.length > 0;
  }

  /** Drops the copies of a collection that is no more. */
  async forget(collectionId: string): Promise<void> {
    for (const [key, replica] of [...this.#replicas])
      if (replica.spec.collectionId === collectionId) await this.#drop(key, replica);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#replicas].map(([key, replica]) => this.#drop(key, replica)));
  }

  #wake(key: ShardKey, replica: Replica): void {
    const isBehind = (replica.at?.head.seq ?? -1) < replica.holderSeq;
    if (replica.running || !isBehind || this.#options.clock.monotonicMs() < replica.notBeforeMs) return;
    replica.running = this.#catchUp(key, replica).finally(() => {
      replica.running = null;
    });
  }

  async #catchUp(key: ShardKey, replica: Replica): Promise<void> {
    const { store, log, clock, memory } = this.#options;
    try {
      await this.#endings.get(key);
      while (!replica.ended && (replica.at?.head.seq ?? -1) < replica.holderSeq) {
        if (!replica.at && !memory.fitsCopy(await sizeInMemory(replica.spec, store)))
          throw new Error('There is no memory for a copy.');
        await this.#step(key, replica);
        if (memory.isTight) {
          replica.at = null;
          throw new Error('There is no memory for a copy any more.');
        }
      }
      replica.failures = 0;
    } catch (error) {
      // A worker that ended took the copy with it.
      if (error instanceof WorkerLost) this.#forget(key, replica);
      else await this.#settle(key, replica);
      replica.notBeforeMs = clock.monotonicMs() + backoffMs(replica.failures++, PAUSE);
      log.warn({ err: error, shard: key }, 'a copy of a shard could not follow; trying again');
    }
  }

  async #step(key: ShardKey, replica: Replica): Promise<void> {
    const { store, log } = this.#options;
    const { spec, worker, at } = replica;
    const recorded = (await store.log.head(key)) ?? EMPTY_HEAD;
    // The holder speaks of what is committed; a store that does not show it yet is asked again when
    // the holder next speaks.
    replica.holderSeq = Math.min(replica.holderSeq, Math.max(recorded.seq, at?.head.seq ?? 0));
    const reached = await followShard({ spec, key, recorded, worker, store, log }, at);
    replica.at = typeof reached === 'string' ? null : reached;
    if (reached === 'differs') {
      this.mismatches++;
      const place = { collectionId: spec.collectionId, shard: spec.index, seq: at?.head.seq ?? 0 };
      log.error(place, 'a copy of a shard has another root than its holder recorded; making it again');
      if (at === null) throw new Error('The stored bytes of a shard do not give the recorded root.');
    }
    if (reached === 'behind' && at === null)
      throw new Error('The log of a shard cannot be followed from the beginning.');
    if (typeof reached === 'string') return;
    const { bytes } = await worker.request('size', { key });
    if (replica.ended) return;
    this.#count(replica, bytes);
    // What was said so far is without the index that is built now.
    worker.watchSize(key, (size) => {
      if (replica.at && !replica.ended) this.#count(replica, size.bytes);
    });
  }

  /**
   * Drops copies that nobody asks for any more or whose worker ended; to be called now and then.
   */
  dropForgotten(): void {
    const beforeMs = this.#options.clock.monotonicMs() - FORGOTTEN_MS;
    for (const [key, replica] of [...this.#replicas]) {
      if (replica.worker.isGone) this.#forget(key, replica);
      else if (replica.askedForMs > 0 && replica.askedForMs < beforeMs) void this.#drop(key, replica);
    }
  }

  /**
   * After a step that failed: the worker may have gone a part of the way, or hold what is no copy
   * yet.
   */
  async #settle(key: ShardKey, replica: Replica): Promise<void> {
    const { worker, at } = replica;
    const ask = { key, entries: [], watchSeq: null, exactFromSeq: 0 };
    const reached = at && (await worker.request('replay', ask).catch(() => null));
    replica.at = at && reached && { ...at, head: reached.head };
    if (replica.at) return;
    if (!replica.ended) this.#count(replica, 0);
    await worker.request('close', { key }).catch(() => undefined);
  }

  #drop(key: ShardKey, replica: Replica): Promise<void> {
    this.#forget(key, replica);
    const end = async (): Promise<void> => {
      await replica.running;
      await replica.worker.request('close', { key }).catch(() => undefined);
    };
    const ending = end().finally(() => {
      if (this.#endings.get(key) === ending) this.#endings.delete(key);
    });
    this.#endings.set(key, ending);
    return ending;
  }

  #forget(key: ShardKey, replica: Replica): void {
    if (replica.ended) return;
    replica.ended = true;
    if (this.#replicas.get(key) === replica) this.#replicas.delete(key);
    this.#count(replica, 0);
    replica.worker.placed--;
  }

  #count(replica: Replica, bytes: number): void {
    const change = bytes - replica.bytes;
    this.#options.memory.copies += change;
    replica.worker.load += change;
    replica.bytes = bytes;
  }
}
