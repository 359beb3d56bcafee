/**
 * Chooses which shard a node gives away next, and to which node. First choice is relief: the node
 * is far above the mean in memory or worker threads. Second is moving a shard to its home, the
 * first node in its placement order. A draining node plans nothing.
 *
 * Guarantees, while sizes stay the same: planning terminates, because relief lifts no target above
 * OVER and home moves none above HOME. No shard moves back and forth, because GIVE is a tenth of
 * the mean above HOME. The same view gives the same move. On failure: if the view is old, the
 * target refuses (`shard-offer.ts`). See docs/internals/placement.md.
 */
import {
  type ClusterUsage,
  hasRoom,
  isOverloaded,
  type NodeUsage,
  type ShardUsage,
  type UsedFractions,
} from '../../../../lib/placement/cluster-usage.ts';
import type { Placement } from '../../../../lib/placement/placement.ts';
import type { ShardKey } from '../../../../lib/shard/key.ts';

/** Thresholds, as multiples of the mean. */
const OVER = 1.25;
const GIVE = 1.15;
const HOME = 1.05;
const UNDER = 0.75;
/** Minimum gain of a relief: the target stays this far below what the giver had. */
const GAIN = 0.1;
const REST_MS = 120_000;

/** A shard that this node holds. */
export interface OwnedShard extends ShardUsage {
  shard: ShardKey;
  /** Time since it was claimed, in ms. */
  heldForMs: number;
  /** Nodes that follow it and so have it in memory. */
  followers: readonly string[];
  /** Whether it is held, but not in memory. */
  isUnloaded?: boolean;
}

export interface RebalancingView {
  /** Name of this node. */
  node: string;
  shards: readonly OwnedShard[];
  use: ClusterUsage;
  placement: Placement;
  /** Nodes that recently refused a shard or could not be reached. */
  avoided: ReadonlySet<string>;
}

export interface Move {
  shard: ShardKey;
  to: string;
  reason: MoveReason;
}

export type MoveReason = 'memory' | 'load' | 'home';

type Resource = keyof UsedFractions;

/** Returns the node's next move, or null if none is needed or possible. */
export function nextMove(view: RebalancingView): Move | null {
  const own = view.use.get(view.node);
  if (own === null || own.draining) return null;
  const { memory, workers } = view.use.relative(own);
  // Relieving the more heavily used resource often relieves the other one too.
  const [worse, other]: [Resource, Resource] = memory >= workers ? ['memory', 'workers'] : ['workers', 'memory'];
  return relieve(view, own, worse) ?? relieve(view, own, other) ?? (isOverloaded(own) ? null : goHome(view));
}

/** The most a node may reach by taking a shard, as a multiple of the mean. */
export function ceilingOf(reason: MoveReason): number {
  return reason === 'home' ? HOME : OVER;
}

function relieve(view: RebalancingView, own: NodeUsage, resource: Resource): Move | null {
  const { use, placement } = view;
  const relative = use.relative(own)[resource];
  if (relative <= GIVE) return null;
  const isOver = relative > OVER;
  const under = use.below(resource, UNDER).filter((node) => node !== view.node && !view.avoided.has(node));
  if (!isOver && under.length === 0) return null;
  for (const shard of byFit(view, own, resource, relative - (isOver ? OVER : GIVE))) {
    // A follower that becomes the holder is followed in turn by this node, which frees no memory
    // here.
    const helps = (node: string): boolean => resource === 'workers' || !shard.followers.includes(node);
    const gains = (node: string): boolean => {
      const target = use.get(node);
      return target !== null && use.relative(target, addedUse(shard, node))[resource] <= relative - GAIN;
    };
    // An unloaded shard goes only to its home. Nothing is copied, and callers without its owner's
    // row look there anyway.
    const isPlace = (node: string): boolean => !shard.isUnloaded || placement.preferred(shard.shard) === node;
    const fits = (node: string, bound: number): boolean =>
      isPlace(node) && helps(node) && staysBelow(view, node, shard, bound) && canTake(view, node, shard);
    let to = placement.firstOf(shard.shard, under, (node) => fits(node, HOME));
    if (to === null && isOver) to = placement.first(shard.shard, (node) => fits(node, OVER) && gains(node));
    if (to !== null) return { shard: shard.shard, to, reason: resource === 'memory' ? 'memory' : 'load' };
  }
  return null;
}

/**
 * Orders the shards that can relieve the node: those large enough on their own first, smallest
 * first, then the smaller ones, largest first.
 */
function byFit(view: RebalancingView, own: NodeUsage, resource: Resource, excess: number): OwnedShard[] {
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
    if (canTake(view, home, shard) && staysBelow(view, home, shard, HOME))
      return { shard: shard.shard, to: home, reason: 'home' };
  }
  return null;
}

function canTake(view: RebalancingView, node: string, shard: OwnedShard): boolean {
  const use = view.use.get(node);
  return node !== view.node && use !== null && !view.avoided.has(node) && hasRoom(use, addedUse(shard, node));
}

/** Whether the target's memory and worker use both stay within `bound`. */
function staysBelow({ use }: RebalancingView, node: string, shard: OwnedShard, bound: number): boolean {
  const target = use.get(node);
  if (target === null) return false;
  const { memory, workers } = use.relative(target, addedUse(shard, node));
  return memory <= bound && workers <= bound;
}

/** What the target takes on. A follower already has the shard in memory. */
function addedUse(shard: OwnedShard, node: string): ShardUsage {
  return { bytes: shard.followers.includes(node) ? 0 : shard.bytes, load: shard.load };
}
