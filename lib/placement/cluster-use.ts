import type { PlacementNode } from './placement.ts';

/** What a shard takes of the node that holds it. */
export interface ShardUse {
  /** In memory while it is open, whether or not it is open now. */
  bytes: number;
  /** Worker threads that it keeps busy, averaged over minutes. */
  load: number;
}

/** What a node holds, as it says of itself. */
export interface NodeUse {
  node: string;
  /** It is about to leave: it takes no more shards. */
  draining: boolean;
  /** Of all shards that it holds and of all that it follows as a replica. */
  bytes: number;
  memoryLimitBytes: number;
  /** Worker threads that are busy, averaged over minutes. */
  load: number;
  workers: number;
}

/** How much of a node is used, by memory and by worker threads: parts of what it has. */
export interface UsedParts {
  memory: number;
  workers: number;
}

/**
 * Above this part of its memory a node takes no more. Idle shards are closed to make room from 85 %
 * on.
 */
const MEMORY_FULL = 0.8;
/** Above this part of its worker threads' time a node takes no more. */
const OVERLOADED = 0.85;
/** Below these parts nobody is better off for a move, so the mean counts as no less. */
const MEAN_MIN: UsedParts = { memory: 0.04, workers: 0.4 };
/** A single shard opens in memory of this size at least. */
const SHARD_MIN_BYTES = 64 * 1024;

/**
 * How evenly the nodes of a cluster are used, in multiples of the mean. The mean is what all hold,
 * the draining ones too, over what those have that stay: all must fit there.
 */
export class ClusterUse {
  readonly #nodes = new Map<string, NodeUse>();
  readonly mean: UsedParts;
  readonly #below = new Map<keyof UsedParts, { bound: number; nodes: string[] }>();

  constructor(nodes: Iterable<NodeUse>) {
    let [bytes, load, memory, workers] = [0, 0, 0, 0];
    for (const use of nodes) {
      this.#nodes.set(use.node, use);
      bytes += use.bytes;
      load += use.load;
      if (use.draining) continue;
      memory += use.memoryLimitBytes;
      workers += use.workers;
    }
    this.mean = {
      memory: Math.max(MEAN_MIN.memory, memory > 0 ? bytes / memory : 0),
      workers: Math.max(MEAN_MIN.workers, workers > 0 ? load / workers : 0),
    };
  }

  get(node: string): NodeUse | null {
    return this.#nodes.get(node) ?? null;
  }

  /** The nodes that take shards, weighted by their memory. */
  staying(): PlacementNode[] {
    const staying = [...this.#nodes.values()].filter(({ draining }) => !draining);
    return staying.map(({ node, memoryLimitBytes }) => ({ node, weight: memoryLimitBytes }));
  }

  /** A node's used parts in multiples of the mean, with `more` added. */
  relative(use: NodeUse, more: ShardUse | null = null): UsedParts {
    const used = usedParts(use, more);
    return { memory: used.memory / this.mean.memory, workers: used.workers / this.mean.workers };
  }

  /** Nodes that take shards and use less of a resource than `bound` times the mean. */
  below(resource: keyof UsedParts, bound: number): string[] {
    const cached = this.#below.get(resource);
    if (cached?.bound === bound) return cached.nodes;
    const isBelow = (use: NodeUse): boolean => !use.draining && this.relative(use)[resource] < bound;
    const nodes = [...this.#nodes.values()].filter(isBelow).map(({ node }) => node);
    this.#below.set(resource, { bound, nodes });
    return nodes;
  }
}

/**
 * Whether a node has room for a shard at all, however the others are used; for one that takes no
 * more memory there always is.
 */
export function hasRoom(use: NodeUse, more: ShardUse): boolean {
  const after = usedParts(use, more);
  const fits = more.bytes === 0 || after.memory <= MEMORY_FULL;
  return fits && !use.draining && usedParts(use).workers <= OVERLOADED;
}

/** Whether a node has more to do than it should have: what serves order alone waits. */
export function isPressed(use: NodeUse): boolean {
  const used = usedParts(use);
  return used.memory > MEMORY_FULL || used.workers > OVERLOADED;
}

function usedParts({ bytes, load, memoryLimitBytes, workers }: NodeUse, more: ShardUse | null = null): UsedParts {
  const moreBytes = more === null || more.bytes === 0 ? 0 : Math.max(SHARD_MIN_BYTES, more.bytes);
  return { memory: (bytes + moreBytes) / memoryLimitBytes, workers: (load + (more?.load ?? 0)) / workers };
}
