/**
 * Hands over every shard of a node that is about to stop.
 *
 * Guarantees: shards that open quickly elsewhere move in parallel lanes, as many as the receiving
 * nodes can open at once. The others need a checkpoint and a copy first and move in two lanes. Each
 * shard serves until its turn. A shard that is not handed over in time is released after its
 * running write; then any node may claim it, and no request fails. On failure: a node that does not
 * respond receives no more shards while another is available. While the store is down nothing
 * moves; `waiting()` reports what each shard waits for.
 */
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { ProvecError } from '../../../lib/errors.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { StoreError } from '../../../store/port.ts';
import { CONCURRENT_OPENINGS_MAX } from '../memory/opening-gate.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { HandOver } from './hand-over.ts';
import type { NodeMembership } from './ownership/node-membership.ts';

/** Lanes for shards that open quickly, no matter how many nodes receive them. */
const QUICK_LANES_MAX = 16;
/** Lanes for shards that need a checkpoint and a copy first. */
export const COPYING_LANES = 2;
const RELEASE_LANES = 16;
const FOLLOW_MAX_MS = 5_000;
/** Largest share of the drain's time that may be spent waiting for copies. */
const FOLLOW_SHARE = 0.5;
/** Assumed speed of writing a checkpoint. One that would not finish in time is not started. */
const SAVED_BYTES_PER_SECOND = 32 * 2 ** 20;
/** Maximum number of nodes tried for one shard. */
const SUCCESSORS_MAX = 3;
/** Maximum number of shards named in one log line. */
const NAMED_MAX = 20;

