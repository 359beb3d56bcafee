import { listEveryMs } from '../../../lib/placement/lease-ring.ts';
import { MODEL_ASSUMPTIONS } from './model-assumptions.ts';
import { ModelledCluster, type MoveRecord } from './modelled-cluster.ts';
import type { ModelledNode } from './modelled-node.ts';
import type { Rate } from './traffic.ts';

/** Largest value of a node divided by the mean. */
export interface Balance {
  bytes: number;
  load: number;
  shards: number;
}

/** Results of one event. */
export interface Figures {
  event: string;
  nodes: number;
  shards: number;
  /** Time until the last move or opening. */
  stableAfterMs: number;
  moves: number;
  /** Share of all bytes and shards that changed nodes. */
  movedBytes: number;
  movedShards: number;
  /** Share of all bytes that must move: the new node's share, or what the departed nodes held. */
  idealBytes: number;
  before: Balance;
  after: Balance;
  /** Moves that returned a shard to a node that it had left during the same event. */
  returned: number;
  lostClaims: number;
  /** Time from a kill until the last killed node was found dead. */
  foundDeadMs: number;
  awayMedianMs: number;
  awayMaxMs: number;
  operations: Rate;
  rows: Rate;
  messages: Rate;
  /** Traffic of Moleculer's heartbeats and INFO packets over Redis, for comparison. */
  heartbeats: Rate;
  infos: number;
}

const STEADY_MS = 60_000;
const LIMIT_MS = 4 * 3_600_000;

/** Runs one event after another on one cluster. */
export class Scenario {
  readonly cluster: ModelledCluster;
  readonly #nodes: number;
  readonly #shards: number;

  constructor(seed: number, nodes: number, shards: number) {
    this.#nodes = nodes;
    this.#shards = shards;
    this.cluster = new ModelledCluster(seed, nodes, shards);
  }

  /**
   * Starts with every shard on the node that hashing gives it, and waits until sizes are balanced.
   */
  settle(): Figures {
    return this.#observe('first balance', () => 0);
  }

  steady(): Figures {
    return this.#observe('steady', () => 0, STEADY_MS);
  }

  join(): Figures {
    return this.#observe('join', () => {
      this.cluster.join();
      return 1 / this.cluster.alive().length;
    });
  }

  /** Drains one node, which then leaves. */
  leave(): Figures {
    const leaving = this.#pick(1);
    const figures = this.#observe('leave (drain)', () => {
      const part = this.#bytesOf(leaving);
      for (const node of leaving) node.drain();
      return part;
    });
    for (const node of leaving) this.cluster.leave(node);
    return figures;
  }

  /** Kills a share of all nodes, at least one, at the same moment. */
  kill(part: number): Figures {
    const killed = this.#pick(Math.max(1, Math.round(part * this.cluster.alive().length)));
    return this.#observe(`kill ${killed.length}`, () => {
      const bytes = this.#bytesOf(killed);
      this.cluster.kill(killed);
      return bytes;
    });
  }

  #pick(count: number): ModelledNode[] {
    const nodes = this.cluster.alive();
    return Array.from({ length: count }, () =>
      nodes.splice(Math.floor(this.cluster.random() * nodes.length), 1),
    ).flat();
  }

  #observe(event: string, start: () => number, forMs?: number): Figures {
    const { cluster } = this;
    const { time, traffic, moves, absencesMs } = cluster;
    const fromMs = time.nowMs;
    const movesBefore = moves.length;
    const absencesBefore = absencesMs.length;
    const foundBefore = cluster.foundDeadMs.length;
    const lostBefore = cluster.lostClaims;
    const holders = new Map([...cluster.shards.values()].map((shard) => [shard, shard.holder]));
    const before = this.#balance();
    const idealBytes = start();
    if (forMs === undefined) this.#untilStable();
    else time.run(fromMs + forMs);
    const made = moves.slice(movesBefore);
    const changed = [...cluster.shards.values()].filter((shard) => shard.holder !== holders.get(shard));
    const total = [...cluster.shards.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    const absences = absencesMs.slice(absencesBefore).sort((a, b) => a - b);
    const lastMs = Math.max(fromMs, cluster.lastChangeMs);
    const untilMs = Math.max(fromMs + 1_000, forMs === undefined ? lastMs : time.nowMs);
    return {
      event,
      nodes: this.#nodes,
      shards: this.#shards,
      stableAfterMs: lastMs - fromMs,
      moves: made.length,
      movedBytes: changed.reduce((sum, { bytes }) => sum + bytes, 0) / total,
      movedShards: changed.length / cluster.shards.size,
      idealBytes,
      before,
      after: this.#balance(),
      returned: returns(made),
      lostClaims: cluster.lostClaims - lostBefore,
      foundDeadMs: Math.max(0, ...cluster.foundDeadMs.slice(foundBefore)),
      awayMedianMs: absences[absences.length >> 1] ?? 0,
      awayMaxMs: absences.at(-1) ?? 0,
      operations: traffic.between('operations', fromMs, untilMs),
      rows: traffic.between('rows', fromMs, untilMs),
      messages: traffic.between('messages', fromMs, untilMs),
      heartbeats: traffic.between('heartbeats', fromMs, untilMs),
      infos: traffic.between('infos', fromMs, fromMs + 1_000).peak,
    };
  }

  /**
   * Runs until every node has found nothing more to do, even after its view had time to be
   * refreshed.
   */
  #untilStable(): void {
    const { time } = this.cluster;
    const quietMs = 130_000 + 1.5 * listEveryMs(this.#nodes) + 2 * MODEL_ASSUMPTIONS.planEveryMs;
    const endMs = time.nowMs + LIMIT_MS;
    let quietSinceMs = time.nowMs;
    while (time.nowMs - quietSinceMs < quietMs) {
      if (time.nowMs > endMs) throw new Error('The cluster does not come to rest.');
      time.run(time.nowMs + 5_000);
      const isBusy = this.cluster.alive().some((node) => node.isBusy);
      quietSinceMs = isBusy ? time.nowMs : Math.max(quietSinceMs, this.cluster.lastChangeMs);
    }
  }

  #bytesOf(nodes: ModelledNode[]): number {
    const total = [...this.cluster.shards.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    return nodes.reduce((sum, { use }) => sum + use.bytes, 0) / total;
  }

  #balance(): Balance {
    const nodes = this.cluster.alive().filter(({ draining }) => !draining);
    const worst = (of: (node: ModelledNode) => number): number =>
      (Math.max(...nodes.map(of)) * nodes.length) / nodes.reduce((sum, node) => sum + of(node), 0);
    return {
      bytes: worst(({ use }) => use.bytes),
      load: worst(({ use }) => use.load),
      shards: worst(({ held }) => held.size),
    };
  }
}

function returns(moves: MoveRecord[]): number {
  const left = new Map<object, Set<string>>();
  let count = 0;
  for (const { shard, from, to } of moves) {
    const nodes = left.get(shard) ?? new Set();
    if (nodes.has(to)) count++;
    left.set(shard, nodes.add(from));
  }
  return count;
}
