/**
 * Lets the shards of a worker replace graphs of an earlier version one at a time.
 *
 * A shard holds two graphs while it replaces one. After an upgrade every loaded graph is outdated;
 * replacing them all at once would exhaust the node's memory limit.
 */
import type { HostedShard } from './hosted-shard.ts';

export class GraphUpgrades {
  #current: HostedShard | null = null;
  readonly #waiting = new Set<HostedShard>();

  /** Returns whether the shard may replace its graph now; otherwise it joins the queue. */
  enter(hosted: HostedShard): boolean {
    this.#current ??= hosted;
    if (this.#current !== hosted) this.#waiting.add(hosted);
    return this.#current === hosted;
  }

  /** Removes the shard. Returns the shard whose turn begins now, which the caller must wake. */
  leave(hosted: HostedShard): HostedShard | null {
    this.#waiting.delete(hosted);
    if (this.#current !== hosted) return null;
    const [next = null] = this.#waiting;
    if (next !== null) this.#waiting.delete(next);
    this.#current = next;
    return next;
  }
}
