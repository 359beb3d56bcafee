import { ProvecError } from '../../../lib/errors.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { ShardMoved } from '../../../lib/shard/moved.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { shardIndexOf } from '../../../services/collections/shard-routing.ts';
import type { ShardWrite } from '../../../services/shards/engine/port.ts';
import type { Auditor } from './auditor.ts';
import type { Request } from './client-history.ts';
import type { SimulatedCluster } from './cluster.ts';
import type { SimulatedNode } from './simulated-node.ts';

const IDS_PER_CLIENT = 3;
const PATIENCE_MS = 1_500;
const READER_PATIENCE_MS = 300;
/** Share of client requests that go to the shard's holder; the rest follow a stale route. */
const WELL_ROUTED = 0.7;
/** Share of reader requests that a copy may serve. */
const EVENTUAL = 0.5;

export interface LoadOptions {
  cluster: SimulatedCluster;
  auditor: Auditor;
  random: () => number;
  clients: number;
  thinkMaxMs: number;
}

/**
 * Clients that write, delete and read records, each writing its own, and one reader per node. A
 * reader asks its node for whatever the node holds or copies, whichever node is the holder.
 */
export class Load {
  /** Kinds of requests answered since `watch`. */
  readonly answered = new Set<Request['kind']>();
  /** Number of reads answered by copies. */
  copiesRead = 0;
  readonly #options: LoadOptions;
  #values = 0;
  #isOver = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    for (let client = 0; client < options.clients; client++) void this.#client(client);
    for (let at = 0; at < options.cluster.nodes.length; at++) void this.#reader(at);
  }

  stop(): void {
    this.#isOver = true;
  }

  async #client(client: number): Promise<void> {
    const { cluster } = this.#options;
    while (!this.#isOver) {
      await this.#think();
      const kind = cluster.pick(['read', 'write', 'write', 'delete'] as const);
      // The client continues without the response, which still counts when it arrives.
      await this.#within(PATIENCE_MS, this.#operate(client, kind));
    }
  }

  async #reader(at: number): Promise<void> {
    const { cluster, random } = this.#options;
    const hasCopies = cluster.specs[0]!.replicas !== 0;
    while (!this.#isOver) {
      await this.#think();
      const node = cluster.nodes[at]!;
      const read = hasCopies && random() < EVENTUAL ? this.#readCopy(node) : this.#operate(0, 'read', node);
      await this.#within(READER_PATIENCE_MS, read);
    }
  }

  async #readCopy(node: SimulatedNode): Promise<void> {
    const { cluster, random, clients } = this.#options;
    const id = this.#idOf(Math.floor(random() * clients));
    const spec = this.#specOf(id);
    const { end } = await cluster.ask(node, () => node.readCopy(spec, id));
    if (end === 'done') this.copiesRead++;
  }

  /** Waits at most `ms`. */
  #within(ms: number, work: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.cluster.time.after(ms, resolve);
      void work.then(() => {
        cancel();
        resolve();
      });
    });
  }

  #idOf(client: number): string {
    return `r${client}.${Math.floor(this.#options.random() * IDS_PER_CLIENT)}`;
  }

  #specOf(id: string): ShardSpec {
    const { specs } = this.#options.cluster;
    return specs[shardIndexOf(id, specs.length)]!;
  }

  #think(): Promise<void> {
    const { cluster, random, thinkMaxMs } = this.#options;
    return cluster.time.delay(random() * thinkMaxMs);
  }

  #route(spec: ShardSpec): SimulatedNode {
    const { cluster, random } = this.#options;
    const holder = cluster.holder(spec);
    return holder && random() < WELL_ROUTED ? holder : cluster.pick(cluster.nodes);
  }

  async #operate(client: number, kind: Request['kind'], asked: SimulatedNode | null = null): Promise<void> {
    const { cluster, auditor, random, clients } = this.#options;
    const owner = kind === 'read' ? Math.floor(random() * clients) : client;
    const id = this.#idOf(owner);
    const spec = this.#specOf(id);
    const node = asked ?? this.#route(spec);
    const history = auditor.of(shardKey(spec.collectionId, spec.index)).clients;
    const value = kind === 'write' ? `v${++this.#values}` : null;
    const request = history.send(kind, id, value);
    const work = async (): Promise<{ value: string | null; seq: number | null }> => {
      if (kind === 'read') return { value: await node.read(spec, id), seq: null };
      const write: ShardWrite = kind === 'delete' ? { kind, ids: [id] } : upsert(id, value!);
      return { value, seq: (await node.write(spec, write)).head.seq };
    };
    const answer = await cluster.ask(node, work, { writes: kind !== 'read' });
    if (answer.end === 'done') {
      history.answered(request, answer.result.value, answer.result.seq);
      this.answered.add(kind);
    } else if (answer.end === 'refused' && isFinal(answer.error)) history.refused(request);
  }
}

/** Whether the error guarantees that the request has no effect now or later. */
function isFinal(error: unknown): boolean {
  return error instanceof ShardMoved || error instanceof ProvecError;
}

function upsert(id: string, value: string): ShardWrite {
  const metadata = [JSON.stringify({ value })];
  return { kind: 'upsert', batch: { ids: [id], dimensions: 2, vectors: Float32Array.of(1, 2), metadata } };
}
