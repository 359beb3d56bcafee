/**
 * What makes a shard node one of several on the same store: the right to hold shards, giving them
 * away and taking them over, copies of what others hold, and moving shards to where they belong.
 * `ShardNode` has one when it is not alone.
 */
import type { Logger } from 'pino';
import type { ReplicaState } from '../../../lib/actions/shards.ts';
import { invalidArgument } from '../../../lib/errors.ts';
import type { ProcessIdentity } from '../../../lib/process/process-identity.ts';
import type { Clock } from '../../../lib/runtime.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { LeaseUse } from '../../../lib/store/owners.ts';
import type { Store } from '../../../lib/store/port.ts';
import { SYSTEM_TIMERS } from '../../../lib/time/timers.ts';
import { CLOSE_ABOVE, CLOSE_UNTIL } from '../memory/capacity-guard.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { ShardWorker } from '../worker/pool.ts';
import { Drain } from './drain.ts';
import { type Follower, Followers } from './followers.ts';
import { HandOver } from './hand-over.ts';
import { Membership } from './ownership/membership.ts';
import type { Arrival, Refusal } from './rebalancing/arrival.ts';
import { Rebalancer } from './rebalancing/rebalancer.ts';
import { Replicas } from './replicas.ts';

/** For giving shards away, when an operator asks for it. */
export const DRAIN_MAX_MS = 20_000;
/**
 * Of the time for leaving, what is kept for releasing what could not be given away: so much, or
 * half of it where that is less.
 */
const RELEASE_MS = 5_000;
const TIDY_EVERY_MS = 10_000;

/** The other nodes on the same store. */
export interface Peers {
  /** Name of this node. */
  node: string;
  process: ProcessIdentity;
  /**
   * Has `node` open a shard that was given back, within `maxMs` where it is given; rejects as well
   * when it becomes unresponsive.
   */
  adopt(node: string, shard: ShardSpec, maxMs?: number): Promise<void>;
  /** For how long nothing was heard of any of them, in milliseconds. */
  silenceMs(): number;
  /** Whether calls can reach `node` now. */
  isThere(node: string): boolean;
  /** Asks whether `node` takes a shard. */
  offer(node: string, arrival: Arrival): Promise<Refusal | null>;
  /** Has `node` follow a shard that is at `seq` here. */
  follow(node: string, shard: ShardSpec, seq: number): Promise<ReplicaState>;
  /** A node was found dead. */
  onDead(node: string): void;
  /**
   * This node takes no more shards from now on: callers need not ask it for one that nobody holds.
   */
  onDraining(): void;
}

export interface ClusterMemberOptions {
  store: Store;
  clock: Clock;
  log: Logger;
  peers: Peers;
  memoryLimitBytes: number;
  /** Bytes that shards, copies and writes that wait hold. */
  usedBytes(): number;
  /** Whether another node opens the shard within a moment from what is stored of it. */
  opensAtOnce(actor: ShardActor): boolean;
}

export class ClusterMember {
  readonly #options: ClusterMemberOptions;
  readonly #membership: Membership;
  #shardCache!: ShardCache;
  #replicas!: Replicas;
  #followers!: Followers;
  #rebalancer!: Rebalancer;
  #handOver!: HandOver;
  #drain!: Drain;
  #isLeaving = false;
  #cancelTidy: () => void = () => {};

