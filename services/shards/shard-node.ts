import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { OpenShardStats, ShardStats, ShardsActions } from '../../contracts/actions/shards.ts';
import { outOfCapacity } from '../../lib/admission/out-of-capacity.ts';
import { ProvecError } from '../../lib/errors.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { keyHashOf } from '../../lib/merkle/leaf.ts';
import { MIB } from '../../lib/mib.ts';
import { batchBytes } from '../../lib/records/batch.ts';
import { EMPTY_HEAD, type ShardHead } from '../../lib/shard/head.ts';
import { parseShardKey, type ShardKey } from '../../lib/shard/key.ts';
import type { AnswerPage, PageItem, ShardMatch } from '../../lib/shard/match.ts';
import type { ShardMemory } from '../../lib/shard/memory.ts';
import { ShardMoved } from '../../lib/shard/moved.ts';
import type { ShardReadOp } from '../../lib/shard/read.ts';
import { isOfShard, type ShardSpec, shardSpec } from '../../lib/shard/spec.ts';
import type { WriteAck } from '../../lib/shard/write-ack.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { CoalescedReads } from '../../lib/time/coalesced-reads.ts';
import type { Runtime } from '../../process/runtime.ts';
import { type Store, StoreError } from '../../store/port.ts';
import { ClusterMember } from './cluster/member.ts';
import { NodeMembership } from './cluster/ownership/node-membership.ts';
import type { Peers } from './cluster/peers.ts';
import { Replicas } from './cluster/replicas.ts';
import type { ShardWrite } from './engine/port.ts';
import { singleNodeClaims } from './memory/claims.ts';
import { diskGuard, warnOfReserve } from './memory/disk-guard.ts';
import type { HeadHistory } from './memory/head-history.ts';
import { NodeMemory } from './memory/node-memory.ts';
import { OpenList } from './memory/open-list.ts';
import { ShardCache } from './memory/shard-cache.ts';
import type { ShardActor } from './shard/actor.ts';
import { Checkpointer } from './shard/checkpointer.ts';
import { Materialiser } from './shard/materialiser.ts';
import { orNotFound } from './shard/open.ts';
import { Recomputation } from './verify/recomputation.ts';
import { type ShardWorker, WorkerPool } from './worker/pool.ts';
import type { WorkerOps } from './worker/protocol.ts';

const REOPEN_CONCURRENCY = 2;
const ADOPT_ATTEMPTS_MAX = 4;
/** Default time limit for a stop, in ms. */
const STOP_MS = 25_000;

/**
 * How often the vectors of an upsert are held at once: in memory by the batch and by the shard, on
 * disk by the log entry and by the stored records.
 */
const VECTOR_COPIES = 2;

const UNPAGED = { pageMaxBytes: Number.POSITIVE_INFINITY };

/** Reads whose action takes the parameters of the worker's operation. */
type NamedRead = Forwarded<'query' | 'fetch' | 'previewUpdates' | 'metadataBytes' | 'countNew' | 'prove'>;
type Forwarded<O extends keyof WorkerOps> = O extends unknown
  ? Omit<Params<O>, keyof ReadTerms> extends Asked<O>
    ? O
    : never
  : never;
type Asked<O extends keyof WorkerOps> = Omit<WorkerOps[O]['params'], 'key'>;
type Read<O extends NamedRead> = (params: ReadParams<O>, signal?: AbortSignal) => Promise<WorkerOps[O]['result']>;

type Params<N extends string> = `shards.${N}` extends keyof ShardsActions
  ? ShardsActions[`shards.${N}`]['params']
  : never;

/** Parameters of a write. `waitMs` limits its wait for its turn, `openMaxMs` the opening alone. */
type WriteParams<N extends string> = Omit<Params<N>, 'waitMs'> & { waitMs?: number };
/** Parameters of a read. Default of `pageMaxBytes`: unlimited. */
type ReadParams<N extends string> = Omit<Params<N>, 'pageMaxBytes'> & ReadTerms & { pageMaxBytes?: number };

