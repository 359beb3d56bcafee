import { ClusterUsage, type NodeUsage } from '../../../lib/placement/cluster-usage.ts';
import { listEveryMs, watchedLeases } from '../../../lib/placement/lease-ring.ts';
import type { Placement } from '../../../lib/placement/placement.ts';
import { RENEW_EVERY_MS, WATCH_EVERY_MS } from '../../../services/shards/cluster/ownership/lease-terms.ts';
import { LeaseWatch } from '../../../services/shards/cluster/ownership/lease-watch.ts';
import { MoveThrottle } from '../../../services/shards/cluster/rebalancing/move-throttle.ts';
import { type Move, nextMove, type OwnedShard } from '../../../services/shards/cluster/rebalancing/planner.ts';
import { offerRefusal } from '../../../services/shards/cluster/rebalancing/shard-offer.ts';
import { CLAIM_OPERATIONS, MODEL_ASSUMPTIONS, OPEN_OPERATIONS, SAVE_OPERATIONS } from './model-assumptions.ts';
import type { ModelledCluster, ModelledLease, ModelledShard } from './modelled-cluster.ts';

/**
 * A shard node with the real placement, planner, throttle and lease watch over a modelled store. It
 * stores and searches nothing; operations only take time.
 */
export class ModelledNode {
  readonly name: string;
  readonly incarnation: string;
  /** Order of the nodes that take shards, as far as this node knows. */
  placement: Placement;
  readonly pace = new MoveThrottle(MODEL_ASSUMPTIONS.moveBytesPerSecond);
  readonly held = new Map<string, ModelledShard>();
  alive = true;
  draining = false;
  killedMs: number | null = null;
  readonly #cluster: ModelledCluster;
  readonly #watch: LeaseWatch;
  #known = new Map<string, ModelledLease>();
  #ring: string[] = [];
  /** Shards that callers wait for, by the lease that must expire first. */
  readonly #awaited = new Map<string, Set<ModelledShard>>();
  readonly #toOpen: { shard: ModelledShard; done: () => void }[] = [];
  #opening = 0;
  #taking: string | null = null;
  #bytes = 0;
  #load = 0;
  #beat = 0;

  constructor(cluster: ModelledCluster, name: string, incarnation: string) {
    this.#cluster = cluster;
    this.name = name;
    this.placement = cluster.placement;
    this.incarnation = incarnation;
    this.#watch = new LeaseWatch(cluster.time);
  }

