/**
 * Asks the node that holds a shard.
 *
 * Promises: a call that only reads is asked again, elsewhere or later, for as long as its caller
 * has time, whatever happens to the node that was asked. A write is asked again only when it is
 * certain that nothing of it was done; otherwise its caller learns that the outcome is unknown.
 * How it fails: when the time is over, SHARD_UNAVAILABLE with what kept the shard away. A final
 * error of the shard comes through as it is.
 * See docs/internals/transport.md.
 */
import { LRUCache } from 'lru-cache';
import { Placement } from '../../lib/placement/placement.ts';
import { type AwayReason, shardAway } from '../../lib/shard/away.ts';
import { parseShardKey, type ShardKey } from '../../lib/shard/key.ts';
import { ShardMoved } from '../../lib/shard/moved.ts';
import type { OwnerStore } from '../../lib/store/owners.ts';
import { backoffMs } from '../../lib/time/backoff.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Timers } from '../../lib/time/timers.ts';
import type { ShardNodePlace } from './shard-nodes.ts';

const ROUTES_MAX = 200_000;
const PAUSE = { minMs: 10, maxMs: 500 };
/** Nodes asked one after the other, each named by the one before, until the next pause. */
const HOPS_MAX = 4;

/**
 * What an error says about the request: not sent at all; nobody knows what became of it; or it is
 * the answer.
 */
export type Loss = 'unsent' | 'unknown' | 'none';

interface ShardRouterOptions {
  owners: Pick<OwnerStore, 'get'>;
  /** Nodes that can be asked for shards. */
  nodes(): readonly ShardNodePlace[];
  lossOf(error: unknown): Loss;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
}

interface ShardRequest<T> {
  shard: ShardKey;
  /** On the monotonic clock: no further node is asked after it. */
  deadlineMs: number;
  /** It changes nothing. */
  reads: boolean;
  /** How long the shard may be away before the caller is told; default: until the deadline. */
  awayMaxMs?: number;
  ask(node: string, leftMs: number): Promise<T>;
}

export class ShardRouter {
  readonly #options: ShardRouterOptions;
  readonly #routes = new LRUCache<ShardKey, string>({ max: ROUTES_MAX });
  #placement = new Placement([]);

  constructor(options: ShardRouterOptions) {
    this.#options = options;
  }

  /** The order of the nodes that take shards which nobody holds. */
  get placement(): Placement {
    const takers = this.#options.nodes().filter(({ draining }) => !draining);
    this.#placement = this.#placement.with(takers.map(({ node, weight }) => ({ node, weight })));
    return this.#placement;
  }

  async call<T>({ shard, deadlineMs, reads, awayMaxMs, ask }: ShardRequest<T>): Promise<T> {
    const { clock, lossOf } = this.#options;
    const refused = new Set<string>();
    const awayUntilMs = Math.min(deadlineMs, clock.monotonicMs() + (awayMaxMs ?? Number.POSITIVE_INFINITY));
    let why: AwayReason = 'has no holder yet';
    let hops = 0;
    for (let failures = 0; ; ) {
      const node = await this.#target(shard, refused);
      const leftMs = deadlineMs - clock.monotonicMs();
      if (leftMs <= 0) break;
      if (node !== null) {
        try {
          const result = await ask(node, leftMs);
          this.#routes.set(shard, node);
          return result;
        } catch (error) {
          if (error instanceof ShardMoved) {
            why = 'has no holder yet';
            this.#follow(shard, node, error.node, refused);
            if (error.node !== null && error.node !== node && ++hops < HOPS_MAX) continue;
          } else {
            const loss = lossOf(error);
            if (loss === 'none' || (loss === 'unknown' && !reads)) throw error;
            why = 'is held by a node that does not answer';
            this.#routes.delete(shard);
            refused.add(node);
          }
        }
      }
      hops = 0;
      const pauseMs = backoffMs(failures++, PAUSE);
      const monotonicMs = clock.monotonicMs();
      if (monotonicMs + pauseMs > awayUntilMs && awayUntilMs < deadlineMs) break;
      await this.#pause(Math.min(pauseMs, deadlineMs - monotonicMs));
    }
    throw shardAway(parseShardKey(shard).index, why);
  }

  #follow(shard: ShardKey, asked: string, holder: string | null, refused: Set<string>): void {
    if (holder === null) {
      this.#routes.delete(shard);
      refused.add(asked);
    } else {
      this.#routes.set(shard, holder);
      refused.delete(holder);
    }
  }

  async #target(shard: ShardKey, refused: Set<string>): Promise<string | null> {
    const nodes = this.#options.nodes();
    const isThere = (node: string): boolean => nodes.some((other) => other.node === node);
    const route = this.#routes.get(shard);
    if (route !== undefined && isThere(route)) return route;
    const holder = await this.#holder(shard);
    if (holder !== null && isThere(holder) && !refused.has(holder)) return holder;
    const { placement } = this;
    const willing = placement.first(shard, (node) => !refused.has(node));
    if (willing !== null) return willing;
    // Each has refused once: they may be of another mind by now.
    refused.clear();
    return placement.preferred(shard) ?? nodes[0]?.node ?? null;
  }

  /** A store out of reach costs a detour: any node says who holds the shard. */
  async #holder(shard: ShardKey): Promise<string | null> {
    try {
      return (await this.#options.owners.get(shard))?.holder?.node ?? null;
    } catch {
      return null;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.timers.after(Math.max(0, ms), resolve));
  }
}
