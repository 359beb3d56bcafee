/**
 * Gives shards to other nodes, in good order.
 *
 * Promises: a shard goes on serving while it is saved and while the node that is to have it opens a copy and brings it up to a moment ago; then it is let out of memory
 * with nothing in flight, left to that node, and the node is asked to open it, which is to read the last entries of the log. Callers that come meanwhile are sent there
 * and wait for that: no request fails because of a hand-over. One shard moves at a time, and two while the node leaves. A shard that is held and not in memory is
 * left to the other node and nothing more: whoever wants it opens it there.
 * How it fails: a copy that is not there in time is not waited for; the other node opens the shard from its checkpoint then, and callers wait for that. When the other
 * node does not take the shard, whoever is asked next claims it, this node included; nothing is lost at any step, since nothing of a shard but time lies outside of
 * the store.
 */
import type { Logger } from 'pino';
import type { ReplicaState, ShardSpec } from '../../lib/actions/shards.ts';
import type { Clock } from '../../lib/runtime.ts';
import { parseShardKey, type ShardKey } from '../../lib/shard/shard-key.ts';
import { shardSpec } from '../../lib/shard/shard-spec.ts';
import type { Catalog } from '../../lib/store/catalog.ts';
import type { Holder } from '../../lib/store/owners.ts';
import type { Timers } from '../../lib/timers.ts';
import type { Membership } from './ownership/membership.ts';
import type { Residency } from './residency/residency.ts';

const DRAIN_LANES = 2;
const RELEASE_LANES = 8;
/** How long a copy may take to come close, and how long while the node leaves. */
const FOLLOW_MAX_MS = 30_000;
const DRAIN_FOLLOW_MAX_MS = 5_000;
/** Of the time that is left when the node leaves, what may go into waiting for copies. */
const DRAIN_FOLLOW_SHARE = 0.5;
const TELL_EVERY_MS = 50;
/** Nodes that are tried for one shard while the node leaves. */
const HEIRS_MAX = 3;

/** What it takes to have another node follow a shard before it gets it. */
export interface Following {
  /** Has `node` follow a shard that is at `seq` here; says how far it is. */
  follow(node: string, shard: ShardSpec, seq: number): Promise<ReplicaState>;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
}

export interface HandOverOptions {
  residency: Residency;
  membership: Pick<Membership, 'node' | 'ownership' | 'placement' | 'live' | 'drain'>;
  catalog: Pick<Catalog, 'getCollection'>;
  /** Nodes that follow a shard, and have it in memory. */
  followersOf?(shard: ShardKey): string[];
  /** Has another node open a shard that this one gave back. */
  adopt(node: string, shard: ShardSpec): Promise<void>;
  /** Absent: shards are handed over without a copy. */
  following?: Following;
  log: Logger;
}

