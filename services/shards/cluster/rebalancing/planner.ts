/**
 * Which shard a node gives away next, and to whom: from a node that holds far more than the mean
 * (by memory or by worker threads), else a shard that is not at its home, the first node in its
 * order. A node that leaves plans nothing: its drain gives away what it has.
 *
 * Promises, as long as sizes stay as they are: it comes to rest, since no target goes above OVER by
 * a relief nor above HOME by a home move; no shard goes back and forth, since GIVE lies a tenth of
 * the mean above HOME; the same view gives the same move. How it fails: with an old view the
 * target, which knows itself, refuses (`arrival.ts`). See docs/internals/placement.md.
 */
import {
  type ClusterUse,
  hasRoom,
  isPressed,
  type NodeUse,
  type ShardUse,
  type UsedParts,
} from '../../../../lib/placement/cluster-use.ts';
import type { Placement } from '../../../../lib/placement/placement.ts';
import type { ShardKey } from '../../../../lib/shard/key.ts';

/** In multiples of the mean. */
const OVER = 1.25;
const GIVE = 1.15;
const HOME = 1.05;
const UNDER = 0.75;
/** What a relief must gain at least: the target stays this much below what the node had. */
const GAIN = 0.1;
const REST_MS = 120_000;

/** A shard that the node holds. */
export interface OwnedShard extends ShardUse {
  shard: ShardKey;
  /** Since it was claimed. */
  heldForMs: number;
  /** Nodes that follow it: they have it in memory. */
  followers: readonly string[];
  /** It is not in memory: nobody has asked for it for long. */
  rests?: boolean;
}

export interface RebalancingView {
  /** This node. */
  node: string;
  shards: readonly OwnedShard[];
  use: ClusterUse;
  placement: Placement;
  /** Nodes that refused a shard or could not be reached a moment ago. */
  avoided: ReadonlySet<string>;
}

export interface Move {
  shard: ShardKey;
  to: string;
  reason: MoveReason;
}

export type MoveReason = 'memory' | 'load' | 'home';

type Resource = keyof UsedParts;

/** What the node should do next; null when all is well or nothing can be done. */
export function nextMove(view: RebalancingView): Move | null {
  const own = view.use.get(view.node);
  if (own === null || own.draining) return null;
  const { memory, workers } = view.use.relative(own);
  // What relieves the worse of the two often relieves the other as well.
  const [worse, other]: Resource[] = memory >= workers ? ['memory', 'workers'] : ['workers', 'memory'];
  return relieve(view, own, worse) ?? relieve(view, own, other) ?? (isPressed(own) ? null : goHome(view));
}

/** In multiples of the mean, the most that a node may come to by taking a shard. */
export function ceilingOf(reason: MoveReason): number {
  return reason === 'home' ? HOME : OVER;
}

function relieve(view: RebalancingView, own: NodeUse, resource: Resource): Move | null {
  const { use, placement } = view;
  const relative = use.relative(own)[resource];
  if (relative <= GIVE) return null;
  const isOver = relative > OVER;
  const under = use.below(resource, UNDER).filter((node) => node !== view.node && !view.avoided.has(node));
  if (!isOver && under.length === 0) return null;
  for (const shard of byFit(view, own, resource, relative - (isOver ? OVER : GIVE))) {
    // A follower that becomes the holder is followed in turn: that frees no memory here.
    const helps = (node: string): boolean => resource === 'workers' || !shard.followers.includes(node);
    const gains = (node: string): boolean =>
      use.relative(use.get(node)!, taken(shard, node))[resource] <= relative - GAIN;
    // Nothing is copied for one that rests: it is left to its home, where callers without its
    // owner's row look for it as well.
    const isPlace = (node: string): boolean => !shard.rests || placement.preferred(shard.shard) === node;
    const fits = (node: string, bound: number): boolean =>
      isPlace(node) && helps(node) && staysBelow(view, node, shard, bound) && isOpenTo(view, node, shard);
    let to = placement.firstOf(shard.shard, under, (node) => fits(node, HOME));
    if (to === null && isOver) to = placement.first(shard.shard, (node) => fits(node, OVER) && gains(node));
    if (to !== null) return { shard: shard.shard, to, reason: resource === 'memory' ? 'memory' : 'load' };
  }
  return null;
}

/**
 * Shards whose leaving relieves the node: the smallest that is enough by itself first, then the
 * largest of those that are not.
 */
function byFit(view: RebalancingView, own: NodeUse, resource: Resource, excess: number): OwnedShard[] {
  const { mean } = view.use;
  const sizeOf = ({ bytes, load }: OwnedShard): number =>
    resource === 'memory' ? bytes / own.memoryLimitBytes / mean.memory : load / own.workers / mean.workers;
  const movable = view.shards.filter((shard) => shard.heldForMs >= REST_MS && sizeOf(shard) > 0);
  const enough = movable.filter((shard) => sizeOf(shard) >= excess).sort((a, b) => sizeOf(a) - sizeOf(b));
  const small = movable.filter((shard) => sizeOf(shard) < excess).sort((a, b) => sizeOf(b) - sizeOf(a));
  return [...enough, ...small];
}

function goHome(view: RebalancingView): Move | null {
  for (const shard of view.shards) {
    const home = view.placement.preferred(shard.shard);
    if (home === null || home === view.node || shard.heldForMs < REST_MS) continue;
    if (isOpenTo(view, home, shard) && staysBelow(view, home, shard, HOME))
      return { shard: shard.shard, to: home, reason: 'home' };
  }
  return null;
}

function isOpenTo(view: RebalancingView, node: string, shard: OwnedShard): boolean {
  const use = view.use.get(node);
  return node !== view.node && use !== null && !view.avoided.has(node) && hasRoom(use, taken(shard, node));
}

/** Whether the target's use stays within bounds, of memory and of worker threads. */
function staysBelow({ use }: RebalancingView, node: string, shard: OwnedShard, bound: number): boolean {
  const { memory, workers } = use.relative(use.get(node)!, taken(shard, node));
  return memory <= bound && workers <= bound;
}

/** What the target takes on: a follower has the shard in memory already. */
function taken(shard: OwnedShard, node: string): ShardUse {
  return { bytes: shard.followers.includes(node) ? 0 : shard.bytes, load: shard.load };
}
