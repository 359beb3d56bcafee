/**
 * Tells other nodes to follow the shards of replicated collections, and tracks how far they are.
 *
 * Guarantees: every follower learns of a commit within a fraction of a second, and of the shard
 * every few seconds even without writes. Nothing waits for a follower. On failure: a node that does
 * not respond stays a follower until its lease ends; then the next node in the order replaces it.
 */
import type { Placement } from '../../../lib/placement/placement.ts';
import type { ShardKey } from '../../../lib/shard/key.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import type { ShardActor } from '../shard/actor.ts';
import type { Peers } from './peers.ts';

const NOTIFY_EVERY_MS = 2_000;
const COMMIT_NOTIFY_DELAY_MS = 25;

export interface Follower {
  node: string;
  /** Seq of its copy. Null while the copy is being made or if the node did not respond. */
  seq: number | null;
}

interface FollowersOptions {
  peers: Pick<Peers, 'node' | 'isReachable' | 'follow'>;
  /** Nodes that may receive shards, in placement order. */
  placement(): Placement;
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
      this.#cancel = this.#options.timers.after(NOTIFY_EVERY_MS, turn);
      const open = this.#options.open();
      const keys = new Set(open.map(({ key }) => key));
      for (const key of this.#followers.keys()) if (!keys.has(key)) this.#followers.delete(key);
      for (const actor of open) this.#notify(actor);
    };
    turn();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    for (const cancel of this.#due.values()) cancel();
  }

  /** Notifies the followers of a commit. Commits close together share one notification. */
  committed(actor: ShardActor): void {
    if (this.#stopped || !actor.spec.replicas || this.#due.has(actor.key)) return;
    const cancel = this.#options.timers.after(COMMIT_NOTIFY_DELAY_MS, () => {
      this.#due.delete(actor.key);
      this.#notify(actor);
    });
    this.#due.set(actor.key, cancel);
  }

  of(key: ShardKey): Follower[] {
    return [...(this.#followers.get(key) ?? [])].map(([node, seq]) => ({ node, seq }));
  }

  #notify(actor: ShardActor): void {
    const count = actor.spec.replicas ?? 0;
    if (count === 0 || this.#stopped) return;
    const known = this.#followers.get(actor.key);
    const followers = new Map(this.#chosen(actor.key, count).map((node) => [node, known?.get(node) ?? null]));
    this.#followers.set(actor.key, followers);
    const isAt = (node: string, seq: number | null): void => {
      // A newer notification may have replaced the set of followers.
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

  /**
   * Returns the next nodes in the shard's placement order. The first of them takes over the shard.
   */
  #chosen(key: ShardKey, count: number): string[] {
    const { peers, placement } = this.#options;
    return placement().order(key, count, (node) => node !== peers.node && peers.isReachable(node));
  }
}
