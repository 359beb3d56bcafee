import { ProvecError } from '../../../lib/errors.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { shardSpecs } from '../../../lib/shard/spec.ts';
import type { ShardSize, WorkerOp } from '../../../services/shards/worker/protocol.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { Auditor } from './auditor.ts';
import type { Distortion } from './inline-worker.ts';
import type { Profile } from './profile.ts';
import { SimulatedDatabase } from './simulated-database.ts';
import type { Parts } from './simulated-membership.ts';
import { delayMs, type NetworkFaults, Wire } from './simulated-network.ts';
import { SimulatedNode } from './simulated-node.ts';
import { SimulatedStore, type StoreDefects } from './simulated-store.ts';
import { NodeTime, VirtualTime } from './virtual-time.ts';

const ANSWER_TIMEOUT_MS = 25_000;
const FOLLOW_TIMEOUT_MS = 5_000;
const BOOT_MAX_MS = 3_000;
const ORIGIN_MAX_MS = 1e6;
/** Reported record count that makes a shard with few records worth a checkpoint. */
const RECORDS_SHOWN = 1_000;

const COLLECTION: CollectionRow = {
  id: 'c0000000-0000-4000-8000-000000000001',
  accountId: 'a0000000-0000-4000-8000-000000000001',
  name: 'simulated',
  dimensions: 2,
  metric: 'euclidean',
  shards: 1,
  replicas: 0,
  quantization: 'f32',
  deletionProtection: false,
  createdAt: '2026-11-21T00:00:00.000Z',
};

export function collectionOf({ shards, replicas }: Profile): CollectionRow {
  return { ...COLLECTION, shards, replicas };
}

export interface ClusterOptions {
  random: () => number;
  profile: Profile;
  auditor: Auditor;
  parts: Parts;
  defects: StoreDefects;
  distort: Distortion;
  /** A defect: write requests may also run twice. */
  bringsWritesTwice: boolean;
  /** Folder for checkpoints. */
  folder(): string;
}

/** Nodes, their shared store, and the network between them. */
export class SimulatedCluster {
  readonly specs: ShardSpec[];
  readonly time = new VirtualTime();
  readonly database: SimulatedDatabase;
  readonly nodes: SimulatedNode[] = [];
  /** All lives of all nodes, past and present. */
  readonly lives: SimulatedNode[] = [];
  readonly #store: SimulatedStore;
  wireWeather: NetworkFaults;
  lineWeather: NetworkFaults;
  readonly #options: ClusterOptions;
  #ids = 0;

  constructor(options: ClusterOptions) {
    const { random, profile, auditor, defects, folder } = options;
    this.#options = options;
    const collection = collectionOf(profile);
    this.specs = shardSpecs(collection);
    this.wireWeather = profile.wire;
    this.lineWeather = profile.line;
    this.database = new SimulatedDatabase(this.time, () => auditor.stored());
    this.database.lagMs = () => random() * profile.lagMaxMs;
    this.#store = new SimulatedStore({
      collection,
      random,
      primary: () => this.database.primary,
      folder,
      defects,
      onContradiction: (reason) => auditor.contradicted(reason),
    });
    for (let at = 0; at < profile.nodes; at++) this.boot(at);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#options.random() * choices.length)]!;
  }

  /** The node that holds the shard according to the store. */
  holder(spec: ShardSpec): SimulatedNode | undefined {
    const name = this.database.durable.of(shardKey(spec.collectionId, spec.index)).owner?.holder?.node;
    return this.nodes.find((node) => node.name === name);
  }

  boot(at: number): void {
    const { random, profile, parts, auditor, distort } = this.#options;
    const rate = profile.rates[at] ?? this.pick([0.9, 1, 1.1]);
    const time = new NodeTime(this.time, rate, random() * ORIGIN_MAX_MS);
    const wire = new Wire(this.time, time, random, () => this.wireWeather, this.database);
    const name = `n${at}`;
    const node = new SimulatedNode({
      name,
      time,
      wire,
      store: this.#store.over(wire),
      copiedFrom: this.#store.over(wire, true),
      newId: () => `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`,
      parts,
      workMs: profile.workMs,
      distort: (op, result) => distort(op, profile.checkpoints ? enlarged(op, result) : result),
      adopt: async (to, spec) => {
        await this.#tell(node, to, (target) => target.adopt(spec));
      },
      follow: (to, spec, seq) => this.#tell(node, to, async (target) => target.follow(spec, seq), FOLLOW_TIMEOUT_MS),
      isThere: (to) => this.nodes.some((other) => other.name === to && !other.wire.isDead && !other.hasLeft),
      onClaim: ({ shard, epoch }) => auditor.of(shard).claimed(epoch),
      onHead: (shard, head) => auditor.of(shard).told(name, head),
      onRead: (shard, known, head) => auditor.of(shard).read(name, known, head),
      onCopyRead: (shard, id, reading) => auditor.of(shard).readFromCopy(name, id, reading),
    });
    this.nodes[at] = node;
    this.lives.push(node);
    node.start();
  }

  kill(node: SimulatedNode): void {
    if (node.wire.isDead) return;
    node.wire.isDead = true;
    node.time.pause();
    this.time.after(this.#options.random() * BOOT_MAX_MS, () => this.boot(this.nodes.indexOf(node)));
  }

  async #tell<T>(
    from: SimulatedNode,
    to: string,
    work: (target: SimulatedNode) => Promise<T>,
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<T> {
    const target = this.nodes.find(({ name }) => name === to);
    const answer = target && (await this.ask(target, () => work(target), { from, timeoutMs }));
    if (answer?.end !== 'done') throw new ProvecError('UNAVAILABLE', 'The other node did not do it.');
    return answer.result;
  }

  /**
   * Runs `work` on a node, over a line that loses, delays and reorders requests and responses.
   * Reads may be delivered twice. Writes are delivered at most once, which the transport
   * guarantees.
   */
  ask<T>(
    node: SimulatedNode,
    work: () => Promise<T>,
    { writes = false, from = null, timeoutMs = ANSWER_TIMEOUT_MS }: AskOptions = {},
  ): Promise<Answer<T>> {
    const { random, bringsWritesTwice } = this.#options;
    return new Promise((resolve) => {
      const arrive = (answer: Answer<T>): void => {
        cancel();
        if (from === null) resolve(answer);
        else from.time.arrive(() => resolve(answer));
      };
      const cancel = this.time.after(timeoutMs, () => arrive({ end: 'silence' }));
      const carry = (run: () => void): void => {
        if (random() >= this.lineWeather.loss) this.time.after(delayMs(this.lineWeather, random), run);
      };
      const answer = (given: Answer<T>): void => {
        carry(() => !node.wire.isDead && arrive(given));
      };
      const request = (): void =>
        node.time.arrive(() => {
          if (node.wire.isDead) return;
          const done = node.hasLeft ? Promise.reject(new ShardMoved(null)) : work();
          done.then(
            (result) => answer({ end: 'done', result }),
            (error: unknown) => answer({ end: 'refused', error }),
          );
        });
      carry(request);
      if (random() < this.lineWeather.twice && (!writes || bringsWritesTwice)) carry(request);
    });
  }
}

interface AskOptions {
  writes?: boolean;
  /** The calling node; null for a client. */
  from?: SimulatedNode | null;
  timeoutMs?: number;
}

export type Answer<T> = { end: 'done'; result: T } | { end: 'refused'; error: unknown } | { end: 'silence' };

function enlarged(op: WorkerOp, result: unknown): unknown {
  if (op !== 'size') return result;
  const size = result as ShardSize;
  return { ...size, records: size.records * RECORDS_SHOWN };
}
