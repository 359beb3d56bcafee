import { once } from 'node:events';
import postgres from 'postgres';
import { type Dataset, recordsOf } from '../dataset.ts';
import type { BenchedDatabase, Condition, ListPosition } from './peer.ts';

const ROWS = 500;
const QUERY_WIDTH = 100;

type Sent = { id: string; values: number[]; metadata: Record<string, unknown> };

const vectorOf = (values: ArrayLike<number>): string => JSON.stringify(Array.from(values));

/** A path predicate, which the index on the metadata can serve. */
function pathOf(conditions: Condition[]): string {
  const parts = conditions.flatMap(({ field, equals, within }) =>
    equals === undefined
      ? [`$.${JSON.stringify(field)} >= ${within![0]}`, `$.${JSON.stringify(field)} < ${within![1]}`]
      : [`$.${JSON.stringify(field)} == ${JSON.stringify(equals)}`],
  );
  return parts.join(' && ');
}

/**
 * A running PostgreSQL with pgvector, over one connection; creates a table `records`. Loads rows by
 * COPY first and builds the HNSW index afterwards, as pgvector's manual advises.
 */
export class Pgvector implements BenchedDatabase {
  readonly name = 'pgvector';
  readonly #sql: postgres.Sql;

  constructor(url: string) {
    this.#sql = postgres(url, { max: 1, onnotice: () => undefined });
  }

  async version(): Promise<string> {
    await this.#sql`CREATE EXTENSION IF NOT EXISTS vector`;
    const [row] = await this.#sql`SELECT extversion, current_setting('server_version') AS server
      FROM pg_extension WHERE extname = 'vector'`;
    return `${row!.extversion} (PostgreSQL ${row!.server})`;
  }

  async import(data: Dataset): Promise<void> {
    const sql = this.#sql;
    await sql`DROP TABLE IF EXISTS records`;
    await sql.unsafe(`CREATE TABLE records (id text PRIMARY KEY, embedding vector(${data.dims}), metadata jsonb)`);
    await sql`CREATE INDEX ON records USING gin (metadata jsonb_path_ops)`;
    const writable = await sql`COPY records FROM STDIN`.writable();
    for (let from = 0; from < data.ids.length; from += ROWS) {
      const lines = (recordsOf(data, from, from + ROWS) as Sent[]).map(
        ({ id, values, metadata }) =>
          `${id}\t${vectorOf(values)}\t${JSON.stringify(metadata).replaceAll('\\', '\\\\')}\n`,
      );
      if (!writable.write(lines.join(''))) await once(writable, 'drain');
    }
    writable.end();
    await once(writable, 'finish');
  }

  async indexed(): Promise<void> {
    await this.#sql`CREATE INDEX ON records USING hnsw (embedding vector_cosine_ops)`;
    await this.#sql`ANALYZE records`;
    // The lowest setting that reaches the recall of the other databases.
    await this.#sql.unsafe(`SET hnsw.ef_search = ${QUERY_WIDTH}`);
  }

  async export(): Promise<number> {
    const readable = await this.#sql`COPY records TO STDOUT`.readable();
    let lines = 0;
    for await (const chunk of readable) for (const byte of chunk as Uint8Array) if (byte === 10) lines++;
    return lines;
  }

  async list({ afterId }: ListPosition, limit: number): Promise<string[]> {
    const rows = await this.#sql<{ id: string }[]>`SELECT id, metadata FROM records
      WHERE id > ${afterId ?? ''} ORDER BY id LIMIT ${limit}`;
    return rows.map(({ id }) => id);
  }

  async count(conditions: Condition[]): Promise<number> {
    const [row] = await this.#sql`SELECT count(*) FROM records WHERE metadata @@ ${pathOf(conditions)}::jsonpath`;
    return Number(row!.count);
  }

  async facets(field: string, limit: number): Promise<{ value: string; count: number }[]> {
    const rows = await this.#sql<{ value: string; count: string }[]>`SELECT metadata->>${field} AS value, count(*)
      FROM records GROUP BY 1 ORDER BY 2 DESC LIMIT ${limit}`;
    return rows.map(({ value, count }) => ({ value, count: Number(count) }));
  }

  async updateIds(ids: string[], field: string, value: number): Promise<void> {
    const patch = { [field]: value };
    await this.#sql`UPDATE records SET metadata = metadata || ${this.#sql.json(patch)} WHERE id = ANY(${ids})`;
  }

  async updateWhere(conditions: Condition[], field: string, value: number): Promise<number> {
    const patch = { [field]: value };
    const { count } = await this.#sql`UPDATE records SET metadata = metadata || ${this.#sql.json(patch)}
      WHERE metadata @@ ${pathOf(conditions)}::jsonpath`;
    return count;
  }

  async deleteWhere(conditions: Condition[]): Promise<number> {
    return (await this.#sql`DELETE FROM records WHERE metadata @@ ${pathOf(conditions)}::jsonpath`).count;
  }

  async upsert(data: Dataset, rows: number[]): Promise<void> {
    const sent = rows.flatMap((row) => recordsOf(data, row, row + 1)) as Sent[];
    const [ids, vectors] = [sent.map(({ id }) => id), sent.map(({ values }) => vectorOf(values))];
    const metadata = sent.map((record) => JSON.stringify(record.metadata));
    await this.#sql`INSERT INTO records
      SELECT * FROM unnest(${ids}::text[], ${vectors}::text[]::vector[], ${metadata}::text[]::jsonb[])
      ON CONFLICT (id) DO UPDATE SET embedding = excluded.embedding, metadata = excluded.metadata`;
  }

  async queries(vectors: Float32Array[], topK: number): Promise<string[][]> {
    const asked = vectors.map(vectorOf);
    const rows = await this.#sql<{ at: string; id: string }[]>`
      WITH asked AS MATERIALIZED (
        SELECT vector::vector AS vector, at FROM unnest(${asked}::text[]) WITH ORDINALITY AS given(vector, at)
      )
      SELECT asked.at, best.id, best.metadata, best.score FROM asked, LATERAL (
        SELECT id, metadata, 1 - (embedding <=> asked.vector) AS score FROM records
        ORDER BY embedding <=> asked.vector LIMIT ${topK}
      ) AS best`;
    const results = vectors.map((): string[] => []);
    for (const { at, id } of rows) results[Number(at) - 1]!.push(id);
    return results;
  }

  close(): Promise<void> {
    return this.#sql.end();
  }
}
