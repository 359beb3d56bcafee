/**
 * Gives away all that a node holds when it leaves.
 *
 * Promises: shards that open within a moment go in as many lanes as the others open shards at once,
 * the others, which are saved and copied first, in two; each serves until its turn comes. What is
 * not handed over in time is released, after the write that runs: then anybody may claim it, and no
 * request fails. How it fails: a node that does not answer is given no more shards while there is
 * another. While the store does not answer nothing is handed over; `waiting` says what waits for
 * what.
 */
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { ProvecError } from '../../../lib/errors.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { StoreError } from '../../../lib/store/port.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { OPENINGS_AT_ONCE } from '../memory/opening-gate.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { HandOver } from './hand-over.ts';
import type { Membership } from './ownership/membership.ts';

/** Of shards that open within a moment, however many nodes take them. */
const QUICK_LANES_MAX = 16;
/** Of shards that are saved and copied first. */
export const COPYING_LANES = 2;
const RELEASE_LANES = 16;
const FOLLOW_MAX_MS = 5_000;
/** Of the time that there is, what may go into waiting for copies. */
const FOLLOW_SHARE = 0.5;
/** A checkpoint is not begun that would not be written in the time that is left. */
const SAVED_BYTES_PER_SECOND = 32 * 2 ** 20;
/** Nodes that are tried for one shard. */
const HEIRS_MAX = 3;
/** Shards that one line of the log names. */
const NAMED_MAX = 20;

