/**
 * This node among the shard nodes: its own lease, its watch over the leases of the others, and the
 * claims made under both.
 *
 * Promises: a holder whose process is known to be gone, or whose beat stood still for long enough,
 * is found within a second by the nodes that watch it or want something that it holds, and its
 * lease ended in the store, so that every other node may take its shards at once; `onDead` tells of
 * its node, unless that lives on under another lease. How it fails: while the store cannot be
 * reached nobody is judged, this node's own lease runs out, and it serves nothing until the store
 * is back.
 */
import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import { Placement, WEIGHT_UNSAID } from '../../../../lib/placement/placement.ts';
import { isAlive, type ProcessIdentity } from '../../../../lib/process/process-identity.ts';
import type { LeaseRow, LeaseUse } from '../../../../lib/store/owners.ts';
import type { Store } from '../../../../lib/store/port.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import { SYSTEM_TIMERS, type Timers } from '../../../../lib/time/timers.ts';
import { type CutOff, LeaseKeeper } from './lease-keeper.ts';
import { LeaseObserver } from './lease-observer.ts';
import { HEARD_LATER_FOR_MS, HEARD_LATER_MS, SILENCE_MAX_MS } from './lease-terms.ts';
import { LeaseWatch } from './lease-watch.ts';
import { Ownership } from './ownership.ts';

export interface MembershipOptions {
  store: Pick<Store, 'owners' | 'leases' | 'log'>;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Default: the system's. */
  timers?: Timers;
  node: string;
  process: ProcessIdentity;
  log: Logger;
  /** What this node has in memory, and could, for the others to know. */
  use(): LeaseUse;
  /**
   * For how long this node has heard nothing of any other, in milliseconds. Default: not at all.
   */
  silenceMs?(): number;
}

export interface MembershipEvents {
  /** The own lease is over: everything that was held under it must be dropped at once. */
  lost: [];
  /** Another node was found dead. */
  dead: [node: string];
}

export class Membership {
  readonly events = new EventEmitter<MembershipEvents>();
  readonly ownership: Ownership;
  readonly node: string;
  readonly #options: MembershipOptions;
  readonly #keeper: LeaseKeeper;
  readonly #watch: LeaseWatch;
  readonly #observer: LeaseObserver;
  #placement = new Placement([]);
  /** The first time known of that another node heard something well after this one did. */
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
        const cutOff = this.#cutOff();
        if (cutOff === 'yes' && this.#keeper.holder !== null)
          log.warn('this node hears no other node, but they hear each other; giving up its shards');
        return cutOff;
      },
      onLost: () => {
        log.warn('this node lost its lease; letting go of its shards');
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

  /** Takes the first lease; throws StoreError. */
  async start(): Promise<void> {
    await this.#keeper.start();
    await this.#observer.start();
  }

  get hasLease(): boolean {
    return this.#keeper.holder !== null;
  }

  /** What this node holds, with what is in memory no more, and could. */
  use(): LeaseUse {
    const use = this.#options.use();
    const resting = this.ownership.resting().reduce((total, { bytes }) => total + bytes, 0);
    return { ...use, bytes: use.bytes + resting };
  }

  get draining(): boolean {
    return this.#keeper.draining;
  }

  /** Names of the nodes that may be given shards: alive and not about to leave. */
  takers(): string[] {
    return this.placement.nodes.map(({ node }) => node);
  }

  /** The order of the takers for each shard, weighted by the memory that they have. */
  get placement(): Placement {
    const weights = new Map<string, number>();
    for (const { node, draining, use } of this.live())
      if (!draining) weights.set(node, use?.memoryLimitBytes ?? weights.get(node) ?? WEIGHT_UNSAID);
    this.#placement = this.#placement.with([...weights].map(([node, weight]) => ({ node, weight })));
    return this.#placement;
  }

  live(): LeaseRow[] {
    return this.#watch.live();
  }

  /** Learns of nodes that came or changed a moment ago. Throws StoreError. */
  refresh(): Promise<void> {
    return this.#observer.readAll();
  }

  /** Tells the others that this node takes no more shards. Throws StoreError. */
  async drain(): Promise<void> {
    await this.#keeper.drain();
    // Who takes them must be known by now; with what was known before if that cannot be had.
    await this.refresh().catch(() => undefined);
  }

  /** Ends the lease; everything held under it must have been let go. */
  async stop(): Promise<void> {
    this.#observer.stop();
    await this.#keeper.stop();
  }

  #silenceMs(): number {
    return Math.round(this.#options.silenceMs?.() ?? 0);
  }

  /**
   * Nobody has been heard for long, and for a while others have heard each other: not at once,
   * because after an outage of what carries calls every node hears the others again at a time of
   * its own.
   */
  #cutOff(): CutOff {
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

  /** When each of the others last heard of one, by what its lease says. */
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

  /** Only a process of this machine can be asked for. */
  async #isGone({ incarnation, process }: LeaseRow): Promise<boolean> {
    if (process.place !== this.#options.process.place || incarnation === this.#keeper.holder?.incarnation) return false;
    return (await isAlive(process)) === false;
  }
}
