/**
 * Copies of shards that other nodes hold, kept current by reading the same log.
 *
 * Guarantees: a copy shows only committed states of the shard, in order and each complete, and its
 * lag is known. At every seq its root is compared with the one the holder recorded; a copy that
 * differs is rebuilt, with an error in the log. `take` gives a copy to the caller that opens the
 * shard here, so a takeover only replays the missing entries. On failure: if memory is short, the
 * log was trimmed past the copy or its worker ended, the copy is dropped. It is rebuilt from the
 * newest checkpoint when the holder next asks; until then reads go to the holder.
 */

import type { Logger } from 'pino';
import type { ReplicaState } from '../../../contracts/actions/shards.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { EMPTY_HEAD } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { Store } from '../../../store/port.ts';
import type { NodeMemory } from '../memory/node-memory.ts';
import type { Copies } from '../memory/resident.ts';
import { isUnavailable } from '../shard/failure.ts';
import { closeInWorker, followShard, type LoadedCopy, sizeInMemory } from '../shard/open.ts';
import { type ShardWorker, WorkerLost, type WorkerPool } from '../worker/pool.ts';

/**
 * Time, in ms, after which a copy no holder asked for is dropped: its shard has another holder or
 * none.
 */
const FORGOTTEN_MS = 60_000;
const PAUSE = { minMs: 1_000, maxMs: 60_000 };

interface Replica {
  spec: ShardSpec;
  worker: ShardWorker;
  /** Null until the copy is complete. */
  at: LoadedCopy | null;
  /** Newest seq known of the holder. */
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
  pool: Pick<WorkerPool, 'leastLoaded'>;
  memory: Pick<NodeMemory, 'copies' | 'fitsCopy' | 'isTight'>;
}

export class Replicas implements Copies {
  readonly #options: ReplicasOptions;
  readonly #replicas = new Map<ShardKey, Replica>();
  /** Dropped copies that are not yet out of their workers. */
  readonly #endings = new Map<ShardKey, Promise<void>>();
  /** Number of copies rebuilt because their root differed from the holder's. */
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
   * Follows a shard whose holder is at `holderSeq`. Returns the copy's position without waiting for
   * it to catch up.
   */
  follow(spec: ShardSpec, holderSeq: number): ReplicaState {
    const key = shardKey(spec.collectionId, spec.index);
    let replica = this.#replicas.get(key);
    if (!replica) {
      replica = {
        spec,
        worker: this.#options.pool.leastLoaded(),
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

  /** Runs `work` on the copy. Throws ShardMoved if there is no complete copy. */
  async read<T>(spec: ShardSpec, work: (copy: { key: ShardKey; worker: ShardWorker }) => Promise<T>): Promise<T> {
    const key = shardKey(spec.collectionId, spec.index);
    const replica = this.#replicas.get(key);
    if (!replica?.at) throw new ShardMoved(null);
    try {
      return await work({ key, worker: replica.worker });
    } catch (error) {
      if (error instanceof WorkerLost) this.#forget(key, replica);
      // The engine may have dropped the copy before this class knows.
      else if (!isUnavailable(error)) throw error;
      throw new ShardMoved(null);
    }
  }

  /** Gives a complete copy, if there is one, to the caller, who then owns it and its worker. */
  async take(key: ShardKey): Promise<{ worker: ShardWorker; warm: LoadedCopy } | null> {
    // A dropped copy must be out of its worker before the shard is opened there.
    await this.#endings.get(key);
    const replica = this.#replicas.get(key);
    if (!replica) return null;
    this.#forget(key, replica);
    await replica.running;
    if (replica.at) return { worker: replica.worker, warm: replica.at };
    await closeInWorker(replica.worker, key);
    return null;
  }

  /**
   * Drops copies, least recently requested first, until `bytes` are free. Returns false if it
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

  /** Drops the copies of a deleted collection. */
  async forget(collectionId: CollectionId): Promise<void> {
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
          throw new Error('There is not enough memory for a copy.');
        await this.#step(key, replica);
        if (memory.isTight) {
          replica.at = null;
          throw new Error('There is no longer enough memory for a copy.');
        }
      }
      replica.failures = 0;
    } catch (error) {
      // The copy ended with its worker.
      if (error instanceof WorkerLost) this.#forget(key, replica);
      else await this.#settle(key, replica);
      replica.notBeforeMs = clock.monotonicMs() + backoffMs(replica.failures++, PAUSE);
      log.warn({ err: error, shard: key }, 'a copy of a shard could not catch up; trying again');
    }
  }

  async #step(key: ShardKey, replica: Replica): Promise<void> {
    const { store, log } = this.#options;
    const { spec, worker, at } = replica;
    const recorded = (await store.log.head(key)) ?? EMPTY_HEAD;
    // The holder reports committed seqs. If the store does not show one yet, the copy catches up on
    // the holder's next notification.
    replica.holderSeq = Math.min(replica.holderSeq, Math.max(recorded.seq, at?.head.seq ?? 0));
    const reached = await followShard({ spec, key, recorded, worker, store, log }, at);
    replica.at = typeof reached === 'string' ? null : reached;
    if (reached === 'differs') {
      this.mismatches++;
      const place = { collectionId: spec.collectionId, shard: spec.index, seq: at?.head.seq ?? 0 };
      log.error(place, 'a copy of a shard has another root than its holder recorded; making it again');
      if (at === null) throw new Error('The stored bytes of a shard do not match the recorded root.');
    }
    if (reached === 'behind' && at === null)
      throw new Error('The log of a shard cannot be followed from its beginning.');
    if (typeof reached === 'string') return;
    const { bytes } = await worker.request('size', { key });
    if (replica.ended) return;
    this.#count(replica, bytes);
    // That size excludes the index that is being built now.
    worker.watchSize(key, (size) => {
      if (replica.at && !replica.ended) this.#count(replica, size.bytes);
    });
  }

  /** Drops copies that no holder asks for any more or whose worker ended. Call it periodically. */
  dropForgotten(): void {
    const beforeMs = this.#options.clock.monotonicMs() - FORGOTTEN_MS;
    for (const [key, replica] of [...this.#replicas]) {
      if (replica.worker.isGone) this.#forget(key, replica);
      else if (replica.askedForMs > 0 && replica.askedForMs < beforeMs) void this.#drop(key, replica);
    }
  }

  /**
   * Recovers after a failed step: the worker may have applied part of it, or hold an incomplete
   * copy.
   */
  async #settle(key: ShardKey, replica: Replica): Promise<void> {
    const { worker, at } = replica;
    const ask = { key, entries: [], watchSeq: null, exactFromSeq: 0 };
    // A copy that fails again is closed and rebuilt.
    const reached = at && (await worker.request('replay', ask).catch(() => null));
    replica.at = at && reached && { ...at, head: reached.head };
    if (replica.at) return;
    if (!replica.ended) this.#count(replica, 0);
    await closeInWorker(worker, key);
  }

  #drop(key: ShardKey, replica: Replica): Promise<void> {
    this.#forget(key, replica);
    const end = async (): Promise<void> => {
      await replica.running;
      await closeInWorker(replica.worker, key);
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
