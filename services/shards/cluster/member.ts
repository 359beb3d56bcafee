/**
 * The cluster half of a shard node: the lease and claims, hand-over, copies of shards that other
 * nodes hold, and rebalancing. `ShardNode` has one only when other nodes share the store.
 */

import type { ReplicaState } from '../../../contracts/actions/shards.ts';
import { invalidArgument } from '../../../lib/errors.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { SYSTEM_TIMERS } from '../../../lib/time/timers.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { WorkerPool } from '../worker/pool.ts';
import { Drain } from './drain.ts';
import { Followers } from './followers.ts';
import { HandOver } from './hand-over.ts';
import type { NodeMembership } from './ownership/node-membership.ts';
import type { Peers } from './peers.ts';
import { type NodeShard, Rebalancer } from './rebalancing/rebalancer.ts';
import type { Replicas } from './replicas.ts';

/** Time for a drain that an operator requests, in ms. */
export const DRAIN_MAX_MS = 20_000;
/**
 * Time reserved for releasing shards that could not be handed over, in ms: this, or half of the
 * total if that is less.
 */
const RELEASE_MS = 5_000;
const TIDY_EVERY_MS = 10_000;

/** The parts a cluster member combines. None of them depends on it. */
export interface ClusterParts {
  peers: Peers;
  membership: NodeMembership;
  shardCache: ShardCache;
  pool: WorkerPool;
  copies: Replicas;
  /** Whether another node can open the shard quickly from its stored state. */
  opensAtOnce(actor: ShardActor): boolean;
}

export class ClusterMember {
  readonly membership: NodeMembership;
  readonly followers: Followers;
  readonly rebalancer: Rebalancer;
  readonly #parts: ClusterParts;
  readonly #clock: Clock;
  readonly #handOver: HandOver;
  readonly #drain: Drain;
  #isLeaving = false;
  #cancelTidy: () => void = () => {};

  constructor({ store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>, parts: ClusterParts) {
    const { peers, membership, shardCache, pool, opensAtOnce } = parts;
    const { node } = peers;
    const timers = SYSTEM_TIMERS;
    this.#parts = parts;
    this.#clock = clock;
    this.membership = membership;
    this.followers = new Followers({
      peers,
      placement: () => membership.placement,
      open: () => shardCache.open(),
      timers,
    });
    this.#handOver = new HandOver({ shardCache, membership, catalog: store.catalog, peers, clock, timers, log });
    this.#drain = new Drain({
      handOver: this.#handOver,
      shardCache,
      membership,
      followersOf: (key) => this.followers.of(key).flatMap(({ node, seq }) => (seq === null ? [] : [node])),
      isQuick: opensAtOnce,
      clock,
      log,
    });
    this.rebalancer = new Rebalancer({
      clock,
      timers,
      log,
      peers,
      own: () => ({ node, draining: membership.draining, ...membership.use() }),
      live: () => membership.live(),
      held: () => this.#held(),
      handOver: this.#handOver,
      pool,
    });
    shardCache.events.on('committed', (actor) => this.followers.committed(actor));
    membership.events.on('lost', () => shardCache.discardAll());
    membership.events.on('dead', peers.onDead);
  }

  /** Takes the first lease. Throws StoreError. */
  async start(): Promise<void> {
    await this.membership.start();
    const tidy = (): void => {
      this.#parts.copies.dropForgotten();
      this.#cancelTidy = SYSTEM_TIMERS.after(TIDY_EVERY_MS, tidy);
    };
    tidy();
    this.followers.start();
    this.rebalancer.start();
  }

  /**
   * Hands over as many shards as the time allows. From then on the node takes no shards but keeps
   * serving those it still has. Never rejects.
   */
  async drain(forMs = DRAIN_MAX_MS): Promise<void> {
    this.#isLeaving = true;
    this.rebalancer.stop();
    this.#parts.peers.onDraining();
    await this.#drain.giveAll(AbortSignal.timeout(forMs), forMs);
  }

  /** Hands over shards, and releases the rest near the end of `forMs`. Never rejects. */
  async leave(forMs: number): Promise<void> {
    const endMs = this.#clock.monotonicMs() + forMs;
    await this.drain(Math.round(forMs - Math.min(RELEASE_MS, forMs / 2)));
    await this.#drain.releaseAll(AbortSignal.timeout(Math.max(0, Math.round(endMs - this.#clock.monotonicMs()))));
  }

  /** Returns what the shutdown waits for, one sentence per shard. */
  waiting(): string[] {
    return this.#drain.waiting();
  }

  /** Stops the background work. Call it before closing the shards. */
  async stopFollowing(): Promise<void> {
    this.#cancelTidy();
    this.followers.stop();
    await this.#parts.copies.stop();
  }

  /** Ends the lease. No shard may be held any more. */
  stop(): Promise<void> {
    return this.membership.stop();
  }

  /**
   * Hands a shard held here over to another node. Throws INVALID_ARGUMENT if that node takes no
   * shards.
   */
  async move(key: ShardKey, to: string): Promise<void> {
    if (!this.membership.eligibleNodes().includes(to)) await this.membership.refresh();
    if (!this.membership.eligibleNodes().includes(to))
      throw invalidArgument('node', 'a shard node that is alive and not draining', to);
    await this.#handOver.move(key, to);
  }

  /**
   * Keeps a copy of a shard that another node holds, at `seq`. Throws ShardMoved while this node is
   * leaving.
   */
  follow(shard: ShardSpec, seq: number): ReplicaState {
    if (this.#isLeaving) throw new ShardMoved(null);
    // The caller may have just lost the shard to this node.
    return this.#parts.shardCache.has(shard) ? { seq: null } : this.#parts.copies.follow(shard, seq);
  }

  /** Drops unloaded claims and copies of a deleted collection. */
  forget(collectionId: CollectionId): Promise<void> {
    this.membership.ownership.forget(collectionId);
    return this.#parts.copies.forget(collectionId);
  }

  #held(): NodeShard[] {
    const { membership, shardCache } = this.#parts;
    const open = shardCache.open().map(({ key, size, worker }) => ({
      shard: key,
      bytes: size.bytes,
      busyMs: worker.busyMs.get(key) ?? 0,
      followers: this.followers.of(key).map(({ node }) => node),
    }));
    const unloaded = membership.ownership.unloadedShards().map((shard) => ({ ...shard, busyMs: null, followers: [] }));
    return [...open, ...unloaded];
  }
}