export class HandOver {
  readonly #options: HandOverOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: HandOverOptions) {
    this.#options = options;
  }

  /** Moves a shard that this node holds; resolves when the other node has it open. Throws what its opening there throws. */
  move(key: ShardKey, to: string): Promise<void> {
    const moved = this.#last.then(() => this.#move(key, to, FOLLOW_MAX_MS));
    this.#last = moved.catch(() => undefined);
    return moved;
  }

  /** Leaves a shard that rests here to another node, which does not open it before somebody asks for it. Throws StoreError. */
  async leaveResting(key: ShardKey, to: string): Promise<void> {
    await this.#options.membership.ownership.releaseResting(key, this.#heirAt(to));
  }

  /** Gives away everything that is held here, until it is done or `signal` says, after about `forMs`, that there is no more time. Never rejects. */
  async drain(signal: AbortSignal, forMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { membership, residency, log } = this.#options;
    try {
      await membership.drain();
    } catch (error) {
      // This node takes nothing from here on, whether they know it or not.
      log.warn({ err: error }, 'the others could not be told that this node leaves');
    }
    await this.#releaseAll(signal);
    const keys = residency.keys();
    const followMs = Math.min(
      DRAIN_FOLLOW_MAX_MS,
      (forMs * DRAIN_FOLLOW_SHARE * DRAIN_LANES) / Math.max(1, keys.length),
    );
    await inLanes(DRAIN_LANES, keys, signal, async (key) => {
      const tried: string[] = [];
      for (let to = this.#heir(key, tried); to !== null && !signal.aborted; to = this.#heir(key, tried)) {
        const error = await unlessAborted(failureOf(this.#move(key, to, followMs)), signal);
        if (error === null || tried.push(to) === HEIRS_MAX) return;
        log.warn({ err: error, shard: key, to }, 'a shard was not taken over');
      }
    });
    // What was closed meanwhile to make room.
    await this.#releaseAll(signal);
  }

  /** Nobody waits for what rests: anybody may have it. */
  async #releaseAll(signal: AbortSignal): Promise<void> {
    const { ownership } = this.#options.membership;
    const keys = ownership.resting().map(({ shard }) => shard);
    await inLanes(RELEASE_LANES, keys, signal, (key) => ownership.releaseResting(key).catch(() => undefined));
  }

  /** Who should have the shard of those that take any and did not fail to. */
  #heir(key: ShardKey, tried: readonly string[]): string | null {
    const { membership, followersOf } = this.#options;
    const { placement } = membership;
    const others = new Set(placement.nodes.map(({ node }) => node));
    for (const node of [membership.node, ...tried]) others.delete(node);
    return followersOf?.(key).find((node) => others.has(node)) ?? placement.firstOf(key, others, () => true);
  }

  #heirAt(to: string): Holder | undefined {
    const heir = this.#options.membership.live().find(({ node, draining }) => node === to && !draining);
    return heir && { node: to, incarnation: heir.incarnation };
  }

  async #move(key: ShardKey, to: string, followMs: number): Promise<void> {
    const { residency, membership, catalog, adopt, log } = this.#options;
    const { ownership } = membership;
    const { collectionId, index } = parseShardKey(key);
    const row = await catalog.getCollection(collectionId);
    if (row === null) return;
    const spec = shardSpec(row, index);
    if (to === membership.node) return adopt(to, spec);
    await residency
      .save(key)
      .catch((error: unknown) => log.warn({ err: error }, 'a shard leaves without a checkpoint'));
    const isFollowed = await this.#isFollowed(spec, to, followMs);
    ownership.leave(key, to);
    try {
      // A copy that is close needs no checkpoint, and callers need not wait until one is written.
      await residency.letGo(key, !isFollowed);
      await ownership.giveBack(key, this.#heirAt(to));
      await adopt(to, spec);
    } finally {
      ownership.stay(key);
    }
  }

  /**
   * Has the other node follow the shard until its copy has what was committed when it was told before: what it lacks then was committed within a moment. False when
   * that does not come about in time; throws when the node cannot be reached or does not follow.
   */
  async #isFollowed(spec: ShardSpec, to: string, forMs: number): Promise<boolean> {
    const { residency, following, log } = this.#options;
    if (!following) return false;
    const { follow, clock, timers } = following;
    const endMs = clock.monotonicMs() + forMs;
    let toldSeq = Number.POSITIVE_INFINITY;
    for (let actor = residency.peek(spec); actor !== null; actor = residency.peek(spec)) {
      const enoughSeq = Math.min(toldSeq, actor.head.seq);
      toldSeq = actor.head.seq;
      const { seq } = await follow(to, spec, toldSeq);
      if (seq !== null && seq >= enoughSeq) return true;
      if (clock.monotonicMs() >= endMs) {
        log.warn({ shard: actor.key, to }, 'a copy of a shard that moves was not there in time');
        return false;
      }
      await new Promise<void>((resolve) => timers.after(TELL_EVERY_MS, resolve));
    }
    return false;
  }
}

function failureOf(work: Promise<void>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

/** What `work` gives, or null once there is no more time: it goes on by itself then. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve) => {
    const end = (): void => resolve(null);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    void work.then((result) => {
      signal.removeEventListener('abort', end);
      resolve(result);
    });
  });
}

/** Does `work` for each of `keys`, so many at once, until `signal` says stop. */
async function inLanes(
  lanes: number,
  keys: ShardKey[],
  signal: AbortSignal,
  work: (key: ShardKey) => Promise<void>,
): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let key = keys.shift(); key !== undefined && !signal.aborted; key = keys.shift()) await work(key);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
