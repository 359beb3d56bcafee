/**
 * Reads a PostgreSQL table with a pgvector column. Rows come in the order of the id, which
 * must be unique; a position is the id of the last row. One run reads one snapshot.
 */
import pg from 'pg';
import { InputError } from '../../client/cli/json-file.ts';
import { commandSignal } from '../interruption.ts';
import type { Issue } from './issues.ts';
import { parseSourceJson } from './json-answer.ts';
import {
  COLUMNS,
  type Column,
  type ColumnNames,
  dimensionsOf,
  type Row,
  type Shape,
  selectOf,
  shapeOf,
} from './pgvector-shape.ts';
import type { Metric, PageBegin, Source, SourceDescription, SourcePage, SourceRecord } from './port.ts';
import { SourceError } from './source-error.ts';

const CONNECT_MS = 15_000;
const QUERY_MS = 60_000;
const METRICS: readonly [opclass: RegExp, metric: Metric][] = [
  [/_cosine_ops$/, 'cosine'],
  [/_l2_ops$/, 'euclidean'],
  [/_ip_ops$/, 'dot'],
];
/** Classes of PostgreSQL errors that a retry cannot fix. */
const REFUSAL = /^(22|28|3D|42)/;

export interface PgvectorOptions extends ColumnNames {
  /** Address without a password; by default, the variables of libpq say where the server is. */
  from?: string;
}

export function openPgvector(options: PgvectorOptions): Source {
  const { from } = options;
  if (from !== undefined && (!URL.canParse(from) || !/^postgres(ql)?:$/.test(new URL(from).protocol)))
    throw new InputError('--from must be an address such as postgres://user@host:5432/database.');
  if (from !== undefined && new URL(from).password !== '')
    throw new InputError('--from must not hold a password. Set PGPASSWORD, or use the file ~/.pgpass.');
  return new Pgvector(options);
}

class Pgvector implements Source {
  readonly #options: PgvectorOptions;
  #client: pg.Client | undefined;
  #shape: Shape | undefined;

  constructor(options: PgvectorOptions) {
    this.#options = options;
  }

  async describe(): Promise<SourceDescription> {
    const { source } = this.#options;
    const shape = await this.#shaped();
    const { id, vector, metadata, namespace, fields } = shape;
    const [[count], [place], opclasses] = [
      await this.#query<{ count: string }>(`SELECT count(*)::text AS count FROM ${await this.#table()}`),
      await this.#query<{ database: string; host: string }>(
        `SELECT current_database() AS database, coalesce(host(inet_server_addr()), 'socket') || ':' || coalesce(inet_server_port()::text, '') AS host`,
      ),
      await this.#query<{ name: string }>(OPCLASSES, [await this.#table(), vector.name]),
    ];
    const metric = metricOf(opclasses.map(({ name }) => name));
    return {
      identity: {
        kind: 'pgvector',
        server: place!.host,
        database: place!.database,
        table: source,
        id: id.name,
        vector: vector.name,
      },
      count: Number(count!.count),
      dimensions: dimensionsOf(shape),
      metric,
      mapping: [
        { there: id.name, here: 'id, as text' },
        { there: `${vector.name} (${vector.type})`, here: 'values, as float32' },
        ...(namespace === null ? [] : [{ there: namespace.name, here: 'namespace' }]),
        ...(metadata === null ? [] : [{ there: metadata.name, here: 'metadata' }]),
        ...fields.map(({ name, type }) => ({
          there: `${name} (${type})`,
          here: `metadata field "${name}", as row_to_json gives it`,
        })),
      ],
    };
  }

  async *pages({ position, pageRecords }: PageBegin): AsyncGenerator<SourcePage, void, undefined> {
    const shape = await this.#shaped();
    const select = selectOf(shape, await this.#table());
    await this.#query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    try {
      for (let after = position; ; ) {
        const rows = await this.#query<Row>(select(after !== null, pageRecords), after === null ? [] : [after]);
        const last = rows.at(-1);
        if (last === undefined) return;
        after = last.id;
        yield { records: rows.map((row) => recordOf(row)), next: after };
      }
    } finally {
      await this.#query('COMMIT');
    }
  }

  async close(): Promise<void> {
    await this.#client?.end();
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    const client = new pg.Client({
      ...(this.#options.from !== undefined && { connectionString: this.#options.from }),
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      application_name: 'provec import-from',
    });
    // The query that was running reports the same error.
    client.on('error', () => undefined);
    await client.connect().catch((error: unknown) => {
      throw sourceError(error as Error);
    });
    this.#client = client;
    return client;
  }

  async #query<T extends object>(text: string, values: unknown[] = []): Promise<T[]> {
    commandSignal.throwIfAborted();
    const client = await this.#connected();
    try {
      return (await client.query<T>(text, values)).rows;
    } catch (error) {
      throw sourceError(error as Error);
    }
  }

  /** Returns the table's name as SQL. */
  async #table(): Promise<string> {
    const [found] = await this.#query<{ name: string | null }>('SELECT to_regclass($1)::text AS name', [
      this.#options.source,
    ]);
    if (found?.name == null) throw new InputError(`The database has no table ${this.#options.source}.`);
    return found.name;
  }

  async #shaped(): Promise<Shape> {
    this.#shape ??= shapeOf(await this.#query<Column>(COLUMNS, [await this.#table()]), this.#options);
    return this.#shape;
  }
}

const OPCLASSES = `
  SELECT o.opcname AS name
  FROM pg_index i JOIN pg_opclass o ON o.oid = ANY (i.indclass)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
  WHERE i.indrelid = to_regclass($1) AND a.attname = $2`;

function metricOf(opclasses: readonly string[]): SourceDescription['metric'] {
  for (const [pattern, here] of METRICS) {
    const there = opclasses.find((name) => pattern.test(name));
    if (there !== undefined) return { there, here };
  }
  return null;
}

function recordOf({ id, vector, metadata, namespace, fields, sparse, others }: Row): SourceRecord {
  const issues: Issue[] = [];
  if (sparse) issues.push('sparse-vector');
  if (others) issues.push('other-vector');
  return {
    id,
    values: vector === null ? null : (JSON.parse(vector) as number[]),
    metadata: objectIn(metadata ?? '{}', id),
    fields: objectIn(fields, id),
    issues,
    ...(namespace !== null && { namespace }),
  };
}

function objectIn(text: string, id: string): Record<string, unknown> {
  const value = parsed(text) ?? {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new InputError(`The metadata of the row ${JSON.stringify(id)} is not a JSON object.`);
}

function parsed(text: string): unknown {
  try {
    return parseSourceJson(text);
  } catch {
    // The column holds text that is not JSON; the caller refuses it.
    return text;
  }
}

/** Returns an error that names no password. */
function sourceError(error: Error & { code?: string }): SourceError {
  const status = REFUSAL.test(error.code ?? '') ? 400 : null;
  return new SourceError(`PostgreSQL: ${error.message || error.code}`, status, { cause: error });
}