  get use(): NodeUsage {
    const { nodeMemoryBytes: memoryLimitBytes, workersPerNode: workers } = MODEL_ASSUMPTIONS;
    const { name: node, draining } = this;
    return { node, draining, bytes: this.#bytes, memoryLimitBytes, load: this.#load, workers };
  }

  /** Whether an operation is in progress. */
  get isBusy(): boolean {
    return (
      this.#opening > 0 ||
      this.#awaited.size > 0 ||
      this.#taking !== null ||
      (this.draining && this.held.size > 0) ||
      this.pace.nextMs === Number.POSITIVE_INFINITY
    );
  }

  start(): void {
    const { random } = this.#cluster;
    this.#renew();
    this.list();
    this.#every(RENEW_EVERY_MS, () => this.#renew());
    this.#every(WATCH_EVERY_MS, () => this.#look());
    this.#planAfter(MODEL_ASSUMPTIONS.planEveryMs * random());
    this.#every(MODEL_ASSUMPTIONS.heartbeatMs, () => this.#cluster.heartbeat());
    const list = (): void => {
      if (this.alive) this.list();
      if (this.alive) this.#cluster.time.after(listEveryMs(this.#known.size) * (0.75 + random() / 2), list);
    };
    this.#cluster.time.after(listEveryMs(this.#known.size) * random(), list);
  }

  kill(): void {
    this.alive = false;
    this.killedMs = this.#cluster.time.nowMs;
  }

  /** Hands over as many shards as time permits, and releases the rest. */
  drain(): void {
    this.draining = true;
    this.#renew();
    this.list();
    const left = [...this.held.values()];
    const next = (): void => {
      let shard = left.shift();
      while (shard && !this.held.has(shard.key)) shard = left.shift();
      if (shard) this.#give(shard, this.#cluster.node(this.placement.preferred(shard.key)!)!, next);
    };
    for (let lane = 0; lane < MODEL_ASSUMPTIONS.drainLanes; lane++) next();
    this.#cluster.time.after(MODEL_ASSUMPTIONS.drainMs, () => this.#cluster.releaseAll(this));
  }

  /** Ends its lease once it holds nothing. */
  leave(): void {
    this.alive = false;
    this.#cluster.endLease(this.incarnation);
  }

  give(shard: ModelledShard): void {
    this.held.set(shard.key, shard);
    this.#bytes += shard.bytes;
    this.#load += shard.load;
  }

  drop(shard: ModelledShard): void {
    this.held.delete(shard.key);
    this.#bytes -= shard.bytes;
    this.#load -= shard.load;
  }

  /** Reads all leases. */
  list(): void {
    const rows = this.#cluster.listLeases();
    this.#known = new Map(rows.map((row) => [row.incarnation, row]));
    this.#refresh();
  }

  /** Handles a caller's request for a shard. */
  ask(shard: ModelledShard): void {
    if (!this.alive) return;
    this.#cluster.operations(1);
    const { holder } = shard;
    if (holder === this.incarnation) return;
    if (holder === null) this.#open(shard);
    else if (this.#cluster.isHolderDead(shard)) {
      const waiting = this.#awaited.get(holder);
      if (waiting) waiting.add(shard);
      else this.#awaited.set(holder, new Set([shard]));
    }
  }

  /** The move that this node would make now, as far as it knows. */
  planned(): Move | null {
    const { nowMs } = this.#cluster.time;
    const shards: OwnedShard[] = [];
    for (const { key, bytes, load, sinceMs } of this.held.values())
      shards.push({ shard: key, bytes, load, heldForMs: nowMs - sinceMs, followers: [] });
    const use = this.#clusterUse();
    this.placement = this.placement.with(use.staying());
    return nextMove({ node: this.name, shards, use, placement: this.placement, avoided: this.pace.avoided(nowMs) });
  }

  #every(ms: number, run: () => void): void {
    const { time, random } = this.#cluster;
    const turn = (): void => {
      if (!this.alive) return;
      run();
      time.after(ms, turn);
    };
    time.after(ms * random(), turn);
  }

