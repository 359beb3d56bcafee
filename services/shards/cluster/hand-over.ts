/**
 * Gives one shard to another node, in good order.
 *
 * Promises: the shard serves while it is saved and copied. It leaves memory with nothing in flight,
 * and callers are sent to the other node and wait there: no request fails because of a hand-over.
 * How it fails: a copy that is late is not waited for, and the other node opens the shard from its
 * checkpoint. If the other node does not take the shard, the next node that is asked claims it,
 * this one included. Nothing is lost at any step.
 * See docs/internals/placement.md.
 */
import { Mutex } from 'async-mutex';
import type { Logger } from 'pino';
import { parseShardKey, type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { shardSpec } from '../../../lib/shard/spec.ts';
import type { Catalog } from '../../../lib/store/catalog.ts';
import type { Holder } from '../../../lib/store/owners.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { Membership } from './ownership/membership.ts';
import type { Peers } from './peers.ts';

/** How long a copy may take to come close. */
const FOLLOW_MAX_MS = 30_000;
const TELL_EVERY_MS = 50;

export interface HandOverOptions {
  shardCache: Pick<ShardCache, 'peek' | 'save' | 'close'>;
  membership: Pick<Membership, 'node' | 'ownership' | 'live'>;
  catalog: Pick<Catalog, 'getCollection'>;
  peers: Pick<Peers, 'adopt' | 'follow'>;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
  log: Logger;
}

/** How one shard is given away by a node that leaves. */
export interface GivingTerms {
  /** The shard opens within a moment: it needs neither a checkpoint nor a copy. */
  isQuick: boolean;
  saves: boolean;
  /** How long its copy may take to come close. */
  followMs: number;
  /** How long the other node may take to open it. */
  adoptMs: number;
  /** No step begins after it. */
  signal: AbortSignal;
  /** Told what is waited for, as the end of a sentence. */
  waitsFor(what: string): void;
}

export class HandOver {
  readonly #options: HandOverOptions;
  readonly #moves = new Mutex();

  constructor(options: HandOverOptions) {
    this.#options = options;
  }

  /**
   * Moves a shard that this node holds, after those that move already; resolves when the other node
   * has it open. Throws what its opening there throws.
   */
  move(key: ShardKey, to: string): Promise<void> {
    return this.#moves.runExclusive(() => this.#move(key, to));
  }

  /**
   * Leaves a shard that rests here to another node, which does not open it before somebody asks for
   * it. Throws StoreError.
   */
  async leaveResting(key: ShardKey, to: string): Promise<void> {
    await this.#options.membership.ownership.releaseResting(key, this.#heirAt(to));
  }

  /** What it takes to open a shard; null where its collection is no more. Throws StoreError. */
  async specOf(key: ShardKey): Promise<ShardSpec | null> {
    const { collectionId, index } = parseShardKey(key);
    const row = await this.#options.catalog.getCollection(collectionId);
    return row && shardSpec(row, index);
  }

  /**
   * Gives a shard that this node holds to another one; resolves when that has it open, or somebody
   * else took it. Throws what its opening there throws.
   */
  async give(spec: ShardSpec, to: string, terms: GivingTerms): Promise<void> {
    const { shardCache, membership, peers } = this.#options;
    const { ownership } = membership;
    const { isQuick, saves, followMs, adoptMs, signal, waitsFor } = terms;
    const key = shardKey(spec.collectionId, spec.index);
    if (!isQuick) {
      waitsFor('its checkpoint');
      if (saves) await this.#save(key);
      signal.throwIfAborted();
      waitsFor(`a copy at ${to}`);
      await this.#isFollowed(spec, to, followMs);
    }
    signal.throwIfAborted();
    ownership.redirect(key, to);
    try {
      waitsFor('the end of its writes');
      await shardCache.close(key, false);
      waitsFor('the store, which is to leave it to another node');
      if (!(await ownership.release(key, this.#heirAt(to)))) return;
      waitsFor(`${to}, which is to open it`);
      await peers.adopt(to, spec, adoptMs);
    } finally {
      ownership.redirect(key, null);
    }
  }

  #heirAt(to: string): Holder | undefined {
    const heir = this.#options.membership.live().find(({ node, draining }) => node === to && !draining);
    return heir && { node: to, incarnation: heir.incarnation };
  }

  async #move(key: ShardKey, to: string): Promise<void> {
    const { shardCache, membership, peers } = this.#options;
    const { ownership } = membership;
    const spec = await this.specOf(key);
    if (spec === null) return;
    if (to === membership.node) return peers.adopt(to, spec);
    await this.#save(key);
    const isFollowed = await this.#isFollowed(spec, to, FOLLOW_MAX_MS);
    ownership.redirect(key, to);
    try {
      // A copy that is close needs no checkpoint, and callers need not wait until one is written.
      await shardCache.close(key, !isFollowed);
      await ownership.release(key, this.#heirAt(to));
      await peers.adopt(to, spec);
    } finally {
      ownership.redirect(key, null);
    }
  }

  async #save(key: ShardKey): Promise<void> {
    const { shardCache, log } = this.#options;
    await shardCache
      .save(key)
      .catch((error: unknown) => log.warn({ err: error, shard: key }, 'handing a shard over without a checkpoint'));
  }

  /**
   * Has the other node follow the shard until its copy has what was committed when it was told
   * before: what it lacks then was committed within a moment. False when that does not come about
   * in time; throws when the node cannot be reached or does not follow.
   */
  async #isFollowed(spec: ShardSpec, to: string, forMs: number): Promise<boolean> {
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
      await new Promise<void>((resolve) => timers.after(TELL_EVERY_MS, resolve));
    }
    return false;
  }
}