type WriteTerms = Pick<WriteParams<'upsert'>, 'shard' | 'waitMs' | 'openMaxMs'>;
type ReadTerms = Pick<Params<'query'>, 'shard' | 'eventual' | 'openMaxMs'>;

/** All shards of one node. The shards service delegates to it. */
export class ShardNode {
  readonly shardCache: ShardCache;
  readonly materialiser: Materialiser;
  readonly recomputation: Recomputation;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #memory: NodeMemory;
  readonly #pool: WorkerPool;
  readonly #ownHeads = new Map<ShardKey, HeadHistory>();
  /** Heads in the log, by collection. */
  readonly #loggedHeads = new CoalescedReads<Map<number, ShardHead>>();
  readonly #checkpointer: Checkpointer;
  readonly #warnOfReserve: () => Promise<void>;
  readonly #admitToDisk: (incomingBytes: number) => Promise<void>;
  readonly #copies: Replicas;
  /** Null if this is the only node. */
  readonly #cluster: ClusterMember | null;
  /** Null if other nodes open what this one had open. */
  readonly #openList: OpenList | null;
  #reopening = 0;
  #stopping = false;
  #stopped: Promise<void> | null = null;

  /**
   * Builds the parts of a node, each from earlier ones. Calls `halt` on contradictions. Without
   * `peers`, no other process uses the store.
   */
  constructor(
    { config, store, clock, log }: Runtime,
    halt: (collectionId: CollectionId, reason: string) => void,
    peers: Peers | null = null,
  ) {
    const contradicted = (collectionId: CollectionId, shard: number, reason: string): void => {
      log.error({ collectionId, shard, reason }, 'the stored bytes contradict the recorded root');
      halt(collectionId, reason);
    };
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    const memory = new NodeMemory(config.memoryLimitMiB * MIB);
    const pool = new WorkerPool(config.workers, log);
    const ownHeads = this.#ownHeads;
    const materialiser = new Materialiser(store, log, (key, seq) => ownHeads.get(key)?.confirmed(seq));
    const diskReserveBytes = config.diskReserveMiB * MIB;
    this.#admitToDisk = diskGuard(diskReserveBytes, store, clock);
    this.#warnOfReserve = () => warnOfReserve(diskReserveBytes, store, log);
    const checkpointer = new Checkpointer(store, materialiser, clock, diskReserveBytes, (key, reason) => {
      const { collectionId, index } = parseShardKey(key);
      contradicted(collectionId, index, reason);
    });
    const membership = peers && membershipOf(peers, { store, clock, log }, memory, pool);
    const claims = membership?.ownership ?? singleNodeClaims(store.log);
    const copies = new Replicas({ store, clock, log, pool, memory });
    const parts = { claims, pool, memory, copies, materialiser, checkpointer, ownHeads };
    const shardCache = new ShardCache({ store, clock, log }, parts);
    shardCache.events.on('contradicted', ({ collectionId, index }, reason) =>
      contradicted(collectionId, index, reason),
    );
    const opensAtOnce = (actor: ShardActor): boolean => checkpointer.opensQuickly(actor);
    this.#cluster = membership
      ? new ClusterMember({ store, clock, log }, { peers: peers!, membership, shardCache, pool, copies, opensAtOnce })
      : null;
    this.#openList = membership ? null : openListOf(config.dataDir, shardCache);
    this.recomputation = new Recomputation({ shardCache, pool, store, checkpointer, clock, ownHeads });
    this.#memory = memory;
    this.#pool = pool;
    this.materialiser = materialiser;
    this.#checkpointer = checkpointer;
    this.#copies = copies;
    this.shardCache = shardCache;
  }

