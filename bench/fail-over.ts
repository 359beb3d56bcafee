/**
 * Measures how long records are unreadable while their node dies, hangs, drains, or moves a shard.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ShardKey } from '../lib/shard/key.ts';
import type { ClusterNode } from '../test/support/cluster-node.ts';
import { until } from '../test/support/until.ts';
import { type AvailabilityGap, AvailabilityWatch, type Probe } from './availability-watch.ts';
import type { BenchCluster } from './cluster-nodes.ts';

const CALM_MS = 300;

/** A collection, with one record per shard. */
export interface Watched {
  id: string;
  name: string;
  /** Ids, by shard index. */
  records: string[];
}

/**
 * Result of one event: how long shards of the two collections were unavailable, and how long the
 * event itself took.
 */
export interface FailOver {
  alone: AvailabilityGap;
  copied: AvailabilityGap;
  tookMs: number;
}

export class FailOvers {
  readonly #cluster: BenchCluster;
  readonly #alone: Watched;
  readonly #copied: Watched;

  /** `copied` has a copy of each shard on another node; `alone` has no copies. */
  constructor(cluster: BenchCluster, alone: Watched, copied: Watched) {
    this.#cluster = cluster;
    this.#alone = alone;
    this.#copied = copied;
  }

  /** SIGKILL: the other nodes see that the process is gone. */
  killed(): Promise<FailOver> {
    return this.#without(async (node) => {
      await node.kill();
    });
  }

  /**
   * SIGSTOP without resuming, like a lost machine: the other nodes wait until its lease expires.
   */
  lost(): Promise<FailOver> {
    return this.#without(
      async (node) => node.halt(),
      async (node) => {
        node.resume();
        await node.kill();
      },
    );
  }

  /** SIGTERM: the node hands over all its shards and exits. */
  drained(): Promise<FailOver> {
    return this.#without(async (node) => {
      await node.stop();
    });
  }

  /** Moves a shard of `alone` to the next node. */
  async moved(index: number): Promise<{ away: AvailabilityGap; tookMs: number }> {
    const key: ShardKey = `${this.#alone.id}.${index}`;
    const from = (await this.#cluster.holders()).get(key)!;
    const nodes = this.#cluster.shardNodes.map(({ id }) => id);
    const to = nodes[(nodes.indexOf(from) + 1) % nodes.length]!;
    const watch = new AvailabilityWatch(this.#cluster.target, [probeOf(this.#alone, index)]);
    await delay(CALM_MS);
    const beganMs = performance.now();
    await this.#cluster.move(key, from, to);
    const tookMs = performance.now() - beganMs;
    await watch.allAnswer();
    return { away: (await watch.end())(), tookMs };
  }

  /** Harms the node that holds the most shards, and restarts it afterwards. */
  async #without(
    harm: (node: ClusterNode) => Promise<void>,
    mend: (node: ClusterNode) => Promise<void> = async () => undefined,
  ): Promise<FailOver> {
    const cluster = this.#cluster;
    await this.#openAll();
    await until('the copies are as far as their shards', () => cluster.isCopied(this.#copied.id));
    const holders = await cluster.holders();
    const victim = cluster.node(mostOf(holders, [this.#alone.id, this.#copied.id]));
    const probes = [this.#alone, this.#copied].flatMap((watched) =>
      watched.records.flatMap((_, index) =>
        holders.get(`${watched.id}.${index}`) === victim.id ? [probeOf(watched, index)] : [],
      ),
    );
    const watch = new AvailabilityWatch(cluster.target, probes);
    await delay(CALM_MS);
    const beganMs = performance.now();
    await harm(victim);
    const tookMs = performance.now() - beganMs;
    await watch.allAnswer();
    const absence = await watch.end();
    await mend(victim);
    await victim.start();
    await cluster.everyNodeIsThere();
    return {
      alone: absence(({ collection }) => collection === this.#alone.name),
      copied: absence(({ collection }) => collection === this.#copied.name),
      tookMs,
    };
  }

  /** Opens every shard by reading from it. */
  async #openAll(): Promise<void> {
    const probes = [this.#alone, this.#copied].flatMap((watched) =>
      watched.records.map((_, index) => probeOf(watched, index)),
    );
    const watch = new AvailabilityWatch(this.#cluster.target, probes);
    await watch.allAnswer();
    await watch.end();
  }
}

function probeOf({ name, records }: Watched, index: number): Probe {
  return { collection: name, id: records[index]! };
}

/**
 * The node that holds the most shards of the collection it holds fewer of, so that both collections
 * are affected.
 */
function mostOf(holders: Map<ShardKey, string>, collections: string[]): string {
  const counts = (node: string) =>
    collections.map((id) => [...holders].filter(([key, holder]) => holder === node && key.startsWith(id)).length);
  const nodes = [...new Set(holders.values())];
  return nodes.sort((a, b) => Math.min(...counts(b)) - Math.min(...counts(a)))[0]!;
}