  #renew(): void {
    this.#cluster.renew({ incarnation: this.incarnation, beat: ++this.#beat, use: this.use });
  }

  #refresh(): void {
    this.placement = this.placement.with(this.#clusterUse().staying());
    this.#ring = watchedLeases(this.incarnation, this.#known.keys());
  }

  /** Use of all nodes as published, and of this node as measured. */
  #clusterUse(): ClusterUsage {
    const others = [...this.#known.values()].filter(({ incarnation }) => incarnation !== this.incarnation);
    return new ClusterUsage([...others.map(({ use }) => use), this.use]);
  }

  #look(): void {
    const asked = new Set([...this.#ring, ...this.#awaited.keys()]);
    const reading = this.#watch.begin(asked);
    const rows = this.#cluster.readLeases(asked);
    this.#watch.observe(rows, reading);
    for (const row of rows) this.#known.set(row.incarnation, row);
    const dead = new Set(this.#watch.dead().map(({ row }) => row.incarnation));
    const ended = [...asked].filter((incarnation) => dead.has(incarnation) || this.#watch.isOver(incarnation));
    for (const incarnation of ended) {
      if (this.#known.has(incarnation)) this.#cluster.foundDead(incarnation);
      this.#cluster.endLease(incarnation);
      this.#watch.end(incarnation);
      this.#known.delete(incarnation);
      const wanted = this.#awaited.get(incarnation);
      this.#awaited.delete(incarnation);
      for (const shard of wanted ?? []) this.#open(shard);
    }
    if (ended.length > 0) this.#refresh();
  }

  /** Claims and opens a shard; only one of several contenders gets it. */
  #open(shard: ModelledShard, done: () => void = () => {}): void {
    this.#toOpen.push({ shard, done });
    this.#openNext();
  }

  #openNext(): void {
    if (this.#opening >= MODEL_ASSUMPTIONS.openLanes) return;
    const next = this.#toOpen.shift();
    if (next === undefined) return;
    this.#opening++;
    const { time } = this.#cluster;
    this.#cluster.operations(CLAIM_OPERATIONS);
    const over = (): void => {
      this.#opening--;
      next.done();
      this.#openNext();
    };
    time.after(MODEL_ASSUMPTIONS.storeMs * CLAIM_OPERATIONS, () => {
      if (!this.alive) return;
      if (!this.#cluster.claim(next.shard, this)) return over();
      this.#cluster.operations(OPEN_OPERATIONS);
      time.after(MODEL_ASSUMPTIONS.openMs + (next.shard.bytes / MODEL_ASSUMPTIONS.openBytesPerSecond) * 1_000, () => {
        if (!this.alive) return;
        this.#cluster.serves(next.shard);
        over();
      });
    });
  }

  #planAfter(ms: number): void {
    this.#cluster.time.after(ms, () => this.alive && this.#plan());
  }

  /** Makes the planned moves one at a time. Plans again later when there is nothing to do. */
  #plan(): void {
    const { time } = this.#cluster;
    const move = this.planned();
    if (move === null) {
      this.#planAfter(MODEL_ASSUMPTIONS.planEveryMs);
      return;
    }
    const shard = this.held.get(move.shard)!;
    const target = this.#cluster.node(move.to)!;
    const beganMs = time.nowMs;
    const next = (): void => this.#planAfter(this.pace.nextMs - time.nowMs);
    this.pace.began();
    this.#cluster.messages(2);
    time.after(2 * MODEL_ASSUMPTIONS.messageMs, () => {
      if (!this.alive) return;
      if (target.alive && target.accepts(shard, move)) return this.#handOver(shard, target, beganMs, next);
      if (target.alive) this.pace.refused(move.to, time.nowMs);
      else this.pace.failed(move.to, time.nowMs);
      next();
    });
  }

  /** Decides whether to take a shard that another node offers; if so, takes it. */
  accepts({ key, bytes, load }: ModelledShard, { reason }: Move): boolean {
    if (offerRefusal(this.use, this.#clusterUse(), this.#taking !== null, { bytes, load, reason }) !== null)
      return false;
    this.#taking = key;
    return true;
  }

  #handOver(shard: ModelledShard, target: ModelledNode, beganMs: number, next: () => void): void {
    this.#give(shard, target, () => {
      target.#taking = null;
      this.pace.ended(shard.bytes, beganMs, this.#cluster.time.nowMs);
      next();
    });
  }

  /** Saves the shard and lets another node open it. */
  #give(shard: ModelledShard, target: ModelledNode, done: () => void): void {
    const { time } = this.#cluster;
    this.#cluster.operations(SAVE_OPERATIONS);
    time.after((shard.bytes / MODEL_ASSUMPTIONS.saveBytesPerSecond) * 1_000, () => {
      // The end of a drain has already released shards that were not saved in time.
      if (!this.held.has(shard.key)) return;
      if (!this.alive || !target.alive) throw new Error('The model lets nodes die between moves only.');
      this.#cluster.release(shard, this);
      this.#cluster.messages(2);
      target.#open(shard, () => {
        this.#cluster.moved(shard, target.name);
        done();
      });
    });
  }
}