  /**
   * Joins the other nodes or, as the only node, reopens the shards that were open before. Throws
   * StoreError.
   */
  async start(): Promise<void> {
    if (this.#cluster) await this.#cluster.start();
    const keys = this.#openList?.previous() ?? [];
    this.#reopening = keys.length;
    void pLimit(REOPEN_CONCURRENCY).map(keys, async (key) => {
      if (!this.#stopping) await this.#reopen(key);
      this.#reopening--;
    });
    await this.#warnOfReserve();
  }

  /** Gives away or saves the shards within `forMs`, then waits for pending work. */
  stop(forMs = STOP_MS): Promise<void> {
    this.#stopped ??= this.#stop(forMs);
    return this.#stopped;
  }

  /** Returns what a stop waits for, one sentence per shard. */
  waiting(): string[] {
    return this.#cluster?.waiting() ?? this.shardCache.keys().map((key) => `${key} is being closed`);
  }

  /**
   * Records the shard's current root, after an operator declared its content right. First removes
   * rows that the shard can neither hold nor replace; they would contradict it at every opening.
   */
  resume(shard: ShardSpec): Promise<void> {
    return this.shardCache.use(shard, async (actor) => {
      await this.#store.records.removeForeign(actor.key, (id) => isOfShard(shard, keyHashOf(id)));
      await actor.resume();
      this.#ownHeads.get(actor.key)?.resumed();
      await this.#checkpointer.resumed(actor.key, await this.materialiser.catchUp(actor.key, true));
    });
  }

  upsert({ batch, ...terms }: WriteParams<'upsert'>): Promise<WriteAck> {
    const incomingBytes = batchBytes(batch) + (VECTOR_COPIES - 1) * batch.vectors.byteLength;
    return this.#write(terms, { kind: 'upsert', batch }, incomingBytes);
  }

  delete({ ids, ...terms }: WriteParams<'delete'>): Promise<WriteAck> {
    return this.#write(terms, { kind: 'delete', ids }, null);
  }

  /** Like `upsert` and `delete`, for a change that depends on the shard's content. */
  async change({ change, ...terms }: WriteParams<'change'>): Promise<WriteAck> {
    const vectorBytes = terms.shard.dimensions * Float32Array.BYTES_PER_ELEMENT;
    if (change.kind === 'update') return this.#write(terms, change, change.updates.length * vectorBytes);
    // A merge writes the new content before the old is freed.
    const incomingBytes = change.kind === 'merge matching' ? change.max * vectorBytes : null;
    return this.#write(terms, change, incomingBytes);
  }

  /** `incomingBytes` is null for a write that frees memory; such writes are always admitted. */
  #write(
    { shard, waitMs = Number.POSITIVE_INFINITY, openMaxMs }: WriteTerms,
    write: ShardWrite,
    incomingBytes: number | null,
  ): Promise<WriteAck> {
    const deadlineMs = this.#clock.monotonicMs() + waitMs;
    const run = async (actor: ShardActor): Promise<WriteAck> => {
      // Check only now: the shard counts against the memory limit once it is open.
      if (incomingBytes !== null) await this.#admit(incomingBytes);
      try {
        return await actor.write(write, deadlineMs);
      } catch (error) {
        // If the collection was deleted, its log is gone and the outcome of the append is unknown.
        const isUnknown = error instanceof StoreError && error.kind === 'unknown';
        throw isUnknown ? await orNotFound(error, shard, this.#store) : error;
      }
    };
    return this.shardCache.use(shard, run, { openMaxMs });
  }

  /** Makes sure the shard is open here. Throws ShardMoved if another node holds it. */
  ready(shard: ShardSpec): Promise<void> {
    return this.shardCache.use(shard, async () => undefined);
  }

  readonly query = this.#read('query', UNPAGED);
  readonly fetch = this.#read('fetch', UNPAGED);
  readonly previewUpdates = this.#read('previewUpdates');
  readonly metadataBytes = this.#read('metadataBytes');
  readonly countNew = this.#read('countNew');
  readonly prove = this.#read('prove');

  queries({ queries, ...asked }: ReadParams<'queries'>, signal?: AbortSignal): Promise<AnswerPage<ShardMatch>[]> {
    return Promise.all(queries.map((query) => this.query({ ...asked, query }, signal)));
  }

  async read({ read: { op, ...asked }, ...terms }: Params<'read'>, signal?: AbortSignal): Promise<unknown> {
    return this.#ask(terms, op, asked, signal);
  }

  #read<O extends NamedRead>(op: O, defaults: object = {}): Read<O> {
    return async ({ shard, eventual, openMaxMs, ...asked }, signal) =>
      this.#ask({ shard, eventual, openMaxMs }, op, { ...defaults, ...asked } as unknown as Asked<O>, signal);
  }

  /** Asks the shard held here or, if `eventual` allows it, a copy. */
  #ask<O extends NamedRead | ShardReadOp | 'next' | 'leave'>(
    { shard, eventual = false, openMaxMs }: ReadTerms,
    op: O,
    asked: Asked<O>,
    signal?: AbortSignal,
  ): Promise<WorkerOps[O]['result']> {
    const ask = ({ key, worker }: { key: ShardKey; worker: ShardWorker }) =>
      worker.request(op, { key, ...asked } as WorkerOps[O]['params'], [], signal);
    if (eventual && this.#cluster && !this.shardCache.peek(shard)) return this.#copies.read(shard, ask);
    return this.shardCache.read(shard, ask, openMaxMs);
  }

  /** Returns the next page of a query or fetch, or null if it is no longer kept. */
  async next({ shard, ...asked }: Params<'next'>): Promise<AnswerPage<PageItem> | null> {
    // A shard that is neither open nor copied has lost its cursors.
    if (!this.shardCache.peek(shard) && !this.#cluster) return null;
    try {
      return await this.#ask({ shard, eventual: true }, 'next', asked);
    } catch (error) {
      if (error instanceof ShardMoved) return null;
      throw error;
    }
  }

  /** Ends a paged answer whose remaining pages are not needed. */
  async leave({ shard, rest }: Params<'leave'>): Promise<void> {
    if (this.shardCache.peek(shard) || this.#cluster) await this.#ask({ shard, eventual: true }, 'leave', { rest });
  }

  /** Opens the shard here. Throws ShardMoved if another node holds it. */
  async adopt(shard: ShardSpec): Promise<void> {
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          await this.shardCache.use(shard, async () => undefined);
          return;
        } catch (error) {
          // An opening that began before this node received the shard fails, naming the previous
          // holder.
          if (!(error instanceof ShardMoved) || attempt === ADOPT_ATTEMPTS_MAX) throw error;
        }
      }
    } finally {
      this.#cluster?.rebalancer.arrived();
    }
  }

