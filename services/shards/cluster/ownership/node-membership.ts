/**
 * This node's membership in the cluster of shard nodes: its own lease, its watch over the other
 * leases, and the claims made under both.
 *
 * Guarantees: when a holder's process is known to have ended, or its beat has stood still for long
 * enough, a node that watches it or wants one of its shards notices within a second and ends its
 * lease, so that any node may take its shards. The `dead` event names the node, unless it already
 * has a new lease. On failure: while the store is down no lease is declared dead, this node's own
 * lease expires, and the node serves nothing until the store is back.
 */
import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import { isAlive, type ProcessIdentity } from '../../../../lib/host/process-identity.ts';
import { DEFAULT_WEIGHT, Placement } from '../../../../lib/placement/placement.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import { SYSTEM_TIMERS, type Timers } from '../../../../lib/time/timers.ts';
import type { LeaseRow, LeaseUse } from '../../../../store/owners.ts';
import type { Store } from '../../../../store/port.ts';
import { type Isolation, LeaseKeeper } from './lease-keeper.ts';
import { LeaseObserver } from './lease-observer.ts';
import { HEARD_LATER_FOR_MS, HEARD_LATER_MS, SILENCE_MAX_MS } from './lease-terms.ts';
import { LeaseWatch } from './lease-watch.ts';
import { Ownership } from './ownership.ts';

export interface MembershipOptions {
  store: Pick<Store, 'owners' | 'leases' | 'log'>;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Default: the system's timers. */
  timers?: Timers;
  node: string;
  process: ProcessIdentity;
  log: Logger;
  /** This node's memory use and capacity, published to the other nodes. */
  use(): LeaseUse;
  /** Time since this node last heard from any other node, in ms. Default: 0. */
  silenceMs?(): number;
}

export interface MembershipEvents {
  /** This node's lease is over: everything held under it must be dropped at once. */
  lost: [];
  /** Another node was found dead. */
  dead: [node: string];
}

export class NodeMembership {
  readonly events = new EventEmitter<MembershipEvents>();
  readonly ownership: Ownership;
  readonly node: string;
  readonly #options: MembershipOptions;
  readonly #keeper: LeaseKeeper;
  readonly #watch: LeaseWatch;
  readonly #observer: LeaseObserver;
  #placement = new Placement([]);
  /** Earliest known time at which another node heard something well after this node last did. */
  #othersHeardSinceMs = Number.POSITIVE_INFINITY;

  constructor(options: MembershipOptions) {
    const { store, clock, timers = SYSTEM_TIMERS, node, process, log } = options;
    this.node = node;
    this.#options = options;
    this.#watch = new LeaseWatch(clock);
    this.#keeper = new LeaseKeeper({
      leases: store.leases,
      clock,
      timers,
      self: { node, process },
      use: () => ({ ...this.use(), silenceMs: this.#silenceMs() }),
      cutOff: () => {
        const cutOff = this.#isolation();
        if (cutOff === 'yes' && this.#keeper.holder !== null)
          log.warn(
            'this node receives nothing from the other nodes, but they receive from each other; giving up its shards',
          );
        return cutOff;
      },
      onLost: () => {
        log.warn('this node lost its lease; releasing its shards');
        this.ownership.forget();
        this.events.emit('lost');
      },
    });
    this.#observer = new LeaseObserver({
      leases: store.leases,
      watch: this.#watch,
      clock,
      timers,
      own: () => this.#keeper.holder?.incarnation ?? null,
      isGone: (row) => this.#isGone(row),
      onDead: (row) => this.#found(row),
    });
    this.ownership = new Ownership({
      owners: store.owners,
      log: store.log,
      keeper: this.#keeper,
      isOver: (incarnation) => this.#observer.isOver(incarnation),
    });
  }

  /** Takes the first lease. Throws StoreError. */
  async start(): Promise<void> {
    await this.#keeper.start();
    await this.#observer.start();
  }

  get hasLease(): boolean {
    return this.#keeper.holder !== null;
  }

  /** Returns this node's usage and capacity; unloaded shards count as used. */
  use(): LeaseUse {
    const use = this.#options.use();
    const unloadedBytes = this.ownership.unloadedShards().reduce((total, { bytes }) => total + bytes, 0);
    return { ...use, bytes: use.bytes + unloadedBytes };
  }

  get draining(): boolean {
    return this.#keeper.draining;
  }

  /** Nodes that may receive shards: alive and not draining. */
  eligibleNodes(): string[] {
    return this.placement.nodes.map(({ node }) => node);
  }

  /** Placement order of those nodes, weighted by their memory. */
  get placement(): Placement {
    const weights = new Map<string, number>();
    for (const { node, draining, use } of this.live())
      if (!draining) weights.set(node, use?.memoryLimitBytes ?? weights.get(node) ?? DEFAULT_WEIGHT);
    this.#placement = this.#placement.with([...weights].map(([node, weight]) => ({ node, weight })));
    return this.#placement;
  }

  live(): LeaseRow[] {
    return this.#watch.live();
  }

  /** Reads the leases now, to learn of recent changes. Throws StoreError. */
  refresh(): Promise<void> {
    return this.#observer.readAll();
  }

  /** Announces that this node takes no more shards. Throws StoreError. */
  async drain(): Promise<void> {
    await this.#keeper.drain();
    // Read the leases now to know which nodes can take the shards; if that fails, use what is
    // known.
    await this.refresh().catch(() => undefined);
  }

  /** Ends the lease. Everything held under it must have been released. */
  async stop(): Promise<void> {
    this.#observer.stop();
    await this.#keeper.stop();
  }

  #silenceMs(): number {
    return Math.round(this.#options.silenceMs?.() ?? 0);
  }

  /**
   * A node is isolated if it has heard nothing for long while others have heard each other for some
   * time. The delay is needed because nodes reconnect at different moments after a transport
   * outage.
   */
  #isolation(): Isolation {
    const silenceMs = this.#silenceMs();
    const monotonicMs = this.#options.clock.monotonicMs();
    const othersHeardMs = Math.max(...this.#othersHeardMs(monotonicMs));
    if (othersHeardMs < monotonicMs - silenceMs + HEARD_LATER_MS) {
      this.#othersHeardSinceMs = Number.POSITIVE_INFINITY;
      return 'no';
    }
    this.#othersHeardSinceMs = Math.min(this.#othersHeardSinceMs, othersHeardMs);
    const isCertain = silenceMs >= SILENCE_MAX_MS && monotonicMs - this.#othersHeardSinceMs >= HEARD_LATER_FOR_MS;
    return isCertain ? 'yes' : 'maybe';
  }

  /** When each other node last heard from any node, according to its lease. */
  #othersHeardMs(monotonicMs: number): number[] {
    return this.#watch
      .sightings()
      .flatMap(({ row: { node, use }, ageMs }) =>
        node === this.node || use?.silenceMs === undefined ? [] : [monotonicMs - ageMs - use.silenceMs],
      );
  }

  #found({ node }: LeaseRow): void {
    if (this.live().some((row) => row.node === node)) return;
    this.#options.log.warn({ node }, 'a shard node is dead');
    this.events.emit('dead', node);
  }

  /** Only processes on this machine can be checked. */
  async #isGone({ incarnation, process }: LeaseRow): Promise<boolean> {
    if (process.place !== this.#options.process.place || incarnation === this.#keeper.holder?.incarnation) return false;
    return (await isAlive(process)) === false;
  }
}
