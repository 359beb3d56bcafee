import { setTimeout as delay } from 'node:timers/promises';
import { shardIndexOf } from './placement-of-ids.ts';
import type { Recorder } from './recorder.ts';

/** Records of one client alone, and of all. */
export const OWN_IDS = 12;
export const SHARED_IDS = 8;
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

/** The vector that is written with a value, so that a record mixed of two writes shows. */
export function vectorOf(value: string): number[] {
  const [client, step] = value.split(':').map(Number);
  return [client! + 1, step!, 1];
}

/**
 * Writes, deletes, queries and fetches records of its own and some that all share, one request at a
 * time, and notes what it is told of each record.
 */
export class ChaosClient {
  readonly #client: number;
  readonly #recorder: Recorder;
  readonly #random: () => number;
  readonly #shards: number;
  /** Sentences about answers that no order of operations can explain. */
  readonly faults: string[] = [];
  #step = 0;

  constructor(client: number, recorder: Recorder, random: () => number, shards: number) {
    this.#client = client;
    this.#recorder = recorder;
    this.#random = random;
    this.#shards = shards;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const choice = this.#random();
      if (choice < 0.4) await this.#upsert();
      else if (choice < 0.55) await this.#delete();
      else if (choice < 0.75) await this.#query();
      else await this.#fetch();
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

  async #upsert(): Promise<void> {
    const ids = this.#pick(4);
    const records = ids.map((id): Item => {
      const value = `${this.#client}:${this.#step++}`;
      return { id, values: vectorOf(value), metadata: { value, group: id.slice(0, id.lastIndexOf('-')) } };
    });
    const told = await this.#recorder.ask<{ upsertedCount: number }>({
      client: this.#client,
      kind: 'upsert',
      records: ids.length,
      shards: this.#shardsOf(ids),
      body: { records },
    });
    if (told.outcome === 'refused') return;
    if (told.body && told.body.upsertedCount !== ids.length)
      this.faults.push(`an upsert of ${ids.length} records counted ${told.body.upsertedCount}`);
    const answered = told.outcome === 'ok' ? told.answered : null;
    for (const { id, metadata } of records)
      this.#recorder.note(id, { kind: 'write', value: metadata.value, sent: told.sent, answered });
  }

  async #delete(): Promise<void> {
    const ids = this.#pick(2);
    const told = await this.#recorder.ask<{ deletedCount: number }>({
      client: this.#client,
      kind: 'delete',
      records: ids.length,
      shards: this.#shardsOf(ids),
      body: { ids },
    });
    if (told.outcome === 'refused') return;
    const answered = told.outcome === 'ok' ? told.answered : null;
    // A count of two records does not say which of them was there.
    const count = told.body?.deletedCount;
    const existed = count === 0 ? false : count === ids.length ? true : undefined;
    for (const id of ids) this.#recorder.note(id, { kind: 'delete', value: null, existed, sent: told.sent, answered });
  }

  async #query(): Promise<void> {
    const group = this.#group();
    const told = await this.#recorder.ask<{ matches: Item[] }>({
      client: this.#client,
      kind: 'query',
      records: 0,
      shards: Array.from({ length: this.#shards }, (_, index) => index),
      body: { vector: [1, 1, 1], topK: 100, filter: { group }, includeValues: true },
    });
    if (told.body) this.#noteReads(idsOf(group), told.body.matches, told);
  }

  async #fetch(): Promise<void> {
    const ids = this.#pick(6);
    const told = await this.#recorder.ask<{ vectors: Record<string, Item> }>({
      client: this.#client,
      kind: 'fetch',
      records: 0,
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
