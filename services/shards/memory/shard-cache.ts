/**
 * The shards that a node has in memory, from the first request until they are closed.
 *
 * Guarantees: concurrent requests open a shard once, after claiming it and from the log as read
 * after the claim. A shard is not closed while in use, and returns nothing that was read after its
 * claim ended. Shards, copies and work memory stay within the memory limit, except for the gate's
 * overdraft and a single shard too large to fit. On failure: a failed opening leaves nothing
 * behind, and the next request tries again. A worker that ends loses its shards; they reopen from
 * their logs.
 */

import { EventEmitter } from 'node:events';
import { getOrThrow } from '../../../lib/checked-access.ts';
import { ProvecError } from '../../../lib/errors.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import { shardUnavailableError, type UnavailableReason } from '../../../lib/shard/shard-unavailable.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { withTimeLimit } from '../../../lib/time/timers.ts';
import { GarbageAfterGrowth } from '../../../process/garbage.ts';
import type { Runtime } from '../../../process/runtime.ts';
import { type ActorContext, ShardActor } from '../shard/actor.ts';
import { clientErrorOf, isUnavailable, logIncomplete, ShardTransitioning } from '../shard/failure.ts';
import { assertExists, closeInWorker, type OpenedShard, openShard, sizeInMemory } from '../shard/open.ts';
import { type ShardWorker, WorkerLost } from '../worker/pool.ts';
import type { ShardSize } from '../worker/protocol.ts';
import type { Claim } from './claims.ts';
import { Eviction } from './eviction.ts';
import { HeadHistory } from './head-history.ts';
import { OpeningGate } from './opening-gate.ts';
import {
  assertOpen,
  type OpenResident,
  type Resident,
  type ShardCacheEvents,
  type ShardCacheParts,
} from './resident.ts';

const UNADDRESSABLE = 'holds records whose ids begin with U+0000, which no request can name';

interface UseOptions {
  /** Worker to open the shard in. Default: the least loaded one. */
  on?: ShardWorker | undefined;
  /** Longest time to wait for the opening, in ms. Default: no limit. */
  openMaxMs?: number | undefined;
}

type ShardRuntime = Pick<Runtime, 'store' | 'clock' | 'log'>;

export class ShardCache {
  readonly events = new EventEmitter<ShardCacheEvents>();
  readonly #runtime: ShardRuntime;
  readonly #parts: ShardCacheParts;
  readonly #residents = new Map<ShardKey, Resident>();
  readonly #endings = new Map<ShardKey, Promise<void>>();
  readonly #eviction: Eviction;
  readonly #gate: OpeningGate;
  readonly #actors: ActorContext;
  readonly #garbage = new GarbageAfterGrowth();
  #stopping = false;

