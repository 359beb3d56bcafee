/**
 * Sends requests to the node that holds a shard.
 *
 * A read is repeated, on another node or later, as long as its caller has time. A write is repeated
 * only if it certainly had no effect; otherwise its caller learns that the outcome is unknown.
 * After the deadline it throws SHARD_UNAVAILABLE with the reason. A final error of the shard is
 * passed on unchanged.
 * See docs/internals/transport.md.
 */
import { LRUCache } from 'lru-cache';
import { Placement } from '../../lib/placement/placement.ts';
import { parseShardKey, type ShardKey } from '../../lib/shard/key.ts';
import { ShardMoved } from '../../lib/shard/moved.ts';
import { shardUnavailableError, type UnavailableReason } from '../../lib/shard/shard-unavailable.ts';
import { backoffMs } from '../../lib/time/backoff.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { Timers } from '../../lib/time/timers.ts';
import type { OwnerStore } from '../../store/owners.ts';
import type { RoutableShardNode } from './shard-nodes.ts';

const ROUTES_MAX = 200_000;
const PAUSE = { minMs: 10, maxMs: 500 };
/** Maximum number of redirects from node to node before the next pause. */
const HOPS_MAX = 4;

/** What an error says about the delivery of a request. `none`: it is the shard's answer. */
export type Loss = 'unsent' | 'unknown' | 'none';

interface ShardRouterOptions {
  owners: Pick<OwnerStore, 'get'>;
  /** Returns the nodes that can hold shards. */
  nodes(): readonly RoutableShardNode[];
  lossOf(error: unknown): Loss;
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
}

interface ShardRequest<T> {
  shard: ShardKey;
  /** Time on the monotonic clock after which no further node is tried. */
  deadlineMs: number;
  /** Whether the request changes nothing. */
  reads: boolean;
  /** Longest time in ms that the shard may be unavailable; default: until the deadline. */
  openMaxMs?: number;
  ask(node: string, leftMs: number): Promise<T>;
}

export class ShardRouter {
  readonly #options: ShardRouterOptions;
  readonly #routes = new LRUCache<ShardKey, string>({ max: ROUTES_MAX });
  #placement = new Placement([]);

  constructor(options: ShardRouterOptions) {
    this.#options = options;
  }

  /** The order of the nodes that accept shards without a holder. */
  get placement(): Placement {
    const takers = this.#options.nodes().filter(({ draining }) => !draining);
    this.#placement = this.#placement.with(takers.map(({ node, weight }) => ({ node, weight })));
    return this.#placement;
  }

  async call<T>({ shard, deadlineMs, reads, openMaxMs, ask }: ShardRequest<T>): Promise<T> {
    const { clock, lossOf } = this.#options;
    const refused = new Set<string>();
    const giveUpMs = Math.min(deadlineMs, clock.monotonicMs() + (openMaxMs ?? Number.POSITIVE_INFINITY));
    let why: UnavailableReason = 'has no holder yet';
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
      if (monotonicMs + pauseMs > giveUpMs && giveUpMs < deadlineMs) break;
      await this.#pause(Math.min(pauseMs, deadlineMs - monotonicMs));
    }
    throw shardUnavailableError(parseShardKey(shard).index, why);
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
    // Every node has refused once; their state may have changed, so start over.
    refused.clear();
    return placement.preferred(shard) ?? nodes[0]?.node ?? null;
  }

  /** Returns the holder in the store; null if unknown. Any node can redirect to the holder. */
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