export interface DrainOptions {
  handOver: Pick<HandOver, 'give' | 'specOf'>;
  shardCache: Pick<ShardCache, 'keys' | 'open' | 'close' | 'save'>;
  membership: Pick<NodeMembership, 'node' | 'ownership' | 'placement' | 'drain'>;
  /** Nodes that have a copy of the shard in memory. */
  followersOf?(shard: ShardKey): string[];
  /** Whether another node can open the shard quickly from its stored state. */
  isQuick(actor: ShardActor): boolean;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

export class Drain {
  readonly #options: DrainOptions;
  /** What each shard that is being given away waits for. */
  readonly #waiting = new Map<ShardKey, string>();
  readonly #unresponsive = new Set<string>();

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /**
   * Up to 20 shards that are still here, or were given to a node that has not opened them yet, each
   * with what it waits for.
   */
  waiting(): string[] {
    const keys = new Set([...this.#waiting.keys(), ...this.#options.shardCache.keys()]);
    return [...keys].slice(0, NAMED_MAX).map((key) => `${key} waits for ${this.#waiting.get(key) ?? 'its turn'}`);
  }

  /**
   * Gives away every shard of this node, until all are gone or `signal` aborts after about `forMs`.
   * Never rejects.
   */
  async giveAll(signal: AbortSignal, forMs: number): Promise<void> {
    const { membership, shardCache, isQuick, clock, log } = this.#options;
    const endMs = clock.monotonicMs() + forMs;
    this.#unresponsive.clear();
    const told = await failureOf(membership.drain(), signal);
    // From here on this node takes no shards, whether or not the other nodes know.
    if (told) log.warn({ err: told }, 'could not tell the other nodes that this node is leaving');
    await this.#releaseUnloaded(signal);
    const open = new Map(shardCache.open().map((actor) => [actor.key, actor]));
    const { quick = [], slow = [] } = Object.groupBy(shardCache.keys(), (key) => {
      const actor = open.get(key);
      return actor && isQuick(actor) ? 'quick' : 'slow';
    });
    const heirs = membership.placement.nodes.filter(({ node }) => node !== membership.node).length;
    const lanes = Math.min(QUICK_LANES_MAX, CONCURRENT_OPENINGS_MAX * Math.max(1, heirs));
    const followMs = Math.min(FOLLOW_MAX_MS, (forMs * FOLLOW_SHARE * COPYING_LANES) / Math.max(1, slow.length));
    const give = (key: ShardKey, isQuick: boolean): Promise<void> =>
      this.#give(key, open.get(key) ?? null, { isQuick, followMs: isQuick ? 0 : followMs, endMs, signal });
    await Promise.all([
      inLanes(lanes, quick, signal, (key) => give(key, true)),
      inLanes(COPYING_LANES, slow, signal, (key) => give(key, false)),
    ]);
    // Releases shards that were closed in the meantime to free memory.
    await this.#releaseUnloaded(signal);
  }

  /**
   * Releases every remaining shard, so that any node can claim it, until all are released or
   * `signal` aborts. Never rejects.
   */
  async releaseAll(signal: AbortSignal): Promise<void> {
    const { shardCache, membership, log } = this.#options;
    const open = new Map(shardCache.open().map((actor) => [actor.key, actor]));
    // Includes shards that were given to a node that has not opened them yet.
    const keys = [...new Set([...this.#waiting.keys(), ...shardCache.keys()])];
    if (keys.length === 0) return;
    const terms = { shards: keys.length, waiting: this.waiting() };
    log.warn(terms, 'could not hand over all shards in time; releasing them for any node');
    await inLanes(RELEASE_LANES, keys, signal, async (key) => {
      const release = async (): Promise<void> => {
        this.#waiting.set(key, 'the end of its last write');
        open.get(key)?.refuseQueued();
        await shardCache.close(key, false);
        this.#waiting.set(key, 'the store to release it');
        await membership.ownership.release(key);
      };
      const error = await failureOf(release(), signal);
      if (signal.aborted) return;
      // If the release fails, the shard becomes free when the lease ends.
      if (error !== null) log.warn({ err: error, shard: key }, 'could not release a shard');
      this.#waiting.delete(key);
    });
  }

  /** Releases unloaded shards. Nothing has to be copied or closed first. */
  async #releaseUnloaded(signal: AbortSignal): Promise<void> {
    const { ownership } = this.#options.membership;
    const keys = ownership.unloadedShards().map(({ shard }) => shard);
    await inLanes(RELEASE_LANES, keys, signal, async (key) => {
      await failureOf(ownership.releaseUnloaded(key), signal);
    });
  }

  async #give(
    key: ShardKey,
    actor: ShardActor | null,
    { isQuick, followMs, endMs, signal }: { isQuick: boolean; followMs: number; endMs: number; signal: AbortSignal },
  ): Promise<void> {
    const { handOver, shardCache, clock, log } = this.#options;
    const waitsFor = (what: string): void => void (signal.aborted || this.#waiting.set(key, what));
    const tried: string[] = [];
    const saves = (): boolean =>
      (actor?.size.bytes ?? 0) / SAVED_BYTES_PER_SECOND < (endMs - clock.monotonicMs()) / 1_000;
    const give = async (to: string): Promise<void> => {
      const spec: ShardSpec | null = actor?.spec ?? (await handOver.specOf(key));
      const adoptMs = Math.max(1, endMs - clock.monotonicMs());
      if (spec) await handOver.give(spec, to, { isQuick, saves: saves(), followMs, adoptMs, signal, waitsFor });
      // Runs even after the abort. If giving failed, the entry stays and the next drain takes the
      // shard back.
      this.#waiting.delete(key);
    };
    for (let to = this.#successor(key, tried); to !== null; to = this.#successor(key, tried)) {
      const error = await failureOf(give(to), signal);
      if (signal.aborted) return;
      if (error === null) break;
      log.warn({ err: error, shard: key, to }, 'another node did not take a shard over');
      if (!isRemoteError(error)) this.#unresponsive.add(to);
      if (tried.push(to) === SUCCESSORS_MAX) break;
    }
    // With no node to give the shard to, use the time for a checkpoint: it speeds up the next
    // opening.
    if (tried.length === 0 && this.#successor(key, tried) === null && !isQuick && saves()) {
      waitsFor('its checkpoint');
      const error = await failureOf(shardCache.save(key), signal);
      if (error) log.warn({ err: error, shard: key }, 'handing over a shard without a checkpoint');
    }
    if (!signal.aborted) this.#waiting.delete(key);
  }

  /**
   * Returns the node that should take the shard, preferring nodes that respond; null if none is
   * left.
   */
  #successor(key: ShardKey, tried: readonly string[]): string | null {
    const { membership, followersOf } = this.#options;
    const { placement } = membership;
    const others = new Set(placement.nodes.map(({ node }) => node));
    for (const node of [membership.node, ...tried]) others.delete(node);
    const answering = new Set([...others].filter((node) => !this.#unresponsive.has(node)));
    const heirs = answering.size > 0 ? answering : others;
    return followersOf?.(key).find((node) => heirs.has(node)) ?? placement.firstOf(key, heirs, () => true);
  }
}

/** Whether the other node itself reported the error. */
function isRemoteError(error: unknown): boolean {
  return error instanceof ShardMoved || error instanceof ProvecError || error instanceof StoreError;
}

/**
 * Returns the error that `work` rejects with, or null when it succeeds or `signal` aborts. After an
 * abort the work continues in the background.
 */
function failureOf(work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    const end = (): void => resolve(null);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    void work.then(end, resolve).then(() => signal.removeEventListener('abort', end));
  });
}

/** Runs `work` for each key, `lanes` at a time, until `signal` aborts. */
async function inLanes(
  lanes: number,
  keys: ShardKey[],
  signal: AbortSignal,
  work: (key: ShardKey) => Promise<void>,
): Promise<void> {
  await pLimit(lanes).map(keys, async (key) => {
    if (!signal.aborted) await work(key);
  });
}
