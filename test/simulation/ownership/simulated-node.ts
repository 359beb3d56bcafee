import pino from 'pino';
import type { ReplicaState } from '../../../contracts/actions/shards.ts';
import type { ShardHead } from '../../../lib/shard/head.ts';
import { parseShardKey, type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { AnswerPage, FetchedRecord } from '../../../lib/shard/match.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { WriteAck } from '../../../lib/shard/write-ack.ts';
import { Drain } from '../../../services/shards/cluster/drain.ts';
import { type Follower, Followers } from '../../../services/shards/cluster/followers.ts';
import { HandOver } from '../../../services/shards/cluster/hand-over.ts';
import type { NodeMembership } from '../../../services/shards/cluster/ownership/node-membership.ts';
import type { Replicas } from '../../../services/shards/cluster/replicas.ts';
import type { ShardWrite } from '../../../services/shards/engine/port.ts';
import type { Claim } from '../../../services/shards/memory/claims.ts';
import { NodeMemory } from '../../../services/shards/memory/node-memory.ts';
import { ShardCache } from '../../../services/shards/memory/shard-cache.ts';
import { Checkpointer } from '../../../services/shards/shard/checkpointer.ts';
import { Materialiser } from '../../../services/shards/shard/materialiser.ts';
import type { LogEntry } from '../../../store/log.ts';
import type { Store } from '../../../store/port.ts';
import { type Distortion, InlineWorker, type Instant } from './inline-worker.ts';
import { type Parts, SimulatedMembership } from './simulated-membership.ts';
import type { Wire } from './simulated-network.ts';
import type { NodeTime } from './virtual-time.ts';

const LOG = pino({ level: 'silent' });
const WRITE_WAIT_MS = 5_000;
const START_AGAIN_MS = 500;
const DRAIN_MAX_MS = 20_000;
const RELEASE_MAX_MS = 5_000;
const TIDY_EVERY_MS = 10_000;

export interface NodeOptions {
  name: string;
  time: NodeTime;
  wire: Wire;
  store: Store;
  /** The same store, as used by copies. */
  copiedFrom: Store;
  newId(): string;
  parts: Parts;
  /** Time that the worker takes per request. */
  workMs: number;
  distort: Distortion;
  /** Tells another node to open the shard. */
  adopt(node: string, spec: ShardSpec): Promise<void>;
  /** Tells another node to follow the shard, which is at `seq` on this node. */
  follow(node: string, spec: ShardSpec, seq: number): Promise<ReplicaState>;
  isThere(node: string): boolean;
  onClaim(claim: Claim): void;
  /** Reports the shard's head as this node knows it, while it may answer for the shard. */
  onHead(shard: ShardKey, head: ShardHead): void;
  /** Reports a read: the head that the node knew before, and the actual head. */
  onRead(shard: ShardKey, known: ShardHead, head: ShardHead): void;
  /** Reports a read from a copy. */
  onCopyRead(shard: ShardKey, id: string, reading: CopyReading): void;
}

/** A value read from a copy, and the copy's state at that moment. */
export interface CopyReading extends Instant {
  value: string | null;
}

/** Materialises on request instead of by a timer of the real clock. */
class PromptedMaterialiser extends Materialiser {
  override wake(): void {}
}

/**
 * One life of a node: the product's membership, shard cache, actor, engine, checkpointer, hand-over
 * and copies over a simulated network, worker and clock.
 */
export class SimulatedNode {
  readonly name: string;
  readonly time: NodeTime;
  readonly wire: Wire;
  hasLeft = false;
  /** Whether its copies read log entries with a wrong byte, and whether they ever did. */
  isSpoilt = false;
  wasSpoilt = false;
  /** Shards opened here from the node's own copy. */
  warmTakeovers = 0;
  readonly #options: NodeOptions;
  readonly #membership: SimulatedMembership;
  readonly #materialiser: Materialiser;
  readonly #shardCache: ShardCache;
  readonly #handOver: HandOver;
  readonly #drain: Drain;
  readonly #replicas: Replicas;
  readonly #followers: Followers;
  #cancelTidy: () => void = () => {};
  #drained = 0;
  #worker: InlineWorker;

  constructor(options: NodeOptions) {
    const { name, time, wire, store, newId, parts, adopt, follow, isThere, onClaim } = options;
    this.#options = options;
    this.name = name;
    this.time = time;
    this.wire = wire;
    this.#membership = new SimulatedMembership({
      node: name,
      time,
      store,
      newId,
      parts,
      onLost: () => this.#shardCache.discardAll(),
      onClaim,
    });
    this.#materialiser = new PromptedMaterialiser(store, LOG);
    const checkpointer = new Checkpointer(store, this.#materialiser, time, 0);
    this.#worker = this.#newWorker();
    const pool = { leastLoaded: () => this.#worker.asShardWorker() };
    const memory = new NodeMemory(Number.MAX_SAFE_INTEGER / 4);
    this.#replicas = new parts.Copies({ store: this.#spoilt(options.copiedFrom), clock: time, log: LOG, pool, memory });
    this.#shardCache = new ShardCache(
      { store, clock: time, log: LOG },
      {
        claims: this.#membership.ownership,
        pool,
        memory,
        copies: {
          bytesOf: (key) => this.#replicas.bytesOf(key),
          take: (key) => this.#take(key),
          shed: (bytes) => this.#replicas.shed(bytes),
        },
        materialiser: this.#materialiser,
        checkpointer,
        ownHeads: new Map(),
      },
    );
    this.#handOver = new HandOver({
      shardCache: this.#shardCache,
      membership: this.#membership as unknown as NodeMembership,
      catalog: store.catalog,
      peers: { adopt, follow },
      clock: time,
      timers: time,
      log: LOG,
    });
    this.#drain = new Drain({
      handOver: this.#handOver,
      shardCache: this.#shardCache,
      membership: this.#membership as unknown as NodeMembership,
      followersOf: (key) => this.followersOf(key).flatMap(({ node, seq }) => (seq === null ? [] : [node])),
      // All shards here are small, so every other one is treated as a large one.
      isQuick: () => this.#drained++ % 2 === 0,
      clock: time,
      log: LOG,
    });
    this.#followers = new Followers({
      peers: { node: name, isReachable: isThere, follow },
      placement: () => this.#membership.placement,
      open: () => this.#shardCache.open(),
      timers: time,
    });
    this.#shardCache.events.on('committed', (actor) => this.#followers.committed(actor));
  }

  start(): void {
    this.#membership.start().then(
      () => {
        this.#followers.start();
        this.#tidy();
      },
      () => this.time.after(START_AGAIN_MS, () => this.start()),
    );
  }

  /** Whether it would answer for the shard now. */
  serves(spec: ShardSpec): boolean {
    return this.#shardCache.peek(spec) !== null;
  }

  get isLeaving(): boolean {
    return this.#membership.draining;
  }

  write(spec: ShardSpec, write: ShardWrite): Promise<WriteAck> {
    const deadlineMs = this.time.monotonicMs() + WRITE_WAIT_MS;
    return this.#shardCache.use(spec, async (actor) => {
      this.#options.onHead(actor.key, actor.head);
      const ack = await actor.write(write, deadlineMs);
      this.#options.onHead(actor.key, ack.head);
      return ack;
    });
  }

  read(spec: ShardSpec, id: string): Promise<string | null> {
    return this.#shardCache.read(spec, async ({ key, worker, head }) => {
      const page = await worker.request('fetch', { key, ids: [id], pageMaxBytes: 1 });
      const instant = (worker as unknown as InlineWorker).instantOf(page);
      if (instant) this.#options.onRead(key, head, instant.head);
      return valueOn(page);
    });
  }

  /** Reads from the copy on this node. */
  readCopy(spec: ShardSpec, id: string): Promise<string | null> {
    return this.#replicas.read(spec, async ({ key, worker }) => {
      const page = await worker.request('fetch', { key, ids: [id], pageMaxBytes: 1 });
      const value = valueOn(page);
      const instant = (worker as unknown as InlineWorker).instantOf(page);
      if (!instant) throw new Error('Something waits for a copy.');
      this.#options.onCopyRead(key, id, { value, ...instant });
      return value;
    });
  }

  /** Follows a shard that another node holds, at `seq`. */
  follow(spec: ShardSpec, seq: number): ReplicaState {
    if (this.isLeaving) throw new ShardMoved(null);
    return this.#shardCache.has(spec) ? { seq: null } : this.#replicas.follow(spec, seq);
  }

  followersOf(key: ShardKey): Follower[] {
    return this.#followers.of(key);
  }

  /** Complete copies and their seqs. */
  copies(): { shard: ShardKey; seq: number }[] {
    return this.#replicas.list().filter(({ seq }) => seq > 0);
  }

  /** Copies that changed since the previous call, with their heads in memory. */
  changedCopies(): { shard: ShardKey; head: ShardHead }[] {
    const { replayed } = this.#worker;
    if (replayed.size === 0) return [];
    const changed = this.copies().filter(({ shard }) => replayed.delete(shard));
    return changed.flatMap(({ shard }) => {
      const head = this.#worker.headOf(shard);
      return head ? [{ shard, head }] : [];
    });
  }

  /** Number of copies dropped because their root did not match the recorded one. */
  get mismatches(): number {
    return this.#replicas.mismatches;
  }

  /** Shards in memory that are neither held nor copied, and copies that are not in memory. */
  leftovers(): string[] {
    const copied = this.#replicas.list().map(({ shard }) => shard);
    const known = new Set([...copied, ...this.#shardCache.keys()]);
    const kept = [...this.#worker.lives.keys()].filter((shard) => !known.has(shard));
    const lost = this.copies().filter(({ shard }) => !this.#worker.lives.has(shard));
    return [
      ...kept.map((shard) => `${this.name} keeps ${shard} in memory for nobody`),
      ...lost.map(({ shard }) => `${this.name} has no copy of ${shard} in memory and thinks it has`),
    ];
  }

  /** Whether any of the collection is in memory. */
  hasAny(collectionId: string): boolean {
    return [...this.#worker.lives.keys()].some((shard) => parseShardKey(shard).collectionId === collectionId);
  }

  /** Drops copies to free memory. */
  async shed(): Promise<void> {
    await this.#replicas.shed(1);
  }

  /** Frees the collection, which was deleted. */
  async forget(collectionId: string): Promise<void> {
    await this.#replicas.forget(collectionId);
    await this.#shardCache.closeAllOf(collectionId);
  }

  /** Opens the shard here, like a node that is told to take it over. */
  adopt(spec: ShardSpec): Promise<void> {
    return this.#shardCache.use(spec, async () => undefined);
  }

  /** Copies log entries into the records. */
  async materialise(spec: ShardSpec): Promise<void> {
    await this.#materialiser.catchUp(shardKey(spec.collectionId, spec.index));
  }

  /** Takes a checkpoint if there is anything new, and trims the log. */
  save(spec: ShardSpec): Promise<void> {
    return this.#shardCache.save(shardKey(spec.collectionId, spec.index));
  }

  /** Unloads the shard from memory and keeps its claim. */
  rest(spec: ShardSpec): Promise<void> {
    return this.#shardCache.close(shardKey(spec.collectionId, spec.index));
  }

  move(spec: ShardSpec, to: string): Promise<void> {
    return this.#handOver.move(shardKey(spec.collectionId, spec.index), to);
  }

  /** Hands over everything and ends. */
  async leave(): Promise<void> {
    await this.#drain.giveAll(this.#abortedAfter(DRAIN_MAX_MS), DRAIN_MAX_MS);
    await this.#drain.releaseAll(this.#abortedAfter(RELEASE_MAX_MS));
    this.#cancelTidy();
    this.#followers.stop();
    await this.#replicas.stop();
    await this.#shardCache.stop(false);
    await this.#materialiser.stop();
    await this.#membership.stop();
    this.hasLeft = true;
  }

  /** Crashes the worker thread and replaces it. */
  loseWorker(): void {
    const former = this.#worker;
    this.#worker = this.#newWorker();
    former.end();
  }

  #abortedAfter(ms: number): AbortSignal {
    const end = new AbortController();
    this.time.after(ms, () => end.abort());
    return end.signal;
  }

  #tidy(): void {
    this.#replicas.dropForgotten();
    this.#cancelTidy = this.time.after(TIDY_EVERY_MS, () => this.#tidy());
  }

  async #take(key: ShardKey): ReturnType<Replicas['take']> {
    const taken = await this.#replicas.take(key);
    if (taken) this.warmTakeovers++;
    return taken;
  }

  /** The store, with a wrong byte in log entries while `isSpoilt`. */
  #spoilt(store: Store): Store {
    const read: Store['log']['read'] = async (...given) => {
      const entries = await store.log.read(...given);
      return this.isSpoilt ? entries.map(spoil) : entries;
    };
    return { ...store, log: { ...store.log, read } };
  }

  #newWorker(): InlineWorker {
    const { time, workMs, distort } = this.#options;
    return new InlineWorker((run) => (workMs === 0 ? run() : void time.after(workMs, run)), distort);
  }
}

function valueOn({ items }: AnswerPage<FetchedRecord>): string | null {
  const [record] = items;
  return record ? (JSON.parse(record.metadata) as { value: string }).value : null;
}

/** Changes a digit of the last record's value, or of its id when it is deleted. */
function spoil(entry: LogEntry): LogEntry {
  if (entry.body.byteLength === 0) return entry;
  const body = Uint8Array.from(entry.body);
  body[body.byteLength - 3]! ^= 1;
  return { ...entry, body };
}
