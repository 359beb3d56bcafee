/**
 * Carries out the planner's moves for one node.
 *
 * Guarantees: at most one shard leaves this node at a time, and at most one arrives. A move begins
 * only after its target accepted the shard. The pace leaves disk and network to queries. On
 * failure: a refused or failed move is planned again later, to another node. See
 * docs/internals/placement.md.
 */
import type { Logger } from 'pino';
import { ClusterUsage, type NodeUsage } from '../../../../lib/placement/cluster-usage.ts';
import { Placement } from '../../../../lib/placement/placement.ts';
import type { ShardKey } from '../../../../lib/shard/key.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import type { Timers } from '../../../../lib/time/timers.ts';
import type { LeaseRow } from '../../../../store/owners.ts';
import type { WorkerPool } from '../../worker/pool.ts';
import type { HandOver } from '../hand-over.ts';
import type { Peers } from '../peers.ts';
import { type LoadAverage, loadAverage } from './load-average.ts';
import { MoveThrottle } from './move-throttle.ts';
import { type Move, nextMove, type OwnedShard } from './planner.ts';
import { type OfferRefusal, offerRefusal, type ShardOffer } from './shard-offer.ts';

const PLAN_EVERY_MS = 1_000;
export const MOVED_BYTES_PER_SECOND = 32 * 2 ** 20;
/** Longest time to wait for an accepted shard to arrive, in ms. */
const ARRIVAL_MAX_MS = 120_000;

/** A shard that this node holds, in memory or not. */
export interface NodeShard {
  shard: ShardKey;
  bytes: number;
  /** Worker time its queries have used so far, in ms, or null while it is unloaded. */
  busyMs: number | null;
  followers: readonly string[];
}

interface RebalancerParts {
  clock: Pick<Clock, 'monotonicMs'>;
  timers: Timers;
  log: Logger;
  peers: Pick<Peers, 'node' | 'offer'>;
  /** Current use of this node. */
  own(): NodeUsage;
  /** Leases of the nodes that are alive. */
  live(): LeaseRow[];
  held(): NodeShard[];
  handOver: Pick<HandOver, 'move' | 'giveUnloaded'>;
  /** Receives the number of threads that queries keep busy. */
  pool: Pick<WorkerPool, 'busyThreads'>;
}

interface LoadHistory {
  sinceMs: number;
  load: LoadAverage;
}

export class Rebalancer {
  readonly #parts: RebalancerParts;
  readonly #pace = new MoveThrottle(MOVED_BYTES_PER_SECOND);
  readonly #held = new Map<ShardKey, LoadHistory>();
  #arrivingUntilMs = Number.NEGATIVE_INFINITY;
  #placement = new Placement([]);
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(parts: RebalancerParts) {
    this.#parts = parts;
  }

  start(): void {
    const turn = (): void => {
      if (this.#stopped) return;
      this.#cancel = this.#parts.timers.after(PLAN_EVERY_MS, turn);
      this.#plan();
    };
    turn();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Decides on a shard that another node offers. Null means accepted; the node then expects it. */
  considerOffer(arrival: ShardOffer): OfferRefusal | null {
    const monotonicMs = this.#parts.clock.monotonicMs();
    const refusal = offerRefusal(this.#parts.own(), this.#use(), monotonicMs < this.#arrivingUntilMs, arrival);
    if (refusal === null) this.#arrivingUntilMs = monotonicMs + ARRIVAL_MAX_MS;
    return refusal;
  }

  /** Notes that the expected shard arrived or will not come. */
  arrived(): void {
    this.#arrivingUntilMs = Number.NEGATIVE_INFINITY;
  }

  #plan(): void {
    const { clock, peers, held } = this.#parts;
    const monotonicMs = clock.monotonicMs();
    const shards = this.#sampled(held(), monotonicMs);
    if (monotonicMs < this.#pace.nextMs) return;
    const use = this.#use();
    this.#placement = this.#placement.with(use.staying());
    const move = nextMove({
      node: peers.node,
      shards,
      use,
      placement: this.#placement,
      avoided: this.#pace.avoided(monotonicMs),
    });
    if (move === null) return;
    void this.#carryOut(move, shards.find(({ shard }) => shard === move.shard)!);
  }

  async #carryOut({ shard, to, reason }: Move, { bytes, load, isUnloaded }: OwnedShard): Promise<void> {
    const { clock, log, peers, handOver } = this.#parts;
    const beganMs = clock.monotonicMs();
    this.#pace.began();
    try {
      if (isUnloaded) await handOver.giveUnloaded(shard, to);
      else if ((await peers.offer(to, { bytes, load, reason })) === null) {
        log.info({ shard, to, reason, bytes }, 'moving a shard');
        await handOver.move(shard, to);
      } else return this.#pace.refused(to, clock.monotonicMs());
      this.#pace.ended(isUnloaded ? 0 : bytes, beganMs, clock.monotonicMs());
    } catch (error) {
      log.warn({ err: error, shard, to }, 'could not move a shard');
      this.#pace.failed(to, clock.monotonicMs());
    }
  }

  #sampled(all: NodeShard[], monotonicMs: number): OwnedShard[] {
    const keys = new Set(all.map(({ shard }) => shard));
    for (const key of this.#held.keys()) if (!keys.has(key)) this.#held.delete(key);
    const shards = all.map(({ shard, bytes, busyMs, followers }) => {
      let held = this.#held.get(shard);
      if (!held) {
        held = { sinceMs: monotonicMs, load: loadAverage(monotonicMs, busyMs) };
        this.#held.set(shard, held);
      }
      const load = held.load(busyMs, monotonicMs);
      return { shard, bytes, load, heldForMs: monotonicMs - held.sinceMs, followers, isUnloaded: busyMs === null };
    });
    this.#parts.pool.busyThreads = shards.reduce((total, { load }) => total + load, 0);
    return shards;
  }

  /** Combines the use that other nodes publish with this node's current use. */
  #use(): ClusterUsage {
    const { peers, live } = this.#parts;
    const others = live().flatMap(({ node, draining, use }) =>
      use === undefined || node === peers.node ? [] : [{ node, draining, ...use }],
    );
    return new ClusterUsage([...others, this.#parts.own()]);
  }
}