export interface DrainOptions {
  handOver: Pick<HandOver, 'give' | 'specOf'>;
  shardCache: Pick<ShardCache, 'keys' | 'open' | 'close' | 'save'>;
  membership: Pick<Membership, 'node' | 'ownership' | 'placement' | 'drain'>;
  /** Nodes that follow a shard, and have it in memory. */
  followersOf?(shard: ShardKey): string[];
  /** Whether another node opens the shard within a moment from what is stored of it. */
  isQuick(actor: ShardActor): boolean;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

export class Drain {
  readonly #options: DrainOptions;
  /** What each shard that is on its way out waits for. */
  readonly #waiting = new Map<ShardKey, string>();
  /** Nodes that did not answer. */
  readonly #unresponsive = new Set<string>();

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /**
   * Shards that are still here or were given to a node that has yet to open them, each with what it
   * waits for; the first 20.
   */
  waiting(): string[] {
    const keys = new Set([...this.#waiting.keys(), ...this.#options.shardCache.keys()]);
    return [...keys].slice(0, NAMED_MAX).map((key) => `${key} waits for ${this.#waiting.get(key) ?? 'its turn'}`);
  }

  /**
   * Gives away everything that is held here, until it is done or `signal` says, after about
   * `forMs`, that there is no more time. Never rejects.
   */
  async giveAll(signal: AbortSignal, forMs: number): Promise<void> {
    const { membership, shardCache, isQuick, clock, log } = this.#options;
    const endMs = clock.monotonicMs() + forMs;
    this.#unresponsive.clear();
    const told = await failureOf(membership.drain(), signal);
    // This node takes nothing from here on, whether they know it or not.
    if (told) log.warn({ err: told }, 'could not tell the other nodes that this node is leaving');
    await this.#releaseResting(signal);
    const open = new Map(shardCache.open().map((actor) => [actor.key, actor]));
    const { quick = [], slow = [] } = Object.groupBy(shardCache.keys(), (key) => {
      const actor = open.get(key);
      return actor && isQuick(actor) ? 'quick' : 'slow';
    });
    const heirs = membership.placement.nodes.filter(({ node }) => node !== membership.node).length;
    const lanes = Math.min(QUICK_LANES_MAX, OPENINGS_AT_ONCE * Math.max(1, heirs));
    const followMs = Math.min(FOLLOW_MAX_MS, (forMs * FOLLOW_SHARE * COPYING_LANES) / Math.max(1, slow.length));
    const give = (key: ShardKey, isQuick: boolean): Promise<void> =>
      this.#give(key, open.get(key) ?? null, { isQuick, followMs: isQuick ? 0 : followMs, endMs, signal });
    await Promise.all([
      inLanes(lanes, quick, signal, (key) => give(key, true)),
      inLanes(COPYING_LANES, slow, signal, (key) => give(key, false)),
    ]);
    // What was closed meanwhile to make room.
    await this.#releaseResting(signal);
  }

  /**
   * Lets go of all that is still here, for anybody to claim, until that is done or `signal` says
   * that there is no more time. Never rejects.
   */
  async releaseAll(signal: AbortSignal): Promise<void> {
    const { shardCache, membership, log } = this.#options;
    const open = new Map(shardCache.open().map((actor) => [actor.key, actor]));
    // Those that a node was given and has not opened yet are taken back.
    const keys = [...new Set([...this.#waiting.keys(), ...shardCache.keys()])];
    if (keys.length === 0) return;
    const terms = { shards: keys.length, waiting: this.waiting() };
    log.warn(terms, 'could not hand over all shards in time; releasing them for any node');
    await inLanes(RELEASE_LANES, keys, signal, async (key) => {
      const release = async (): Promise<void> => {
        this.#waiting.set(key, 'the end of its last write');
        open.get(key)?.refuseQueued();
        await shardCache.close(key, false);
        this.#waiting.set(key, 'the store, which is to release it');
        await membership.ownership.release(key);
      };
      const error = await failureOf(release(), signal);
      if (signal.aborted) return;
      // Without the row's release it is free with the end of the lease.
      if (error !== null) log.warn({ err: error, shard: key }, 'could not release a shard');
      this.#waiting.delete(key);
    });
  }

  /** Nobody waits for what rests: anybody may have it. */
  async #releaseResting(signal: AbortSignal): Promise<void> {
    const { ownership } = this.#options.membership;
    const keys = ownership.resting().map(({ shard }) => shard);
    await inLanes(RELEASE_LANES, keys, signal, async (key) => {
      await failureOf(ownership.releaseResting(key), signal);
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
      // However late; what was given in vain stays for the next drain to take back.
      this.#waiting.delete(key);
    };
    for (let to = this.#heir(key, tried); to !== null; to = this.#heir(key, tried)) {
      const error = await failureOf(give(to), signal);
      if (signal.aborted) return;
      if (error === null) break;
      log.warn({ err: error, shard: key, to }, 'another node did not take a shard over');
      if (!isAnswer(error)) this.#unresponsive.add(to);
      if (tried.push(to) === HEIRS_MAX) break;
    }
    // Where there is nobody to give it to, there may be time to save it for whoever comes.
    if (tried.length === 0 && this.#heir(key, tried) === null && !isQuick && saves()) {
      waitsFor('its checkpoint');
      const error = await failureOf(shardCache.save(key), signal);
      if (error) log.warn({ err: error, shard: key }, 'handing a shard over without a checkpoint');
    }
    if (!signal.aborted) this.#waiting.delete(key);
  }

  /** Who should have the shard of those that take any and did not fail to. */
  #heir(key: ShardKey, tried: readonly string[]): string | null {
    const { membership, followersOf } = this.#options;
    const { placement } = membership;
    const others = new Set(placement.nodes.map(({ node }) => node));
    for (const node of [membership.node, ...tried]) others.delete(node);
    const answering = new Set([...others].filter((node) => !this.#unresponsive.has(node)));
    const heirs = answering.size > 0 ? answering : others;
    return followersOf?.(key).find((node) => heirs.has(node)) ?? placement.firstOf(key, heirs, () => true);
  }
}

/** Whether the other node said it. */
function isAnswer(error: unknown): boolean {
  return error instanceof ShardMoved || error instanceof ProvecError || error instanceof StoreError;
}

/**
 * What `work` fails with; null where it does not, or once there is no more time: it goes on by
 * itself then.
 */
function failureOf(work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    const end = (): void => resolve(null);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    void work.then(end, resolve).then(() => signal.removeEventListener('abort', end));
  });
}

/** Does `work` for each of `keys`, so many at once, until `signal` says stop. */
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
