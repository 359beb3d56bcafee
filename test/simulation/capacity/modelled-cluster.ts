import type { NodeUsage, ShardUsage } from '../../../lib/placement/cluster-usage.ts';
import { Placement } from '../../../lib/placement/placement.ts';
import type { LeaseRow } from '../../../store/owners.ts';
import { randomFrom } from '../../support/random.ts';
import { EventQueue } from './event-queue.ts';
import { MODEL_ASSUMPTIONS } from './model-assumptions.ts';
import { ModelledNode } from './modelled-node.ts';
import { Traffic } from './traffic.ts';

const PROCESS = { pid: 1, startedAt: null, place: 'model' };

/** A lease as stored, and what its node holds. */
export interface ModelledLease extends LeaseRow {
  use: NodeUsage;
}

export interface ModelledShard extends ShardUsage {
  key: string;
  /** Incarnation of the holder; null when the shard was released. */
  holder: string | null;
  node: ModelledNode | null;
  sinceMs: number;
  /** Time when it became unavailable; null while it is served. */
  awayMs: number | null;
}

export interface MoveRecord {
  shard: ModelledShard;
  from: string;
  to: string;
}

/**
 * Nodes, shards and the store's rows about them, on virtual time. The same seed gives the same
 * sequence of events.
 */
export class ModelledCluster {
  readonly time = new EventQueue();
  readonly traffic = new Traffic();
  /** Placement over the initial nodes. All nodes share its hashes, which are pure. */
  readonly placement: Placement;
  readonly random: () => number;
  readonly shards = new Map<string, ModelledShard>();
  readonly nodes = new Map<string, ModelledNode>();
  readonly moves: MoveRecord[] = [];
  /** Duration of each time that a shard was unavailable. */
  readonly absencesMs: number[] = [];
  /** Time until the first node found a killed node dead. */
  readonly foundDeadMs: number[] = [];
  /** Claims lost to a faster node. */
  lostClaims = 0;
  /** Time of the last move or opening of a shard. */
  lastChangeMs = 0;
  readonly #from = new Map<ModelledShard, string>();
  readonly #found = new Set<string>();
  readonly #leases = new Map<string, ModelledLease>();
  readonly #byIncarnation = new Map<string, ModelledNode>();
  #started = 0;
  #alive = 0;

  constructor(seed: number, nodes: number, shards: number) {
    this.random = randomFrom(seed);
    for (let at = 0; at < shards; at++) this.#makeShard(shards / nodes);
    const names = Array.from({ length: nodes }, (_, at) => ({
      node: nameOf(at),
      weight: MODEL_ASSUMPTIONS.nodeMemoryBytes,
    }));
    this.placement = new Placement(names);
    for (let at = 0; at < nodes; at++) this.#make();
    const leases = [...this.nodes.values()];
    for (const { name, incarnation, use } of leases) this.#leases.set(incarnation, leaseOf(name, incarnation, 0, use));
    this.#claimAtStart();
    for (const node of leases) node.start();
  }

  alive(): ModelledNode[] {
    return [...this.nodes.values()].filter(({ alive }) => alive);
  }

  node(name: string): ModelledNode | undefined {
    return this.nodes.get(name);
  }

  join(): ModelledNode {
    const node = this.#make();
    this.#discovered();
    node.start();
    return node;
  }

  /** Kills nodes at the same moment; callers then look for their shards. */
  kill(nodes: ModelledNode[]): void {
    for (const node of nodes) node.kill();
    this.#alive -= nodes.length;
    const { nowMs } = this.time;
    for (const node of nodes) {
      for (const shard of node.held.values()) {
        shard.awayMs = nowMs;
        this.#isLookedFor(shard);
      }
    }
  }

  leave(node: ModelledNode): void {
    node.leave();
    this.#alive--;
  }

  /** Releases the shards that a node had no time to hand over; callers then look for them. */
  releaseAll(node: ModelledNode): void {
    for (const shard of [...node.held.values()]) {
      this.release(shard, node);
      this.#isLookedFor(shard);
    }
  }

  operations(count: number): void {
    this.traffic.add('operations', count, this.time.nowMs);
  }

  messages(count: number): void {
    this.traffic.add('messages', count, this.time.nowMs);
  }