  constructor(options: ClusterMemberOptions) {
    this.#options = options;
    const { store, clock, log, peers } = options;
    this.#membership = new Membership({
      store,
      clock,
      log,
      node: peers.node,
      process: peers.process,
      use: () => this.#use(),
      onLost: () => this.#shardCache.loseAll(),
      onDead: peers.onDead,
      silenceMs: () => peers.silenceMs(),
    });
  }

  get claims(): Membership['ownership'] {
    return this.#membership.ownership;
  }

  /** Of the copy of one shard, or of all. */
  bytesOfCopies(key?: ShardKey): number {
    return key === undefined ? this.#replicas.bytes : this.#replicas.bytesOf(key);
  }

  get hasLease(): boolean {
    return this.#membership.hasLease;
  }

  /** Number of copies. */
  get copies(): number {
    return this.#replicas.list().length;
  }

  /** Copies that were thrown away because their root was not that of the holder. */
  get mismatches(): number {
    return this.#replicas.mismatches;
  }

  /** Before anything else: the shards that are held under `claims`. */
  attach(shardCache: ShardCache): void {
    const { store, clock, log, peers, memoryLimitBytes, usedBytes, opensAtOnce } = this.#options;
    const { node, adopt, follow, offer, isThere } = peers;
    const timers = SYSTEM_TIMERS;
    const membership = this.#membership;
    this.#shardCache = shardCache;
    this.#replicas = new Replicas({
      store,
      clock,
      log,
      pool: shardCache.pool,
      fits: (bytes) => usedBytes() + bytes <= memoryLimitBytes * CLOSE_UNTIL,
      isTight: () => usedBytes() > memoryLimitBytes * CLOSE_ABOVE,
    });
    this.#followers = new Followers({
      node,
      placement: () => membership.placement,
      isThere,
      open: () => shardCache.open(),
      tell: follow,
    });
    this.#handOver = new HandOver({
      shardCache,
      membership,
      catalog: store.catalog,
      adopt,
      following: { follow, clock, timers },
      log,
    });
    this.#drain = new Drain({
      handOver: this.#handOver,
      shardCache,
      membership,
      followersOf: (key) => this.followersOf(key).flatMap((follower) => (follower.seq === null ? [] : [follower.node])),
      isQuick: opensAtOnce,
      clock,
      log,
    });
    this.#rebalancer = new Rebalancer({
      node,
      clock,
      log,
      timers,
      own: () => ({ node, draining: membership.draining, ...this.#use() }),
      live: () => membership.live(),
      open: () =>
        shardCache.open().map(({ key, size, worker }) => ({
          shard: key,
          bytes: size.bytes,
          busyMs: worker.busyMs.get(key) ?? 0,
          followers: this.followersOf(key).map((follower) => follower.node),
        })),
      resting: () => membership.ownership.resting(),
      offer,
      move: (key, to) => this.#handOver.move(key, to),
      leaveResting: (key, to) => this.#handOver.leaveResting(key, to),
    });
  }

  /** Takes the first lease; throws StoreError. */
  async start(): Promise<void> {
    await this.#membership.start();
    const tidy = (): void => {
      this.#replicas.dropForgotten();
      this.#cancelTidy = SYSTEM_TIMERS.after(TIDY_EVERY_MS, tidy);
    };
    tidy();
    this.#followers.start();
    this.#rebalancer.start();
  }

  /**
   * Gives every shard away, as far as there is time; the node takes none from then on, and goes on
   * serving what is left. Never rejects.
   */
  async drain(forMs = DRAIN_MAX_MS): Promise<void> {
    this.#isLeaving = true;
    this.#rebalancer.stop();
    this.#options.peers.onDraining();
    await this.#drain.giveAll(AbortSignal.timeout(forMs), forMs);
  }

  /**
   * Gives every shard away, and releases what is left when most of the time is over. Never rejects.
   */
  async leave(forMs: number): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + forMs;
    await this.drain(Math.round(forMs - Math.min(RELEASE_MS, forMs / 2)));
    await this.#drain.releaseAll(AbortSignal.timeout(Math.max(0, Math.round(endMs - clock.monotonicMs()))));
  }

  /** What a stop waits for, a sentence for each shard. */
  waiting(): string[] {
    return this.#drain.waiting();
  }

  /** Ends what goes on by itself; the shards themselves are closed after it. */
  async stopFollowing(): Promise<void> {
    this.#cancelTidy();
    this.#followers.stop();
    await this.#replicas.stop();
  }

  /** Ends the lease; nothing may be held any more. */
  stop(): Promise<void> {
    return this.#membership.stop();
  }

  /**
   * Gives a shard that is held here to another node. Throws INVALID_ARGUMENT where that one takes
   * none.
   */
  async move(key: ShardKey, to: string): Promise<void> {
    if (!this.#membership.takers().includes(to)) await this.#membership.refresh();
    if (!this.#membership.takers().includes(to))
      throw invalidArgument('node', 'a shard node that is alive and not draining', to);
    await this.#handOver.move(key, to);
  }

  /** Whether this node takes a shard that another one wants to give it. */
  offered(arrival: Arrival): Refusal | null {
    return this.#rebalancer.offered(arrival);
  }

  /** A shard that was given to this node is open, or could not be opened. */
  arrived(): void {
    this.#rebalancer.arrived();
  }

  committed(actor: Parameters<Followers['committed']>[0]): void {
    this.#followers.committed(actor);
  }

  followersOf(key: ShardKey): Follower[] {
    return this.#followers.of(key);
  }

  /**
   * Keeps a copy of a shard that another node holds, at `seq`. Throws ShardMoved while this node
   * leaves.
   */
  follow(shard: ShardSpec, seq: number): ReplicaState {
    if (this.#isLeaving) throw new ShardMoved(null);
    // The one that asks may have lost it to this node a moment ago.
    return this.#shardCache.has(shard) ? { seq: null } : this.#replicas.follow(shard, seq);
  }

  /** Runs `work` on a copy; throws ShardMoved where there is none that is whole. */
  readCopy<T>(shard: ShardSpec, work: (copy: { key: ShardKey; worker: ShardWorker }) => Promise<T>): Promise<T> {
    return this.#replicas.read(shard, work);
  }

  copyResized(key: ShardKey, bytes: number): void {
    this.#replicas.resized(key, bytes);
  }

  takeCopy(key: ShardKey): ReturnType<Replicas['take']> {
    return this.#replicas.take(key);
  }

  shedCopies(bytes: number): Promise<boolean> {
    return this.#replicas.shed(bytes);
  }

  /** Lets go of what rests here and of what is copied of a collection that is no more. */
  forget(collectionId: string): Promise<void> {
    this.#membership.ownership.forget(collectionId);
    return this.#replicas.forget(collectionId);
  }

  /** What this node holds, and could. */
  #use(): LeaseUse {
    const resting = this.#membership.ownership.resting().reduce((total, { bytes }) => total + bytes, 0);
    return {
      bytes: this.#shardCache.bytes + this.bytesOfCopies() + resting,
      memoryLimitBytes: this.#options.memoryLimitBytes,
      load: this.#rebalancer.load,
      workers: this.#shardCache.pool.workers.length,
    };
  }
}
