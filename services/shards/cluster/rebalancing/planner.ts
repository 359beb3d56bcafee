/**
 * Which shard a node gives away next, and to whom.
 *
 * A shard's home is the first node in its order (rendezvous hashing). Shards go home while there is
 * room, and away from nodes that hold too much:
 *
 *   drain    a node that is about to leave gives away what it has, the largest first relieve  a
 *   node above OVER times the mean, or above GIVE while another is below UNDER, gives away the
 *   smallest shard that brings it below, or else the largest home     a shard that is not at home
 *   goes there while the home stays at or below HOME times the mean
 *
 * by memory and by worker threads alike: a target must have room for both. Against placing every
 * shard by bounded-load hashing (Mirrokni, Thorup and Zadimoghaddam 2018): that needs the sizes of
 * all shards on every node and moves shards of third nodes along when one joins; this needs the
 * sums of the nodes alone.
 *
 * Promises, as long as sizes stay as they are:
 * - On a join a node gives shards to the new one alone, those whose home that is; on a leave it
 *   gives away those that it held, to many nodes. Beside this ideal share move: what is above a
 *   bound then, and shards that were away from home and find room there now.
 * - It comes to rest: no target goes above OVER by a relief or above HOME by a home move, so a node
 *   below OVER never goes above it again; a node above only shrinks, so reliefs end, and then each
 *   home move puts a shard where it stays.
 * - No ping-pong: a shard that left its home because that was above GIVE comes back only after the
 *   home lost a tenth of the mean (GIVE - HOME) otherwise; a shard that arrived less than REST_MS
 *   ago moves for a drain only, which bounds how often it moves even when loads jump or views
 *   contradict each other.
 * - It does not starve queries: a node gives one shard at a time and takes one at a time (the
 *   target refuses a second, `arrival.ts`), with pauses between (`move-pace.ts`); nothing goes to a
 *   node that is overloaded or short of memory; a node that is itself so makes no move but those
 *   that relieve or drain it.
 * How it fails: a shard larger than what any node has free stays, and the others leave its node
 * instead. With an old view the target refuses, knowing itself, and the move is planned anew; two
 * nodes never move one shard, since only its holder does. It is deterministic: the same view gives
 * the same move.
 */
import {
  type ClusterUse,
  hasRoom,
  isPressed,
  type NodeUse,
  type ShardUse,
  type UsedParts,
} from '../../../../lib/placement/cluster-use.ts';
import type { ClusterView } from '../../../../lib/placement/cluster-view.ts';
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
  cluster: ClusterView;
  /** Nodes that refused a shard or could not be reached a moment ago. */
  avoided: ReadonlySet<string>;
}

export interface Move {
  shard: ShardKey;
  to: string;
  reason: MoveReason;
}

export type MoveReason = 'drain' | 'memory' | 'load' | 'home';

type Resource = keyof UsedParts;

/** What the node should do next; null when all is well or nothing can be done. */
export function nextMove(view: RebalancingView): Move | null {
  const own = view.cluster.use.get(view.node);
  if (own === null) return null;
  if (own.draining) return drain(view);
  const { memory, workers } = view.cluster.use.relative(own);
  // What relieves the worse of the two often relieves the other as well.
  const [worse, other]: Resource[] = memory >= workers ? ['memory', 'workers'] : ['workers', 'memory'];
  return relieve(view, own, worse) ?? relieve(view, own, other) ?? (isPressed(own) ? null : goHome(view));
}

/** In multiples of the mean, the most that a node may come to by taking a shard. */
export function ceilingOf(reason: MoveReason): number {
  return reason === 'home' ? HOME : OVER;
}

function drain(view: RebalancingView): Move | null {
  const { cluster } = view;
  for (const shard of [...view.shards].sort((a, b) => b.bytes - a.bytes)) {
    const to =
      shard.followers.find((node) => isOpenTo(view, node, shard)) ??
      cluster.placement.first(
        shard.shard,
        (node) => isOpenTo(view, node, shard) && staysBelow(view, node, shard, GIVE),
      ) ??
      cluster.placement.first(shard.shard, (node) => isOpenTo(view, node, shard));
    if (to !== null) return { shard: shard.shard, to, reason: 'drain' };
  }
  return null;
}

function relieve(view: RebalancingView, own: NodeUse, resource: Resource): Move | null {
  const { use, placement } = view.cluster;
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
  const { mean } = view.cluster.use;
  const sizeOf = ({ bytes, load }: OwnedShard): number =>
    resource === 'memory' ? bytes / own.memoryLimitBytes / mean.memory : load / own.workers / mean.workers;
  const movable = view.shards.filter((shard) => shard.heldForMs >= REST_MS && sizeOf(shard) > 0);
  const enough = movable.filter((shard) => sizeOf(shard) >= excess).sort((a, b) => sizeOf(a) - sizeOf(b));
  const small = movable.filter((shard) => sizeOf(shard) < excess).sort((a, b) => sizeOf(b) - sizeOf(a));
  return [...enough, ...small];
}

function goHome(view: RebalancingView): Move | null {
  for (const shard of view.shards) {
    const home = view.cluster.placement.preferred(shard.shard);
    if (home === null || home === view.node || shard.heldForMs < REST_MS) continue;
    if (isOpenTo(view, home, shard) && staysBelow(view, home, shard, HOME))
      return { shard: shard.shard, to: home, reason: 'home' };
  }
  return null;
}

function isOpenTo(view: RebalancingView, node: string, shard: OwnedShard): boolean {
  const use = view.cluster.use.get(node);
  return node !== view.node && use !== null && !view.avoided.has(node) && hasRoom(use, taken(shard, node));
}

/** Whether the target's use stays within bounds, of memory and of worker threads. */
function staysBelow({ cluster }: RebalancingView, node: string, shard: OwnedShard, bound: number): boolean {
  return isWithin(cluster.use, cluster.use.get(node)!, taken(shard, node), bound);
}

function isWithin(use: ClusterUse, target: NodeUse, more: ShardUse, bound: number): boolean {
  const { memory, workers } = use.relative(target, more);
  return memory <= bound && workers <= bound;
}

/** What the target takes on: a follower has the shard in memory already. */
function taken(shard: OwnedShard, node: string): ShardUse {
  return { bytes: shard.followers.includes(node) ? 0 : shard.bytes, load: shard.load };
}