  /** Counts one published heartbeat, delivered to every other node. */
  heartbeat(): void {
    this.traffic.add('heartbeats', this.#alive - 1, this.time.nowMs);
  }

  renew({ incarnation, beat, use }: { incarnation: string; beat: number; use: NodeUsage }): void {
    this.operations(1);
    this.#leases.set(incarnation, leaseOf(use.node, incarnation, beat, use));
  }

  listLeases(): ModelledLease[] {
    this.operations(1);
    this.traffic.add('rows', this.#leases.size, this.time.nowMs);
    return [...this.#leases.values()];
  }

  readLeases(incarnations: Iterable<string>): ModelledLease[] {
    const rows = [...incarnations].flatMap((incarnation) => this.#leases.get(incarnation) ?? []);
    this.operations(1);
    this.traffic.add('rows', rows.length, this.time.nowMs);
    return rows;
  }

  endLease(incarnation: string): void {
    this.operations(1);
    this.#leases.delete(incarnation);
  }

  /** Records that a node was found dead. */
  foundDead(incarnation: string): void {
    const node = this.#byIncarnation.get(incarnation)!;
    if (node.killedMs === null || this.#found.has(incarnation)) return;
    this.#found.add(incarnation);
    this.foundDeadMs.push(this.time.nowMs - node.killedMs);
  }

  isHolderDead({ holder }: ModelledShard): boolean {
    return holder !== null && !this.#byIncarnation.get(holder)?.alive;
  }

  /** Claims a shard. Returns false when another node was faster. */
  claim(shard: ModelledShard, node: ModelledNode): boolean {
    if (shard.holder !== null && !this.isHolderDead(shard)) {
      this.lostClaims++;
      return false;
    }
    if (shard.holder !== null && this.#leases.has(shard.holder)) throw new Error('A live lease was taken for dead.');
    shard.node?.drop(shard);
    shard.holder = node.incarnation;
    shard.node = node;
    shard.sinceMs = this.time.nowMs;
    node.give(shard);
    return true;
  }

  release(shard: ModelledShard, node: ModelledNode): void {
    this.operations(1);
    node.drop(shard);
    shard.holder = null;
    shard.node = null;
    shard.awayMs = this.time.nowMs;
    this.#from.set(shard, node.name);
  }

  serves(shard: ModelledShard): void {
    this.lastChangeMs = this.time.nowMs;
    if (shard.awayMs === null) return;
    const awayMs = this.time.nowMs - shard.awayMs;
    this.absencesMs.push(awayMs);
    const asked = MODEL_ASSUMPTIONS.callers * Math.floor(awayMs / MODEL_ASSUMPTIONS.askAgainMs);
    this.messages(2 * asked);
    this.operations(asked);
    shard.awayMs = null;
  }

  moved(shard: ModelledShard, to: string): void {
    this.moves.push({ shard, from: this.#from.get(shard)!, to });
  }

  #isLookedFor(shard: ModelledShard): void {
    for (let caller = 0; caller < MODEL_ASSUMPTIONS.callers; caller++)
      this.time.after(this.random() * MODEL_ASSUMPTIONS.askedWithinMs, () => this.#call(shard));
  }

  /** Calls the first reachable node in the shard's order, as the shard router does. */
  #call(shard: ModelledShard): void {
    if (shard.holder !== null && !this.isHolderDead(shard)) return;
    const callers = this.alive();
    const caller = callers[Math.floor(this.random() * callers.length)]!;
    const target = caller.placement.first(shard.key, (name) => {
      const { alive, draining } = this.nodes.get(name)!;
      return alive && !draining;
    });
    this.messages(2);
    if (target !== null) this.nodes.get(target)!.ask(shard);
  }

  #discovered(): void {
    const others = this.alive().length - 1;
    // It requests INFO from all other nodes, each of which responds, and sends its own to all.
    this.messages(2 * others);
    this.traffic.add('infos', others * (1 + MODEL_ASSUMPTIONS.infosAtStart), this.time.nowMs);
  }

  #make(): ModelledNode {
    const at = this.#started++;
    this.#alive++;
    const node = new ModelledNode(this, nameOf(at), this.#uuid());
    this.nodes.set(node.name, node);
    this.#byIncarnation.set(node.incarnation, node);
    return node;
  }

  #makeShard(perNode: number): void {
    const key = `${this.#uuid()}.0`;
    const { shardMeanBytes, shardSigma, workersPerNode, meanBusy } = MODEL_ASSUMPTIONS;
    const bytes = shardMeanBytes * this.#logNormal(shardSigma);
    const load = ((workersPerNode * meanBusy) / perNode) * this.#logNormal(shardSigma);
    this.shards.set(key, { key, bytes, load, holder: null, node: null, sinceMs: -1e9, awayMs: null });
  }

  /** A log-normal factor with a mean of 1. */
  #logNormal(sigma: number): number {
    const gauss = Math.sqrt(-2 * Math.log(1 - this.random())) * Math.cos(2 * Math.PI * this.random());
    return Math.exp(sigma * gauss - sigma ** 2 / 2);
  }

  #uuid(): string {
    const hex = (digits: number) =>
      Math.floor(this.random() * 16 ** digits)
        .toString(16)
        .padStart(digits, '0');
    return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
  }

  /** Gives every shard to its first node, whatever its size. */
  #claimAtStart(): void {
    for (const shard of this.shards.values()) {
      const node = this.nodes.get(this.placement.preferred(shard.key)!)!;
      shard.holder = node.incarnation;
      shard.node = node;
      node.give(shard);
    }
  }
}

function nameOf(at: number): string {
  return `provec-shards-${at}`;
}

function leaseOf(node: string, incarnation: string, beat: number, use: NodeUsage): ModelledLease {
  return { node, incarnation, beat, process: PROCESS, draining: use.draining, use };
}
