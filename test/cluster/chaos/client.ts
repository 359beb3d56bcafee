import { setTimeout as delay } from 'node:timers/promises';
import { shardIndexOf } from './placement-of-ids.ts';
import type { Recorder, Told } from './recorder.ts';

/** Number of records per client, and shared by all clients. */
const OWN_IDS = 12;
const SHARED_IDS = 8;
const PAUSE_MAX_MS = 40;

export interface Item {
  id: string;
  values: number[];
  metadata: { value: string; group: string };
}

export function idsOf(group: string): string[] {
  const count = group === 'shared' ? SHARED_IDS : OWN_IDS;
  return Array.from({ length: count }, (_, number) => `${group}-${number}`);
}

/** The vector that is written with a value; a record mixed from two writes is then detectable. */
export function vectorOf(value: string): number[] {
  const [client, step] = value.split(':').map(Number);
  return [client! + 1, step!, 1];
}

const queryOf = (group: string) => ({ vector: [1, 1, 1], topK: 100, filter: { group }, includeValues: true });

/**
 * Performs every operation on its own and on shared records, one request at a time, and records the
 * responses per record.
 */
export class ChaosClient {
  readonly #client: number;
  readonly #recorder: Recorder;
  readonly #random: () => number;
  readonly #shards: number;
  /** Descriptions of responses that no order of operations can explain. */
  readonly faults: string[] = [];
  #step = 0;

  constructor(client: number, recorder: Recorder, random: () => number, shards: number) {
    this.#client = client;
    this.#recorder = recorder;
    this.#random = random;
    this.#shards = shards;
  }

  async run(signal: AbortSignal): Promise<void> {
    const operations: [weight: number, operation: () => Promise<void>][] = [
      [30, () => this.#upsert('upsert')],
      [6, () => this.#upsert('import')],
      [10, () => this.#update()],
      [12, () => this.#delete()],
      [2, () => this.#deleteGroup()],
      [10, () => this.#query()],
      [6, () => this.#queries()],
      [8, () => this.#list()],
      [2, () => this.#export()],
      [14, () => this.#fetch()],
    ];
    const chosen = operations.flatMap(([weight, operation]) => Array.from({ length: weight }, () => operation));
    while (!signal.aborted) {
      await chosen[Math.floor(this.#random() * chosen.length)]!();
      await delay(this.#random() * PAUSE_MAX_MS);
    }
  }

  #group(): string {
    return this.#random() < 0.3 ? 'shared' : `own-${this.#client}`;
  }

  #pick(most: number): string[] {
    const ids = idsOf(this.#group());
    const count = 1 + Math.floor(this.#random() * most);
    return Array.from({ length: count }, () => ids.splice(Math.floor(this.#random() * ids.length), 1)[0]!);
  }

  #shardsOf(ids: string[]): number[] {
    return [...new Set(ids.map((id) => shardIndexOf(id, this.#shards)))];
  }

  #newValue(): string {
    return `${this.#client}:${this.#step++}`;
  }

  async #upsert(kind: 'upsert' | 'import'): Promise<void> {
    const ids = this.#pick(4);
    const records = ids.map((id): Item => {
      const value = this.#newValue();
      return { id, values: vectorOf(value), metadata: { value, group: id.slice(0, id.lastIndexOf('-')) } };
    });
    const told = await this.#recorder.ask<{ upsertedCount?: number; importedCount?: number }>({
      client: this.#client,
      kind,
      records: ids.length,
      shards: this.#shardsOf(ids),
      body: kind === 'upsert' ? { records } : records.map((record) => `${JSON.stringify(record)}\n`).join(''),
    });
    if (told.outcome === 'refused') return;
    const count = told.body?.upsertedCount ?? told.body?.importedCount;
    if (told.body && count !== ids.length) this.faults.push(`an ${kind} of ${ids.length} records counted ${count}`);
    const answered = told.outcome === 'ok' ? told.answered : null;
    for (const { id, metadata } of records)
      this.#recorder.note(id, { kind: 'write', value: metadata.value, sent: told.sent, answered });
  }

  /** Updates a single record, so that the counts show whether it existed. */
  async #update(): Promise<void> {
    const [id] = this.#pick(1);
    const value = this.#newValue();
    const told = await this.#recorder.ask<{ matchedCount: number; updatedCount: number }>({
      client: this.#client,
      kind: 'update',
      records: 1,
      shards: this.#shardsOf([id!]),
      body: { updates: [{ id, values: vectorOf(value), setMetadata: { value } }] },
    });
    if (told.outcome === 'refused') return;
    const { sent } = told;
    if (told.body === null)
      return this.#recorder.note(id!, { kind: 'write', value, existed: true, sent, answered: null });
    const { matchedCount, updatedCount } = told.body;
    if (matchedCount !== updatedCount || matchedCount > 1)
      this.faults.push(`an update of one record matched ${matchedCount} and changed ${updatedCount}`);
    const { answered } = told;
    if (matchedCount === 1) this.#recorder.note(id!, { kind: 'write', value, existed: true, sent, answered });
    else this.#recorder.note(id!, { kind: 'read', value: null, sent, answered });
  }

  async #deleteGroup(): Promise<void> {
    const group = this.#group();
    const told = await this.#recorder.ask<{ deletedCount: number }>({
      client: this.#client,
      kind: 'delete',
      shards: this.#allShards(),
      body: { filter: { group } },
    });
    this.#noteDeletes(idsOf(group), told);
  }

  async #delete(): Promise<void> {
    const ids = this.#pick(2);
    const told = await this.#recorder.ask<{ deletedCount: number }>({
      client: this.#client,
      kind: 'delete',
      shards: this.#shardsOf(ids),
      body: { ids },
    });
    this.#noteDeletes(ids, told);
  }

  #noteDeletes(ids: string[], told: Told<{ deletedCount: number }>): void {
    if (told.outcome === 'refused') return;
    const answered = told.outcome === 'ok' ? told.answered : null;
    // Any other count does not tell which of the records existed.
    const count = told.body?.deletedCount;
    const existed = count === 0 ? false : count === ids.length ? true : undefined;
    for (const id of ids) this.#recorder.note(id, { kind: 'delete', value: null, existed, sent: told.sent, answered });
  }

  #allShards(): number[] {
    return Array.from({ length: this.#shards }, (_, index) => index);
  }

  async #query(): Promise<void> {
    const group = this.#group();
    const told = await this.#recorder.ask<{ matches: Item[] }>({
      client: this.#client,
      kind: 'query',
      queries: 1,
      shards: this.#allShards(),
      body: queryOf(group),
    });
    if (told.body) this.#noteReads(idsOf(group), told.body.matches, told);
  }

  async #queries(): Promise<void> {
    const groups = ['shared', `own-${this.#client}`];
    const told = await this.#recorder.ask<{ results: { matches: Item[] }[] }>({
      client: this.#client,
      kind: 'queries',
      queries: groups.length,
      shards: this.#allShards(),
      body: { queries: groups.map(queryOf) },
    });
    for (const [at, { matches }] of told.body?.results.entries() ?? [])
      this.#noteReads(idsOf(groups[at]!), matches, told);
  }