  /** This node's cluster member. Throws UNAVAILABLE if this is the only node. */
  get cluster(): ClusterMember {
    if (!this.#cluster) throw new ProvecError('UNAVAILABLE', 'This is the only node on this store.');
    return this.#cluster;
  }

  /** Returns the open shards, most recently used first. */
  held(): OpenShardStats[] {
    return this.shardCache.open().map(({ key, head, size, queued }) => {
      const { bytes, records, unindexed } = size;
      const followers = this.#cluster?.followers.of(key) ?? [];
      return { shard: key, seq: head.seq, bytes, records, unindexed, queued, followers };
    });
  }

  /**
   * Returns the head of an open shard, or else the head in the log. Concurrent requests for one
   * collection share one read of its heads.
   */
  async head(shard: ShardSpec): Promise<ShardHead> {
    const open = this.shardCache.peek(shard);
    if (open !== null) return open.head;
    const { collectionId, index } = shard;
    const heads = await this.#loggedHeads.get(collectionId, () => this.#store.log.heads(collectionId));
    return heads.get(index) ?? EMPTY_HEAD;
  }

  /** Returns what an open shard takes; null if it is closed. Never opens it. */
  async memory(shard: ShardSpec, signal?: AbortSignal): Promise<ShardMemory | null> {
    const open = this.shardCache.peek(shard);
    if (open === null) return null;
    const { key, size, worker } = open;
    const parts = await worker.request('memory', { key }, [], signal);
    return { parts, records: size.records, unindexed: size.unindexed, logBytes: this.#checkpointer.tailBytes(key) };
  }

  /** Closes the shards of a deleted collection and waits for their pending work. */
  async forget(collectionId: CollectionId): Promise<void> {
    this.recomputation.forget(collectionId);
    await this.shardCache.closeAllOf(collectionId);
    await this.#cluster?.forget(collectionId);
    // In this order: a running checkpoint first waits for the materialiser.
    await this.#checkpointer.forget(collectionId);
    await this.materialiser.forget(collectionId);
  }

  async drop(collectionId: CollectionId): Promise<void> {
    await this.forget(collectionId);
    await this.#store.dropCollectionData(collectionId);
  }

  stats(): ShardStats {
    const { workers } = this.#pool;
    const open = this.shardCache.open();
    const sum = <T>(all: T[], of: (one: T) => number): number => all.reduce((total, one) => total + of(one), 0);
    return {
      open: open.length,
      opening: this.shardCache.opening,
      queuedRequests: sum(open, ({ queued }) => queued),
      queuedBytes: this.#memory.writes.total,
      bytes: this.#memory.own,
      records: sum(open, ({ size }) => size.records),
      workers: workers.length,
      unindexed: sum(open, ({ size }) => size.unindexed),
      searches: sum(workers, ({ searches }) => searches),
      searchSeconds: sum(workers, ({ searchMs }) => searchMs) / 1000,
      reopening: this.#reopening,
      copies: this.#copies.list().length,
      copiedBytes: this.#memory.copies,
      memoryLimitBytes: this.#memory.limit,
      mismatches: this.#copies.mismatches,
      hasLease: this.#cluster?.membership.hasLease ?? true,
    };
  }

  async #stop(forMs: number): Promise<void> {
    this.#stopping = true;
    this.recomputation.stop();
    await this.#openList?.flush();
    this.#openList?.end();
    await this.#cluster?.leave(forMs);
    // Ending the worker also ends a copy that is being built.
    const followed = this.#cluster?.stopFollowing();
    await this.shardCache.stop(!this.#cluster);
    await this.#pool.end();
    await followed;
    await this.materialiser.stop();
    await this.#cluster?.stop();
  }

  async #admit(incomingBytes: number): Promise<void> {
    // First, because it may query the store: nothing may run between the memory check and the
    // queue.
    await this.#admitToDisk(incomingBytes);
    // Other admitted writes may take the memory that was freed.
    while (!this.#memory.fitsWrite(incomingBytes)) {
      if (await this.shardCache.freeMemory(incomingBytes + this.#memory.writes.total)) continue;
      const { left: leftBytes, limit: limitBytes } = this.#memory;
      throw outOfCapacity({ of: 'memory', leftBytes, limitBytes });
    }
  }

  async #reopen(key: ShardKey): Promise<void> {
    try {
      if (this.#memory.own > this.#memory.limit / 2) return;
      const { collectionId, index } = parseShardKey(key);
      const row = await this.#store.catalog.getCollection(collectionId);
      if (row !== null && index < row.shards) await this.shardCache.use(shardSpec(row, index), async () => undefined);
    } catch (error) {
      this.#log.warn({ err: error, shard: key }, 'could not reopen a shard; its next use tries again');
    }
  }
}

function membershipOf(
  { node, process, silenceMs }: Peers,
  { store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>,
  memory: NodeMemory,
  pool: WorkerPool,
): NodeMembership {
  const use = () => ({
    bytes: memory.held,
    memoryLimitBytes: memory.limit,
    load: pool.busyThreads,
    workers: pool.workers.length,
  });
  return new NodeMembership({ store, clock, log, node, process, silenceMs, use });
}

function openListOf(dataDir: string, shardCache: ShardCache): OpenList {
  const list = new OpenList(dataDir, () => shardCache.open().map(({ key }) => key));
  shardCache.events.on('changed', () => list.changed());
  return list;
}