  constructor(runtime: ShardRuntime, parts: ShardCacheParts) {
    const { store, clock } = runtime;
    const { memory, copies, claims } = parts;
    this.#runtime = runtime;
    this.#parts = parts;
    this.#eviction = new Eviction({
      memory,
      copies,
      residents: () => this.#residents.values(),
      close: (resident) => this.#close(resident, true),
    });
    this.#gate = new OpeningGate(clock, memory, (bytes, overdraft) => this.#eviction.makeRoom(bytes, overdraft));
    this.#actors = {
      log: store.log,
      clock,
      writes: memory.writes,
      keepsWrites: claims.isShared,
      events: {
        committed: (actor, entryBytes) => this.#committed(actor, entryBytes),
        resized: (actor, size) => this.#resized(actor, size),
        broken: (actor, reason) => this.#discard(actor, reason),
      },
    };
  }

  /** Returns the open shards, most recently used first. */
  open(): ShardActor[] {
    const residents = [...this.#residents.values()].sort((a, b) => b.lastUsedMs - a.lastUsedMs);
    return residents.flatMap(({ actor }) => (actor ? [actor] : []));
  }

  get opening(): number {
    return [...this.#residents.values()].filter(({ actor }) => !actor).length;
  }

  /** Returns the actor if the shard is open under a valid claim; never opens it. */
  peek(spec: ShardSpec): ShardActor | null {
    const resident = this.#residents.get(shardKey(spec.collectionId, spec.index));
    if (!resident?.actor || resident.closing) return null;
    return resident.claim && this.#parts.claims.holds(resident.claim) ? resident.actor : null;
  }

  /** Whether the shard is open or opening. */
  has(spec: ShardSpec): boolean {
    return this.#residents.has(shardKey(spec.collectionId, spec.index));
  }

  /**
   * Returns the head the shard had in memory at `seq`, reopening the shard if that head is not
   * known. Null if it cannot be determined.
   */
  async headAt(spec: ShardSpec, seq: number): Promise<ShardHead | null> {
    const key = shardKey(spec.collectionId, spec.index);
    const ask = () => this.#with(spec, {}, async () => getOrThrow(this.#parts.ownHeads, key).at(seq));
    const known = await ask();
    if (known === null) await this.close(key, false);
    return known ?? ask();
  }

  /** Runs `work` on the shard, opening it if necessary. Throws UNAVAILABLE if its worker ends. */
  use<T>(spec: ShardSpec, work: (actor: ShardActor) => Promise<T>, how: UseOptions = {}): Promise<T> {
    return this.#with(spec, how, ({ actor }) => work(actor));
  }

  /** Like `use`, for reads. Throws if this node lost the shard in the meantime. */
  read<T>(spec: ShardSpec, work: (actor: ShardActor) => Promise<T>, openMaxMs?: number): Promise<T> {
    return this.#with(spec, { openMaxMs }, async (resident) => {
      try {
        const result = await work(resident.actor);
        this.#assertHeld(resident);
        return result;
      } catch (error) {
        // The worker closed the shard during the read.
        const isLeaving = resident.closing !== null || this.#residents.get(resident.actor.key) !== resident;
        throw isLeaving && isUnavailable(error)
          ? new ShardTransitioning('The shard is closing; try again.', error)
          : error;
      }
    });
  }

  /** Discards all shards without saving, because the lease they were held under is over. */
  discardAll(): void {
    for (const { actor } of [...this.#residents.values()]) if (actor) this.#discard(actor, 'the lease is over');
  }

  async #with<T>(spec: ShardSpec, how: UseOptions, work: (open: OpenResident) => Promise<T>): Promise<T> {
    try {
      const resident = await this.#acquire(spec, how);
      try {
        this.#assertHeld(resident);
        return await work(resident);
      } catch (error) {
        if (!(error instanceof WorkerLost)) throw error;
        // The worker that ended may not be the shard's own.
        if (resident.actor.worker.isGone) this.#discard(resident.actor, 'its worker ended');
        throw new ShardTransitioning('The shard is reopening; try again.', error);
      } finally {
        resident.uses--;
        resident.lastUsedMs = this.#runtime.clock.monotonicMs();
        this.#gate.changed();
      }
    } catch (error) {
      // Other nodes may hold the shard, so the caller must look up its holder again.
      throw error instanceof ShardTransitioning && this.#parts.claims.isShared ? new ShardMoved(null) : error;
    }
  }

  #assertHeld({ claim }: OpenResident): void {
    if (!this.#parts.claims.holds(claim)) throw new ShardMoved(null);
  }

  /**
   * Drops copies and idle shards, except `kept`, until `freeBytes` are free. Returns false if there
   * were none.
   */
  freeMemory(freeBytes: number, kept: ShardActor | null = null): Promise<boolean> {
    return this.#eviction.free(freeBytes, kept);
  }

  /** Closes the shard if it is open, saving it unless `save` is false. */
  async close(key: ShardKey, save = true): Promise<void> {
    const resident = this.#residents.get(key);
    if (resident) await this.#close(resident, save);
  }

  /** Checkpoints the shard if it is open, while it keeps serving. */
  async save(key: ShardKey): Promise<void> {
    const resident = this.#residents.get(key);
    if (resident?.actor && !resident.closing) await this.#parts.checkpointer.run(resident.actor);
  }

  /** Returns the keys of shards that are open or opening. */
  keys(): ShardKey[] {
    return [...this.#residents.keys()];
  }

  /** Allocates `bytes` of work memory until they are freed. Returns false if they do not fit. */
  allocateWorkMemory(bytes: number): Promise<boolean> {
    return this.#eviction.allocateWorkMemory(bytes);
  }

  freeWorkMemory(bytes: number): void {
    this.#parts.memory.workMemory -= bytes;
    this.#gate.changed();
  }

  /** Closes the shards of a deleted collection without saving. */
  async closeAllOf(collectionId: CollectionId): Promise<void> {
    const own = [...this.#residents.values()].filter(({ spec }) => spec.collectionId === collectionId);
    await Promise.all(own.map((resident) => this.#close(resident, false)));
  }

  /** Finishes accepted writes, saves unless `save` is false, and closes all shards. */
  async stop(save = true): Promise<void> {
    this.#stopping = true;
    this.#gate.close();
    await Promise.all([...this.#residents.values()].map((resident) => this.#close(resident, save)));
  }

  async #acquire(spec: ShardSpec, how: UseOptions): Promise<OpenResident> {
    const key = shardKey(spec.collectionId, spec.index);
    const endMs = performance.now() + (how.openMaxMs ?? Number.POSITIVE_INFINITY);
    for (;;) {
      if (this.#stopping) throw new ShardTransitioning('The service is stopping.');
      const resident = this.#residents.get(key) ?? this.#open(spec, key, how.on);
      if (resident.closing) {
        await openWithin(resident.closing, endMs, spec, 'is being closed');
        continue;
      }
      resident.uses++;
      try {
        if (!resident.actor) await openWithin(resident.opening, endMs, spec, 'is being opened');
        assertOpen(resident);
        return resident;
      } catch (error) {
        resident.uses--;
        throw error instanceof WorkerLost
          ? new ShardTransitioning('The shard could not be opened; try again.', error)
          : clientErrorOf(error);
      }
    }
  }

  #open(spec: ShardSpec, key: ShardKey, on: ShardWorker | undefined): Resident {
    const { store, clock, log } = this.#runtime;
    const { claims, copies, pool } = this.#parts;
    const load = async (): Promise<ShardActor> => {
      // Appends of the previous actor may still commit, and must be read.
      await this.#endings.get(key);
      // A late request must not leave a claim on the shard of a deleted collection.
      await assertExists(spec, store);
      const claim = await claims.acquire(key);
      // Takes the copy only after the claim, because a copy taken without one is lost.
      const copy = await copies.take(key);
      const worker = copy?.worker ?? on ?? pool.leastLoaded();
      worker.placed++;
      try {
        const opened = await openShard({ spec, key, recorded: claim.head, worker, store, log }, clock, copy?.warm);
        const size = await worker.request('size', { key });
        if (size.unaddressable > 0) log.warn({ shard: key, records: size.unaddressable }, UNADDRESSABLE);
        // Without this check, nothing would ever close a shard opened under a lease that has ended.
        if (!claims.holds(claim)) throw new ShardMoved(null);
        resident.claim = claim;
        return this.#opened(resident, claim, worker, opened, size);
      } catch (error) {
        worker.placed--;
        await closeInWorker(worker, key);
        // The collection was dropped in the meantime, and the drop did not see this claim and its
        // fence.
        const isGone = error instanceof ProvecError && error.code === 'COLLECTION_NOT_FOUND';
        if (claims.isShared && isGone) await store.dropCollectionData(spec.collectionId);
        throw error;
      }
    };
    const resident: Resident = {
      spec,
      claim: null,
      // The memory of a copy held here is already counted.
      opening: sizeInMemory(spec, store).then((bytes) =>
        this.#gate.pass(Math.max(0, bytes - copies.bytesOf(key)), load),
      ),
      actor: null,
      closing: null,
      uses: 0,
      lastUsedMs: this.#runtime.clock.monotonicMs(),
    };
    resident.opening.catch(() => {
      if (this.#residents.get(key) === resident) this.#residents.delete(key);
    });
    this.#residents.set(key, resident);
    return resident;
  }

  #opened(resident: Resident, claim: Claim, worker: ShardWorker, opened: OpenedShard, size: ShardSize): ShardActor {
    const { claims, checkpointer, materialiser, ownHeads } = this.#parts;
    const { spec } = resident;
    const { head } = opened;
    const holds = (): boolean => claims.holds(claim);
    const barrier = opened.isCutShort ? logIncomplete() : null;
    const actor = new ShardActor({ spec, worker, head, epoch: claim.epoch, holds, barrier }, this.#actors);
    resident.actor = actor;
    ownHeads.set(actor.key, new HeadHistory(opened.anchored, opened.passed, opened.contradiction));
    worker.watchSize(actor.key, (grown) => this.#resized(actor, grown));
    checkpointer.opened(actor, opened.checkpointSeq, opened.replayedBytes, opened.isContradicted);
    materialiser.wake(actor.key);
    if (opened.contradiction) this.events.emit('contradicted', spec, opened.contradiction);
    this.#resized(actor, size);
    this.events.emit('changed');
    return actor;
  }

  #committed(actor: ShardActor, entryBytes: number): void {
    const { checkpointer, materialiser, ownHeads } = this.#parts;
    if (this.#residents.get(actor.key)?.actor === actor) ownHeads.get(actor.key)?.add(actor.head);
    materialiser.wake(actor.key);
    checkpointer.committed(actor.key, entryBytes);
    this.events.emit('committed', actor);
  }

  #resized(actor: ShardActor, size: ShardSize): void {
    if (this.#residents.get(actor.key)?.actor !== actor) return;
    this.#count(actor, size.bytes);
    actor.size = size;
    this.#garbage.reportSize(this.#parts.memory.shards);
    if (this.#parts.checkpointer.isDue(actor)) {
      this.#parts.checkpointer
        .run(actor)
        .catch((error) =>
          this.#runtime.log.warn({ err: error, shard: actor.key }, 'a checkpoint failed; the log stays longer'),
        );
    }
    const dueBytes = this.#parts.memory.freeTarget;
    // Keep the shard in use: its next request would reopen it, and so would every later one.
    if (dueBytes > 0) void this.freeMemory(dueBytes, actor);
  }

  #close(resident: Resident, save: boolean): Promise<void> {
    resident.closing ??= this.#saveAndRemove(resident, save);
    return resident.closing;
  }

  async #saveAndRemove(resident: Resident, save: boolean): Promise<void> {
    // Callers that opened the shard get the error.
    const actor = resident.actor ?? (await resident.opening.catch(() => null));
    if (!actor) return;
    const { checkpointer } = this.#parts;
    await actor.close();
    if (save) {
      await checkpointer
        .run(actor)
        .catch((error) =>
          this.#runtime.log.warn({ err: error, shard: actor.key }, 'closed a shard without a checkpoint'),
        );
    }
    // The shard may have broken in the meantime and be open again.
    if (this.#residents.get(actor.key) !== resident) return;
    await checkpointer.closed(actor.key);
    if (this.#residents.get(actor.key) !== resident) return;
    if (resident.claim) this.#parts.claims.markUnloaded(resident.claim, actor.size.bytes);
    this.#remove(actor);
    this.events.emit('changed');
  }

  #discard(actor: ShardActor, reason: string): void {
    if (this.#residents.get(actor.key)?.actor !== actor) return;
    this.#runtime.log.error({ reason, shard: actor.key }, 'closed a shard; it will open again from its log');
    this.#remove(actor);
    this.events.emit('changed');
  }

  #remove(actor: ShardActor): void {
    if (this.#residents.get(actor.key)?.actor !== actor) return;
    this.#residents.delete(actor.key);
    this.#parts.ownHeads.delete(actor.key);
    actor.worker.placed--;
    // Pending work ends on its own; the next opening waits for it.
    const ending = actor.close().finally(() => {
      if (this.#endings.get(actor.key) === ending) this.#endings.delete(actor.key);
    });
    this.#endings.set(actor.key, ending);
    void this.#parts.checkpointer.closed(actor.key);
    this.#count(actor, 0);
    actor.size = { bytes: 0, records: 0, unindexed: 0, unaddressable: 0 };
    void closeInWorker(actor.worker, actor.key);
    this.#gate.changed();
  }

  #count(actor: ShardActor, bytes: number): void {
    const change = bytes - actor.size.bytes;
    this.#parts.memory.shards += change;
    actor.worker.load += change;
  }
}

/** Waits for `work` until `endMs`, then throws SHARD_UNAVAILABLE while `work` continues. */
async function openWithin(
  work: Promise<unknown>,
  endMs: number,
  { index }: ShardSpec,
  why: UnavailableReason,
): Promise<void> {
  if (endMs === Number.POSITIVE_INFINITY) await work;
  else await withTimeLimit(work, endMs - performance.now(), () => Promise.reject(shardUnavailableError(index, why)));
}
