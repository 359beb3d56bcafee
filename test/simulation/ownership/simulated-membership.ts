import { Placement } from '../../../lib/placement/placement.ts';
import { LeaseKeeper } from '../../../services/shards/cluster/ownership/lease-keeper.ts';
import { LeaseObserver } from '../../../services/shards/cluster/ownership/lease-observer.ts';
import { LeaseWatch } from '../../../services/shards/cluster/ownership/lease-watch.ts';
import { Ownership } from '../../../services/shards/cluster/ownership/ownership.ts';
import { Replicas } from '../../../services/shards/cluster/replicas.ts';
import type { Claim } from '../../../services/shards/memory/claims.ts';
import type { LeaseRow } from '../../../store/owners.ts';
import type { Store } from '../../../store/port.ts';
import type { NodeTime } from './virtual-time.ts';

/**
 * Classes that decide which node may serve, and that keep copies. Tests replace them with faulty
 * ones.
 */
export interface Parts {
  Keeper: typeof LeaseKeeper;
  Watch: typeof LeaseWatch;
  Owner: typeof Ownership;
  Copies: typeof Replicas;
}

export interface MembershipOptions {
  node: string;
  time: NodeTime;
  store: Store;
  newId(): string;
  parts: Parts;
  onLost(): void;
  onClaim(claim: Claim): void;
}

/** Rare, as in a large cluster: other reads return only some leases. */
const LIST_EVERY_MS = 3_000;

/** Small, because a large table takes long to allocate and a run has few leases. */
const OVER_MAX = 200;

export const SOUND: Parts = { Keeper: LeaseKeeper, Watch: LeaseWatch, Owner: Ownership, Copies: Replicas };

/**
 * A node's lease, its watch over other leases, and its claims, assembled as in the product, except
 * for the processes of real machines.
 */
export class SimulatedMembership {
  readonly node: string;
  readonly ownership: Ownership;
  readonly #keeper: LeaseKeeper;
  readonly #watch: LeaseWatch;
  readonly #observer: LeaseObserver;

  constructor({ node, time, store, newId, parts, onLost, onClaim }: MembershipOptions) {
    const { leases, owners, log } = store;
    this.node = node;
    this.#watch = new parts.Watch(time, OVER_MAX);
    this.#keeper = new parts.Keeper({
      leases,
      clock: time,
      timers: time,
      self: { node, process: { pid: 0, startedAt: null, place: node } },
      onLost: () => {
        this.ownership.forget();
        onLost();
      },
      newIncarnation: newId,
    });
    this.#observer = new LeaseObserver({
      leases,
      watch: this.#watch,
      clock: time,
      timers: time,
      own: () => this.#keeper.holder?.incarnation ?? null,
      isGone: async () => false,
      onDead: () => undefined,
      listEveryMs: () => LIST_EVERY_MS,
    });
    this.ownership = new parts.Owner({
      owners,
      log,
      keeper: this.#keeper,
      isOver: (incarnation) => this.#observer.isOver(incarnation),
      newEntryId: newId,
    });
    const acquire = this.ownership.acquire.bind(this.ownership);
    this.ownership.acquire = async (shard) => {
      const claim = await acquire(shard);
      onClaim(claim);
      return claim;
    };
  }

  async start(): Promise<void> {
    void this.#observer.start();
    await this.#keeper.start();
  }

  get draining(): boolean {
    return this.#keeper.draining;
  }

  live(): LeaseRow[] {
    return this.#watch.live();
  }

  eligibleNodes(): string[] {
    return this.placement.nodes.map(({ node }) => node);
  }

  get placement(): Placement {
    const nodes = new Set(this.live().flatMap(({ node, draining }) => (draining ? [] : [node])));
    return new Placement([...nodes].map((node) => ({ node, weight: 1 })));
  }

  async drain(): Promise<void> {
    await this.#keeper.drain();
  }

  async stop(): Promise<void> {
    this.#observer.stop();
    await this.#keeper.stop();
  }
}
