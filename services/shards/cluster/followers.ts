/**
 * Has the shards of replicated collections followed by other nodes, and knows how far these are.
 *
 * Promises: every follower hears of each commit within a fraction of a second, and of the shard
 * every few seconds even when nothing is written; nothing waits for a follower. How it fails: a
 * node that does not answer is left to its lease; what it followed is followed by the next one when
 * it is gone.
 */
import type { Placement } from '../../../lib/placement/placement.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { Peers } from './peers.ts';

const TELL_EVERY_MS = 2_000;
const TELL_COMMITS_AFTER_MS = 25;

export interface Follower {
  node: string;
  /** Null while its copy is being made, or when it did not answer. */
  seq: number | null;
}

interface FollowersOptions {
  peers: Pick<Peers, 'node' | 'isThere' | 'follow'>;
  /** The order of the nodes that may be given shards. */
  placement(): Placement;
  /** Open shards. */
  open(): ShardActor[];
  timers: Timers;
}

export class Followers {
  readonly #options: FollowersOptions;
  readonly #followers = new Map<ShardKey, Map<string, number | null>>();
  readonly #due = new Map<ShardKey, () => void>();
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: FollowersOptions) {
    this.#options = options;
  }

  start(): void {
    const turn = (): void => {
      if (this.#stopped) return;
      this.#cancel = this.#options.timers.after(TELL_EVERY_MS, turn);
      const open = this.#options.open();
      const keys = new Set(open.map(({ key }) => key));
      for (const key of this.#followers.keys()) if (!keys.has(key)) this.#followers.delete(key);
      for (const actor of open) this.#tell(actor);
    };
    turn();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    for (const cancel of this.#due.values()) cancel();
  }

  /** Commits that come close together are told of once. */
  committed(actor: ShardActor): void {
    if (this.#stopped || !actor.spec.replicas || this.#due.has(actor.key)) return;
    const cancel = this.#options.timers.after(TELL_COMMITS_AFTER_MS, () => {
      this.#due.delete(actor.key);
      this.#tell(actor);
    });
    this.#due.set(actor.key, cancel);
  }

  of(key: ShardKey): Follower[] {
    return [...(this.#followers.get(key) ?? [])].map(([node, seq]) => ({ node, seq }));
  }

  #tell(actor: ShardActor): void {
    const count = actor.spec.replicas ?? 0;
    if (count === 0 || this.#stopped) return;
    const known = this.#followers.get(actor.key);
    const followers = new Map(this.#chosen(actor.key, count).map((node) => [node, known?.get(node) ?? null]));
    this.#followers.set(actor.key, followers);
    const isAt = (node: string, seq: number | null): void => {
      // Another telling may have begun meanwhile.
      const now = this.#followers.get(actor.key);
      if (now?.has(node)) now.set(node, seq);
    };
    for (const node of followers.keys()) {
      this.#options.peers.follow(node, actor.spec, actor.head.seq).then(
        ({ seq }) => isAt(node, seq),
        () => isAt(node, null),
      );
    }
  }

  /** The next nodes in the shard's order, so that the first of them is the one that takes over. */
  #chosen(key: ShardKey, count: number): string[] {
    const { peers, placement } = this.#options;
    return placement().order(key, count, (node) => node !== peers.node && peers.isThere(node));
  }
}
