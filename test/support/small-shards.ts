import { setTimeout as delay } from 'node:timers/promises';
import type { BackingServices } from './backing-services.ts';
import type { ClusterNode } from './cluster-node.ts';
import { ClusterProcess } from './cluster-process.ts';
import { until } from './until.ts';

const SHARDS_EACH = 4;
const DIMENSIONS = 64;
/** Records per collection: about 10 KB per shard. */
const RECORDS = 80;
const CLIENTS = 4;
const KINDS = ['upsert', 'fetch', 'query'];
const PAUSE_MS = 20;
/** Time, in ms, until the other nodes know a node that has started. */
const SEEN_MS = 3_000;

export interface Used {
  requests: number;
  /** Each a sentence. */
  failures: string[];
  longestMs: number;
}

/**
 * A cluster of real processes whose first shard nodes hold many small shards, and clients that read
 * and write them.
 */
export class SmallShards {
  readonly cluster: ClusterProcess;
  readonly #collections: string[];
  readonly #ids: string[] = [];
  /** Last value that each client wrote, by path and id; null when the outcome is unknown. */
  readonly #written = new Map<string, number | null>();
  readonly #failures: string[] = [];
  #requests = 0;
  #longestMs = 0;

  private constructor(cluster: ClusterProcess, shards: number) {
    this.cluster = cluster;
    this.#collections = Array.from({ length: shards / SHARDS_EACH }, (_, number) => `small-${number}`);
  }

  /** `holders` nodes hold all `shards`; `heirs` nodes join later and hold none. */
  static async start(
    backing: BackingServices,
    { shards = 100, holders = 1, heirs = 2, environment = {} as Record<string, string> } = {},
  ): Promise<SmallShards> {
    const small = new SmallShards(
      await ClusterProcess.start(backing, { shardNodes: holders, environment: { ...environment } }),
      shards,
    );
    try {
      for (const name of small.#collections) await small.#fill(name);
      for (let heir = 0; heir < heirs; heir++) await small.cluster.addShardNode();
      await small.cluster.ready();
      await delay(heirs > 0 ? SEEN_MS : 0);
      return small;
    } catch (error) {
      await small.cluster.dispose();
      throw error;
    }
  }

  /** Number of shards that each node holds. */
  async holdings(): Promise<Map<string, number>> {
    const total = new Map<string, number>();
    for (const id of this.#ids)
      for (const [node, count] of await this.cluster.holdings(id)) total.set(node, (total.get(node) ?? 0) + count);
    return total;
  }

  /** Reads and writes until `work` is done, then expects every acknowledged write to be present. */
  async useMeanwhile(work: () => Promise<void>): Promise<Used> {
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let turn = 0; !isOver; turn++) {
        await this.#ask(client, turn);
        await delay(PAUSE_MS);
      }
    });
    try {
      await until('the clients are at work', () => this.#requests > 3 * CLIENTS);
      await work();
    } catch (error) {
      this.cluster.printLogs();
      throw error;
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    await this.#audit();
    if (this.#failures.length > 0) this.cluster.printLogs();
    return { requests: this.#requests, failures: this.#failures, longestMs: this.#longestMs };
  }

  /** Sends SIGTERM; returns how long the stop took, in milliseconds, and how the node exited. */
  async stop(node: ClusterNode): Promise<{ tookMs: number; code: number | null; signal: string | null }> {
    const begunMs = performance.now();
    const ended = await node.stop();
    return { ...ended, tookMs: performance.now() - begunMs };
  }

  async #fill(name: string): Promise<void> {
    const { api } = this.cluster;
    const terms = { name, dimensions: DIMENSIONS, shards: SHARDS_EACH };
    const created = await api<{ collection: { id: string } }>('POST', '/collections', terms);
    const records = Array.from({ length: RECORDS }, (_, id) => ({ id: `r${id}`, values: valuesOf(id) }));
    const filled = await api('POST', `/collections/${name}/upsert`, { records });
    if (filled.status !== 200) throw new Error(`${name} was not filled: ${JSON.stringify(filled.body)}`);
    this.#ids.push(created.body.collection.id);
  }

  async #ask(client: number, turn: number): Promise<void> {
    // Each record is written, read, and then queried.
    const round = Math.floor(turn / 3);
    const name = this.#collections[(round * CLIENTS + client) % this.#collections.length]!;
    const id = `own-${client}-${round % 7}`;
    const path = `/collections/${name}`;
    const begunMs = performance.now();
    const failure = await this.#send(path, id, turn).catch((error: unknown) => String(error));
    const tookMs = performance.now() - begunMs;
    this.#requests++;
    this.#longestMs = Math.max(this.#longestMs, tookMs);
    if (failure !== null)
      this.#failures.push(`${KINDS[turn % 3]} of ${name} after ${Math.round(tookMs)} ms: ${failure}`);
  }

  /** Writes or reads the client's own record, or runs a query. Returns what went wrong, or null. */
  async #send(path: string, id: string, turn: number): Promise<string | null> {
    const { api } = this.cluster;
    const key = `${path} ${id}`;
    if (turn % 3 === 0) {
      this.#written.set(key, null);
      const { status, body } = await api('POST', `${path}/upsert`, {
        records: [{ id, values: valuesOf(turn), metadata: { turn } }],
      });
      if (status === 200) this.#written.set(key, turn);
      return status === 200 ? null : `${status} ${JSON.stringify(body)}`;
    }
    if (turn % 3 === 1) return this.#read(path, id);
    const { status, body } = await api('POST', `${path}/query`, { vector: valuesOf(turn), topK: 3 });
    return status === 200 ? null : `${status} ${JSON.stringify(body)}`;
  }

  async #read(path: string, id: string): Promise<string | null> {
    const written = this.#written.get(`${path} ${id}`);
    type Fetched = { vectors: Record<string, { metadata: { turn: number } }> };
    const { status, body } = await this.cluster.api<Fetched>('POST', `${path}/fetch`, { ids: [id] });
    if (status !== 200) return `${status} ${JSON.stringify(body)}`;
    const found = body.vectors[id]?.metadata.turn;
    return written === null || found === written ? null : `INVARIANT: ${id} was ${written} and is ${found}`;
  }

  async #audit(): Promise<void> {
    for (const key of this.#written.keys()) {
      const [path, id] = key.split(' ') as [string, string];
      const failure = await this.#read(path, id);
      if (failure !== null) this.#failures.push(failure);
    }
  }
}

function valuesOf(seed: number): number[] {
  return Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(Math.sin(seed * DIMENSIONS + at)));
}
