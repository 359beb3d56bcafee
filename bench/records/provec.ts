import { Agent } from 'node:http';
import type { Readable } from 'node:stream';
import { type Dataset, recordsOf } from '../dataset.ts';
import { post, type Target } from '../http-request.ts';
import { untilIndexed } from '../until-indexed.ts';
import type { BenchedDatabase, Condition, ListPosition } from './peer.ts';

const NAME = 'records';
const LINES = 500;

const filterOf = (conditions: Condition[]): object =>
  Object.fromEntries(
    conditions.map(({ field, equals, within }) => [field, equals ?? { $gte: within![0], $lt: within![1] }]),
  );

/** A running service, over HTTP; creates its own collection. */
export class Provec implements BenchedDatabase {
  readonly name = 'provec';
  readonly #target: Target;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  /** Cursor of the current listing. */
  #cursor: string | undefined;

  constructor(target: Target) {
    this.#target = target;
  }

  async version(): Promise<string> {
    const document = await fetch(`${this.#target.url}/openapi.json`);
    return ((await document.json()) as { info: { version: string } }).info.version;
  }

  async import(data: Dataset): Promise<void> {
    const { status, text } = await post(
      this.#target,
      this.#agent,
      '/collections',
      JSON.stringify({ name: NAME, dimensions: data.dims }),
    );
    if (status !== 201) throw new Error(`create: ${status} ${text}`);
    let from = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (from >= data.ids.length) return controller.close();
        const lines = recordsOf(data, from, from + LINES).map((record) => `${JSON.stringify(record)}\n`);
        from += LINES;
        controller.enqueue(new TextEncoder().encode(lines.join('')));
      },
    });
    await this.#fetch('POST', 'import', body);
  }

  async indexed(): Promise<void> {
    await untilIndexed(this.#target);
  }

  async export(): Promise<number> {
    const response = await this.#fetch('GET', 'export');
    let lines = 0;
    for await (const chunk of response.body as unknown as Readable)
      for (const byte of chunk as Uint8Array) if (byte === 10) lines++;
    // The first and the last line of an export are not records.
    return lines - 2;
  }

  async list({ afterId }: ListPosition, limit: number): Promise<string[]> {
    if (afterId !== null && this.#cursor === undefined) return [];
    const cursor = afterId === null ? {} : { cursor: this.#cursor };
    const { records, nextCursor } = await this.#ask<{ records: { id: string }[]; nextCursor?: string }>('list', {
      limit,
      includeMetadata: true,
      ...cursor,
    });
    this.#cursor = nextCursor;
    return records.map(({ id }) => id);
  }

  async count(conditions: Condition[]): Promise<number> {
    return (await this.#ask<{ count: number }>('count', { filter: filterOf(conditions) })).count;
  }

  async facets(field: string, limit: number): Promise<{ value: string; count: number }[]> {
    return (await this.#ask<{ values: { value: string; count: number }[] }>('facets', { field, limit })).values;
  }

  async updateIds(ids: string[], field: string, value: number): Promise<void> {
    await this.#ask('update', { updates: ids.map((id) => ({ id, setMetadata: { [field]: value } })) });
  }

  async updateWhere(conditions: Condition[], field: string, value: number): Promise<number> {
    const body = { filter: filterOf(conditions), setMetadata: { [field]: value } };
    return (await this.#ask<{ updatedCount: number }>('update', body)).updatedCount;
  }

  async deleteWhere(conditions: Condition[]): Promise<number> {
    return (await this.#ask<{ deletedCount: number }>('delete', { filter: filterOf(conditions) })).deletedCount;
  }

  async upsert(data: Dataset, rows: number[]): Promise<void> {
    await this.#ask('upsert', { records: rows.flatMap((row) => recordsOf(data, row, row + 1)) });
  }

  async queries(vectors: Float32Array[], topK: number): Promise<string[][]> {
    const queries = vectors.map((vector) => ({ vector: Array.from(vector), topK }));
    const { results } = await this.#ask<{ results: { matches: { id: string }[] }[] }>('queries', { queries });
    return results.map(({ matches }) => matches.map(({ id }) => id));
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  async #ask<T>(operation: string, body: object): Promise<T> {
    const path = `/collections/${NAME}/${operation}`;
    const { status, text } = await post(this.#target, this.#agent, path, JSON.stringify(body));
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    return JSON.parse(text) as T;
  }

  async #fetch(method: string, operation: string, body?: ReadableStream): Promise<Response> {
    const { url, key } = this.#target;
    const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/x-ndjson' }) };
    const init = { method, headers, body, ...(body && { duplex: 'half' }) } as RequestInit;
    const response = await fetch(`${url}/api/v1/collections/${NAME}/${operation}`, init);
    if (!response.ok) throw new Error(`${operation}: ${response.status} ${(await response.text()).slice(0, 300)}`);
    if (body) await response.text();
    return response;
  }
}