  async #list(): Promise<void> {
    const group = this.#group();
    const told = await this.#recorder.ask<{ records: Item[] }>({
      client: this.#client,
      kind: 'list',
      shards: this.#allShards(),
      body: { prefix: `${group}-`, filter: { group }, includeValues: true, includeMetadata: true, limit: 1_000 },
    });
    if (told.body) this.#noteReads(idsOf(group), told.body.records, told);
  }

  async #export(): Promise<void> {
    const told = await this.#recorder.ask<{ records: Item[] }>({
      client: this.#client,
      kind: 'export',
      shards: this.#allShards(),
    });
    if (told.body === null) return;
    for (const group of ['shared', `own-${this.#client}`]) {
      const items = told.body.records.filter(({ metadata }) => metadata.group === group);
      this.#noteReads(idsOf(group), items, told);
    }
  }

  async #fetch(): Promise<void> {
    const ids = this.#pick(6);
    const told = await this.#recorder.ask<{ vectors: Record<string, Item> }>({
      client: this.#client,
      kind: 'fetch',
      shards: this.#shardsOf(ids),
      body: { ids },
    });
    if (told.body) this.#noteReads(ids, Object.values(told.body.vectors), told);
  }

  #noteReads(ids: string[], items: Item[], { sent, answered }: { sent: number; answered: number }): void {
    const found = new Map(items.map((item) => [item.id, item]));
    if (found.size !== items.length) this.faults.push('an answer told of one record twice');
    for (const id of found.keys()) if (!ids.includes(id)) this.faults.push(`${id} was told without being asked for`);
    for (const id of ids) {
      const item = found.get(id);
      const value = item?.metadata.value ?? null;
      if (item && JSON.stringify(item.values) !== JSON.stringify(vectorOf(item.metadata.value)))
        this.faults.push(`${id} has the vector of another write than its metadata`);
      this.#recorder.note(id, { kind: 'read', value, sent, answered });
    }
  }
}
