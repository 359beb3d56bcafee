import type { PlacementNode } from './placement.ts';

/** Resources that a shard uses on its holder. */
export interface ShardUsage {
  /** Size in memory when open, whether or not it is open now. */
  bytes: number;
  /** Average number of worker threads that it keeps busy, over the last minutes. */
  load: number;
}

/** Resource usage that a node reports about itself. */
export interface NodeUsage {
  node: string;
  /** Whether the node is about to leave and accepts no more shards. */
  draining: boolean;
  /** Memory of all shards that it holds or follows. */
  bytes: number;
  memoryLimitBytes: number;
  /** Average number of busy worker threads over the last minutes. */
  load: number;
  workers: number;
}

/** Used fractions of a node's memory and worker threads. */
export interface UsedFractions {
  memory: number;
  workers: number;
}

/** Fraction of memory above which a node accepts no shards; it closes idle ones from 85 % on. */
const MEMORY_FULL = 0.8;
/** Fraction of its worker threads' time above which a node accepts no more shards. */
const OVERLOADED = 0.85;
/** Lower bounds of the mean. Below them, moving shards does not help. */
const MEAN_MIN: UsedFractions = { memory: 0.04, workers: 0.4 };
/** Minimum memory that an open shard takes. */
const SHARD_MIN_BYTES = 64 * 1024;

/**
 * Resource usage of a cluster's nodes, in multiples of the mean. The mean is the usage of all
 * nodes, including draining ones, over the capacity of those that stay, because everything must fit
 * there.
 */
export class ClusterUsage {
  readonly #nodes = new Map<string, NodeUsage>();
  readonly mean: UsedFractions;
  readonly #below = new Map<keyof UsedFractions, { bound: number; nodes: string[] }>();

  constructor(nodes: Iterable<NodeUsage>) {
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

  get(node: string): NodeUsage | null {
    return this.#nodes.get(node) ?? null;
  }

  /** Returns the nodes that accept shards, weighted by their memory. */
  staying(): PlacementNode[] {
    const staying = [...this.#nodes.values()].filter(({ draining }) => !draining);
    return staying.map(({ node, memoryLimitBytes }) => ({ node, weight: memoryLimitBytes }));
  }

  /** Returns a node's usage in multiples of the mean, with `more` added. */
  relative(use: NodeUsage, more: ShardUsage | null = null): UsedFractions {
    const used = usedParts(use, more);
    return { memory: used.memory / this.mean.memory, workers: used.workers / this.mean.workers };
  }

  /** Returns the nodes that accept shards and use less than `bound` times a resource's mean. */
  below(resource: keyof UsedFractions, bound: number): string[] {
    const cached = this.#below.get(resource);
    if (cached?.bound === bound) return cached.nodes;
    const isBelow = (use: NodeUsage): boolean => !use.draining && this.relative(use)[resource] < bound;
    const nodes = [...this.#nodes.values()].filter(isBelow).map(({ node }) => node);
    this.#below.set(resource, { bound, nodes });
    return nodes;
  }
}

/** Whether a node has room for a shard. One that needs no more memory always fits into memory. */
export function hasRoom(use: NodeUsage, more: ShardUsage): boolean {
  const after = usedParts(use, more);
  const fits = more.bytes === 0 || after.memory <= MEMORY_FULL;
  return fits && !use.draining && usedParts(use).workers <= OVERLOADED;
}

/** Whether a node is overloaded. Moves that only restore the preferred placement then wait. */
export function isOverloaded(use: NodeUsage): boolean {
  const used = usedParts(use);
  return used.memory > MEMORY_FULL || used.workers > OVERLOADED;
}

function usedParts(
  { bytes, load, memoryLimitBytes, workers }: NodeUsage,
  more: ShardUsage | null = null,
): UsedFractions {
  const moreBytes = more === null || more.bytes === 0 ? 0 : Math.max(SHARD_MIN_BYTES, more.bytes);
  return { memory: (bytes + moreBytes) / memoryLimitBytes, workers: (load + (more?.load ?? 0)) / workers };
}
