/**
 * One node's view of all shard nodes: which node should hold a shard, and which should follow it.
 *
 * Promises: while there is a node, a shard gets one. Every node with the same view gives the same
 * answer. Nothing here moves a shard that is held: its holder keeps it until that node's planner
 * gives it away.
 * How it fails: with an old view it names a node that is gone or full. With different views callers
 * may name different nodes, and the compare-and-set on the owner's row lets one of them have the
 * shard.
 * See docs/internals/placement.md.
 */

import type { ShardKey } from '../shard/key.ts';
import { ClusterUse, hasRoom, type NodeUse, type ShardUse } from './cluster-use.ts';
import { Placement } from './placement.ts';

/** In multiples of the mean: beyond it a node is passed over. */
const FULL = 1.25;
/** Of a shard that nobody holds it is not known how large it is. */
const UNKNOWN: ShardUse = { bytes: 1, load: 0 };

export class ClusterView {
  #use = new ClusterUse([]);
  #placement: Placement;

  /** `placement`: hashes that somebody has computed before are not computed again. */
  constructor(placement: Placement = new Placement([])) {
    this.#placement = placement;
  }

  get use(): ClusterUse {
    return this.#use;
  }

  get placement(): Placement {
    return this.#placement;
  }

  /** Takes in what the live shard nodes say of themselves. */
  update(nodes: Iterable<NodeUse>): void {
    this.#use = new ClusterUse(nodes);
    this.#placement = this.#placement.with(this.#use.staying());
  }

  /** A shard went from one node to another after they told of themselves. */
  moved(from: string, to: string, shard: ShardUse): void {
    this.#use = this.#use.after(from, to, shard);
  }

  /**
   * Where a shard that nobody holds should be held; null when every node is excluded. `followers`
   * have it in memory already.
   */
  nodeFor(
    shard: ShardKey,
    followers: readonly string[] = [],
    isExcluded = (_node: string): boolean => false,
  ): string | null {
    const isCandidate = (node: string): boolean => !isExcluded(node) && this.#use.get(node)?.draining === false;
    const follower = followers.find(isCandidate);
    if (follower !== undefined) return follower;
    const preferred = this.#placement.preferred(shard);
    if (preferred !== null && isCandidate(preferred) && this.#isGood(preferred)) return preferred;
    return (
      this.#placement.first(shard, (node) => isCandidate(node) && this.#isGood(node)) ??
      this.#placement.first(shard, (node) => isCandidate(node) && hasRoom(this.#use.get(node)!, UNKNOWN)) ??
      this.#placement.first(shard, isCandidate)
    );
  }

  /**
   * Who should follow a shard: those of `current` that stay, then the next ones in the shard's
   * order that have room; never the holder, never a node twice, fewer than `count` when there are
   * no more. The holder alone decides it, so two views cannot both be followed.
   */
  replicas(shard: ShardKey, holder: string, count: number, current: readonly string[], size: ShardUse): string[] {
    const isStaying = (node: string): boolean => node !== holder && this.#use.get(node)?.draining === false;
    const kept = [...new Set(current)].filter(isStaying).slice(0, count);
    const isTaken = (node: string): boolean => node === holder || kept.includes(node);
    const follow = { bytes: size.bytes, load: 0 };
    const more = this.#placement.order(shard, count - kept.length, (node) => {
      const use = this.#use.get(node);
      return !isTaken(node) && use !== null && hasRoom(use, follow);
    });
    return [...kept, ...more];
  }

  #isGood(node: string): boolean {
    const use = this.#use.get(node);
    if (use === null || !hasRoom(use, UNKNOWN)) return false;
    const { memory, workers } = this.#use.relative(use);
    return memory <= FULL && workers <= FULL;
  }
}
