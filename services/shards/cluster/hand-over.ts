/**
 * Hands one shard over to another node.
 *
 * Guarantees: the shard serves while it is saved and copied. It leaves memory with nothing in
 * flight. Callers are redirected to the other node and wait there, so a hand-over fails no request.
 * On failure: a late copy is not waited for; the other node opens the shard from its checkpoint. If
 * the other node does not take the shard, any node that gets a request for it claims it, including
 * this one. No step can lose data. See docs/internals/placement.md.
 */
import { Mutex } from 'async-mutex';
import type { Logger } from 'pino';
import { parseShardKey, type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { shardSpec } from '../../../lib/shard/spec.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import type { Catalog } from '../../../store/catalog.ts';
import type { Holder } from '../../../store/owners.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { NodeMembership } from './ownership/node-membership.ts';
import type { Peers } from './peers.ts';

/** Longest time, in ms, to wait for the copy to catch up. */
const FOLLOW_MAX_MS = 30_000;
const FOLLOW_POLL_MS = 50;

export interface HandOverOptions {
  shardCache: Pick<ShardCache, 'peek' | 'save' | 'close'>;
  membership: Pick<NodeMembership, 'node' | 'ownership' | 'live'>;
  catalog: Pick<Catalog, 'getCollection'>;
  peers: Pick<Peers, 'adopt' | 'follow'>;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
  log: Logger;
}

/** How a node that is leaving hands over one shard. */
export interface TransferOptions {
  /** Whether the shard opens quickly, so that it needs neither a checkpoint nor a copy. */
  isQuick: boolean;
  saves: boolean;
  /** Longest time, in ms, to wait for the copy to catch up. */
  followMs: number;
  /** Longest time, in ms, that the other node may take to open the shard. */
  adoptMs: number;
  /** Once it aborts, no further step begins. */
  signal: AbortSignal;
  /** Called with what the hand-over waits for, worded to follow "waits for". */
  waitsFor(what: string): void;
}

export class HandOver {
  readonly #options: HandOverOptions;
  readonly #moves = new Mutex();

  constructor(options: HandOverOptions) {
    this.#options = options;
  }

  /**
   * Moves a shard held here, one move at a time, and resolves once the other node has opened it.
   * Rejects with the error that the opening failed with.
   */
  move(key: ShardKey, to: string): Promise<void> {
    return this.#moves.runExclusive(() => this.#move(key, to));
  }

  /**
   * Gives an unloaded shard to another node, which opens it on the first request. Throws
   * StoreError.
   */
  async giveUnloaded(key: ShardKey, to: string): Promise<void> {
    await this.#options.membership.ownership.releaseUnloaded(key, this.#successorAt(to));
  }

  /**
   * Returns the spec needed to open the shard, or null if its collection was deleted. Throws
   * StoreError.
   */
  async specOf(key: ShardKey): Promise<ShardSpec | null> {
    const { collectionId, index } = parseShardKey(key);
    const row = await this.#options.catalog.getCollection(collectionId);
    return row && shardSpec(row, index);
  }

  /**
   * Gives a shard held here to another node. Resolves once that node has opened it, or once a third
   * node has claimed it. Rejects with the error that the opening failed with.
   */
  async give(spec: ShardSpec, to: string, terms: TransferOptions): Promise<void> {
    const { shardCache, membership, peers } = this.#options;
    const { ownership } = membership;
    const { isQuick, saves, followMs, adoptMs, signal, waitsFor } = terms;
    const key = shardKey(spec.collectionId, spec.index);
    if (!isQuick) {
      waitsFor('its checkpoint');
      if (saves) await this.#save(key);
      signal.throwIfAborted();
      waitsFor(`a copy at ${to}`);
      await this.#catchesUp(spec, to, followMs);
    }
    signal.throwIfAborted();
    ownership.redirect(key, to);
    try {
      waitsFor('the end of its writes');
      await shardCache.close(key, false);
      waitsFor('the store to reassign it');
      if (!(await ownership.release(key, this.#successorAt(to)))) return;
      waitsFor(`${to} to open it`);
      await peers.adopt(to, spec, adoptMs);
    } finally {
      ownership.redirect(key, null);
    }
  }

  #successorAt(to: string): Holder | undefined {
    const successor = this.#options.membership.live().find(({ node, draining }) => node === to && !draining);
    return successor && { node: to, incarnation: successor.incarnation };
  }

  async #move(key: ShardKey, to: string): Promise<void> {
    const { shardCache, membership, peers } = this.#options;
    const { ownership } = membership;
    const spec = await this.specOf(key);
    if (spec === null) return;
    if (to === membership.node) return peers.adopt(to, spec);
    await this.#save(key);
    const hasCaughtUp = await this.#catchesUp(spec, to, FOLLOW_MAX_MS);
    ownership.redirect(key, to);
    try {
      // A copy that has nearly caught up needs no checkpoint, and writing one would delay callers.
      await shardCache.close(key, !hasCaughtUp);
      await ownership.release(key, this.#successorAt(to));
      await peers.adopt(to, spec);
    } finally {
      ownership.redirect(key, null);
    }
  }

  async #save(key: ShardKey): Promise<void> {
    const { shardCache, log } = this.#options;
    await shardCache
      .save(key)
      .catch((error: unknown) => log.warn({ err: error, shard: key }, 'handing over a shard without a checkpoint'));
  }

  /**
   * Tells the other node to follow the shard until its copy contains everything committed before
   * the previous call; it then lacks only the newest entries. Returns false on timeout. Throws if
   * the node cannot be reached or refuses to follow.
   */
  async #catchesUp(spec: ShardSpec, to: string, forMs: number): Promise<boolean> {
    const { shardCache, peers, clock, timers, log } = this.#options;
    const endMs = clock.monotonicMs() + forMs;
    let toldSeq = Number.POSITIVE_INFINITY;
    for (let actor = shardCache.peek(spec); actor !== null; actor = shardCache.peek(spec)) {
      const enoughSeq = Math.min(toldSeq, actor.head.seq);
      toldSeq = actor.head.seq;
      const { seq } = await peers.follow(to, spec, toldSeq);
      if (seq !== null && seq >= enoughSeq) return true;
      if (clock.monotonicMs() >= endMs) {
        log.warn({ shard: actor.key, to }, 'the copy of a moving shard was not ready in time');
        return false;
      }
      await new Promise<void>((resolve) => timers.after(FOLLOW_POLL_MS, resolve));
    }
    return false;
  }
}
