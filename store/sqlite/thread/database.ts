/**
 * One SQLite file in WAL mode, shared with other processes that have the folder open, and this
 * thread's one writing connection to it.
 *
 * Guarantees: commits are on the disk (`synchronous = FULL`). Statements outside transactions wait
 * for other connections instead of failing. `fresh` reads the file, never this process's cache.
 * While the file has a trigger, a view or a column that this version does not create, nothing is
 * committed or read by `fresh`. On failure: errors of node:sqlite, which `sqliteFailure` converts;
 * 'unavailable' if another process, such as one stopped in the middle of a commit, locks the file
 * for longer than `LOCK_MAX_MS`.
 */

import { closeSync, openSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { systemCode } from '../../../lib/host/system-error.ts';
import { StoreError } from '../../port.ts';
import { damagedFile, isBusy, isCorruption } from '../store-failure.ts';
import { mistypedColumn, mistypedRows, type TableColumn } from './column-types.ts';
import { Schema } from './schema.ts';

/** A part of the port with synchronous methods. */
export type Sync<Part> = {
  [M in keyof Part]: Part[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

export interface DatabaseOptions {
  path: string;
  /** SQL that creates missing tables. */
  schema: string;
  /** SQL of tables that the file may have, created on first use. */
  later?: string;
  /**
   * Tables whose rows a seal or a decoder checks one by one. A key of the wrong type in one of them
   * does not stop the opening.
   */
  judged?: readonly string[];
  /** Page size in bytes, used only when the file is created. */
  pageBytes: number;
  /** Whether the tables must already exist. */
  made: boolean;
  maxPages?: number | null;
  /** Checks an existing file before anything is written to it; throws to refuse it. */
  inspect?(connection: DatabaseSync): void;
  /** Advice for the error message if the file is damaged. */
  advice?: string;
}

/** Numbers of WAL frames, of one page each. */
interface Checkpoint {
  log: number;
  checkpointed: number;
}

export const LOCK_MAX_MS = 10_000;
/** SQLite's own busy handler sleeps up to 100 ms at a time and starves a process for seconds. */
const NAP_MIN_MS = 0.3;
const NAP_SPREAD_MS = 1;
/**
 * Largest file that is checked completely when it is opened; pages of larger files are only checked
 * when they are used.
 */
const CHECKED_MAX_BYTES = 256 * 1024 * 1024;
/** Finding of SQLite's check for a value whose type is not its column's. */
const MISTYPED = /^(?:NULL|non-[A-Z]+) value in (\w+\.\w+)$/;
const FINDINGS_MAX = 2 ** 30;
/** Size in bytes to which the WAL file is truncated after a checkpoint. */
const WAL_KEPT_MAX_BYTES = 64 * 1024 * 1024;
const NAP_CELL = new Int32Array(new SharedArrayBuffer(4));

/** Retries work that another connection blocked, from its beginning. Blocks the thread. */
export function retryWhileBusy<T>(attempt: () => T): T {
  const endMs = performance.now() + LOCK_MAX_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > endMs) throw error;
      nap();
    }
  }
}

export function nap(): void {
  Atomics.wait(NAP_CELL, 0, 0, NAP_MIN_MS + Math.random() * NAP_SPREAD_MS);
}

/**
 * Converts a row's integers to numbers. Those past 2^53, which no service writes and no seal
 * matches, are rounded; node:sqlite would throw for them, and one such row would hide all others.
 */
function rounded<Row extends Record<string, unknown> | undefined>(row: Row): Row {
  const columns: Record<string, unknown> = row ?? {};
  for (const name in columns) if (typeof columns[name] === 'bigint') columns[name] = Number(columns[name]);
  return row;
}

/**
 * Creates the file, readable by its owner only; SQLite gives the files beside it the same
 * permissions.
 */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

interface Prepared {
  statement: StatementSync;
  /** Result columns that come straight from a table. */
  columns: TableColumn[];
}

/** Returns a row with the types that SQLite found, which may not be those of `Row`. */
export function freshRow<Row>(connection: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return connection.prepare(sql).get(...values) as Row | undefined;
}

/** Like `freshRow`, for all rows. */
export function freshRows<Row>(
  connection: DatabaseSync,
  sql: string,
  ...values: SQLInputValue[]
): IterableIterator<Row> {
  return connection.prepare(sql).iterate(...values) as unknown as IterableIterator<Row>;
}

export class Database {
  readonly name: string;
  readonly #options: DatabaseOptions;
  readonly #schema: Schema;
  /**
   * SQLite's `schema_version` at the last successful check; null before the first. SQLite uses the
   * same number to detect stale statements, so a schema change that was hidden by resetting the
   * number has no effect on this connection.
   */
  #soundSchemaVersion: number | null = null;
  /** Set if another connection found a difference. The next commits then check again. */
  #isSchemaDoubted = false;
  readonly #statements = new Map<string, Prepared>();
  readonly #connection: DatabaseSync;
  readonly #mistyped: string[] = [];

  /** Opens or creates the file. Throws StoreError 'damaged' or an error of node:sqlite. */
  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#schema = new Schema(options.schema, options.later);
    this.name = basename(options.path);
    try {
      if (options.made) this.#check();
      else makeFile(options.path);
      this.#connection = this.#connect();
    } catch (error) {
      throw this.#refusal(error);
    }
    try {
      if (!options.made) retryWhileBusy(() => this.tryTransaction(() => this.#connection.exec(options.schema)));
      this.assertSchema();
    } catch (error) {
      this.#connection.close();
      throw this.#refusal(error);
    }
  }

  /** Like `all`, throws StoreError 'damaged' if a value has another type than its column. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#do(sql, values, ({ statement, columns }) => this.#typed(statement.get(...values), columns)) as
      | Row
      | undefined;
  }

  /** Like `get`, for a query that always has a row. Throws RangeError if it has none. */
  getOne<Row>(sql: string, ...values: SQLInputValue[]): Row {
    const row = this.get<Row>(sql, ...values);
    if (row === undefined) throw new RangeError(`no row for: ${sql}`);
    return row;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#do(sql, values, ({ statement, columns }) =>
      statement.all(...values).map((row) => this.#typed(row, columns)),
    ) as Row[];
  }

  /**
   * Like `get`, for rows that are verified by their seals. Values may have any type, so that a
   * malformed row hides no other.
   */
  getUntyped<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#do(sql, values, ({ statement }) => rounded(statement.get(...values))) as Row | undefined;
  }

  allUntyped<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#do(sql, values, ({ statement }) => statement.all(...values).map(rounded)) as Row[];
  }

  /** Returns the first row, untyped, for which `isIt` is true; reads no further. */
  find<Row>(sql: string, values: SQLInputValue[], isIt: (row: Row) => boolean): Row | undefined {
    return this.#do(sql, values, ({ statement }) => {
      for (const each of statement.iterate(...values)) {
        const row = rounded(each) as Row;
        if (isIt(row)) return row;
      }
      return undefined;
    });
  }

  /** Describes values of other types that the file held when it was opened, each in a sentence. */
  get mistyped(): readonly string[] {
    return this.#mistyped;
  }

  /** Another number after each commit of another connection, of this process or another one. */
  get dataVersion(): number {
    return this.getOne<{ data_version: number }>('PRAGMA data_version').data_version;
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return this.#do(sql, values, ({ statement }) => Number(statement.run(...values).changes));
  }

  /**
   * Runs `work` with the write lock and commits; rolls back if it throws. Does not wait for other
   * connections.
   */
  tryTransaction<T>(work: () => T): T {
    this.#connection.exec('BEGIN IMMEDIATE');
    try {
      // The check comes after the lock, so that the schema cannot change until the commit.
      if (this.#soundSchemaVersion !== null) this.assertSchema();
      const result = work();
      this.#connection.exec('COMMIT');
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /**
   * Throws StoreError 'changed' while the file has something that this version does not make: a
   * write would not store what was asked for.
   */
  assertSchema(): void {
    const { schema_version: version } = this.getOne<{ schema_version: number }>('PRAGMA schema_version');
    if (version === this.#soundSchemaVersion && !this.#isSchemaDoubted) return;
    this.compareSchema();
    this.#soundSchemaVersion = version;
    this.#isSchemaDoubted = false;
  }

  /** Same as `assertSchema`, even if the file's schema version has not changed. */
  compareSchema(connection = this.#connection): void {
    const difference = this.#schema.difference(connection);
    if (difference === null) return;
    this.#isSchemaDoubted = true;
    throw new StoreError('changed', this.#changed(difference).message);
  }

  /**
   * Runs `work` in a savepoint: if it throws, its changes are undone and the outer transaction
   * continues.
   */
  inSavepoint<T>(work: () => T): T {
    this.#connection.exec('SAVEPOINT operation');
    try {
      const result = work();
      this.#connection.exec('RELEASE operation');
      return result;
    } catch (error) {
      // A full disk rolls back the whole transaction.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK TO operation; RELEASE operation');
      throw error;
    }
  }

  /** Whether the transaction begun by `tryTransaction` is still open. */
  get isInTransaction(): boolean {
    return this.#connection.isTransaction;
  }

  /** Reads through a new connection with an empty cache. */
  fresh<T>(read: (connection: DatabaseSync) => T): T {
    const connection = this.freshConnection();
    try {
      return retryWhileBusy(() => read(connection));
    } finally {
      connection.close();
    }
  }

  /**
   * A connection that only reads and has nothing cached; the caller closes it. Throws StoreError
   * 'changed' as `compareSchema` does.
   */
  freshConnection(): DatabaseSync {
    const connection = new DatabaseSync(this.#options.path, { readOnly: true, timeout: 0 });
    try {
      retryWhileBusy(() => this.compareSchema(connection));
      return connection;
    } catch (error) {
      connection.close();
      // A file that is refused to readers is not written to either.
      this.#isSchemaDoubted = true;
      throw error;
    }
  }

  /**
   * Copies committed pages from the WAL to the file as far as readers allow, without waiting.
   * Returns the number of bytes left.
   */
  checkpoint(): number {
    return this.#checkpoint('PASSIVE');
  }

  /** Bytes of WAL pages not yet copied to the file. */
  get walBytes(): number {
    // SQLite before 3.51 does not know NOOP and checkpoints instead: the same result, only slower.
    return this.#checkpoint('NOOP');
  }

  /** Bytes of unused pages in the file. */
  get freeListBytes(): number {
    return this.getOne<{ freelist_count: number }>('PRAGMA freelist_count').freelist_count * this.#options.pageBytes;
  }

  get walFileBytes(): number {
    return statSync(`${this.#options.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * Drops cached pages, so that bytes changed on the disk are neither hidden from reads nor
   * overwritten by the next commit.
   */
  forgetCache(): void {
    this.#connection.exec('PRAGMA shrink_memory');
  }

  /** The last connection to close copies the WAL to the file and removes it. */
  close(): void {
    this.#connection.close();
  }

  #checkpoint(mode: 'PASSIVE' | 'NOOP'): number {
    const { log, checkpointed } = this.getOne<Checkpoint>(`PRAGMA wal_checkpoint(${mode})`);
    return (log - checkpointed) * this.#options.pageBytes;
  }

  #connect(): DatabaseSync {
    const { path, pageBytes, maxPages } = this.#options;
    const connection = new DatabaseSync(path, { timeout: 0 });
    try {
      connection.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF`);
      // Processes that create a file at the same time collide here.
      const mode = retryWhileBusy(() => connection.prepare('PRAGMA journal_mode = WAL').get());
      if (mode?.journal_mode !== 'wal') throw new Error(`${this.name} cannot be put into WAL mode here`);
      connection.exec('PRAGMA synchronous = FULL');
      connection.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${WAL_KEPT_MAX_BYTES}`);
      if (maxPages) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
      // Without write permission SQLite silently opens the file read-only.
      retryWhileBusy(() => connection.exec('BEGIN IMMEDIATE; ROLLBACK'));
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** An opening calls every difference damage. */
  #refusal(error: unknown): unknown {
    if (error instanceof StoreError && error.kind === 'changed') return new StoreError('damaged', error.message);
    return isCorruption(error) ? this.#damaged(`is damaged (${(error as Error).message})`) : error;
  }

  #changed(difference: string): StoreError {
    const { advice = 'undo what changed it, or put back a backup of the whole directory' } = this.#options;
    return damagedFile(this.name, difference, advice);
  }

  #damaged(what: string): StoreError {
    return damagedFile(this.name, what, this.#options.advice);
  }

  /**
   * Uses a read-only connection: closing the last writable one would copy the sound part of a WAL
   * to the file and remove the rest.
   */
  #check(): void {
    const { path, inspect } = this.#options;
    const { size } = statSync(path);
    // SQLite treats an empty file as an empty database.
    if (size === 0) throw this.#damaged('is empty');
    this.fresh((connection) => {
      inspect?.(connection);
      if (size <= CHECKED_MAX_BYTES) this.#checkAll(connection);
    });
  }

  /** Throws StoreError 'damaged' for all that does not concern a single row. */
  #checkAll(connection: DatabaseSync): void {
    const mistypedColumns = new Set<TableColumn>();
    for (const row of connection.prepare(`PRAGMA integrity_check(${FINDINGS_MAX})`).iterate()) {
      const finding = String(row.integrity_check);
      const column = this.#schema.column(MISTYPED.exec(finding)?.[1] ?? '');
      if (column !== undefined) mistypedColumns.add(column);
      else if (finding !== 'ok') throw this.#damaged(`is damaged (${finding})`);
    }
    for (const column of mistypedColumns) {
      const difference = mistypedRows(connection, column);
      if (difference === null) continue;
      const isJudged = this.#options.judged?.includes(column.table) ?? false;
      // A row with such a key is not found, as if it did not exist.
      if (column.isKey && !isJudged) throw this.#changed(difference);
      this.#mistyped.push(`${this.name} ${difference}`);
    }
  }

  /** The row with its integers as numbers. */
  #typed<Row extends Record<string, unknown> | undefined>(row: Row, columns: readonly TableColumn[]): Row {
    const column = row && mistypedColumn(row, columns);
    if (column === undefined) return rounded(row);
    throw this.#changed(mistypedRows(this.#connection, column) ?? `has a value of another type in ${column.place}`);
  }

  #do<T>(sql: string, values: SQLInputValue[], use: (prepared: Prepared) => T): T {
    // Two different ill-formed strings can have the same UTF-8 encoding.
    for (const value of values) {
      if (typeof value === 'string' && !value.isWellFormed()) throw new RangeError('an id must be well-formed Unicode');
    }
    // Inside a transaction there is no retry: waiting would block the other connections.
    if (this.#connection.isTransaction) return use(this.#statement(sql));
    return retryWhileBusy(() => use(this.#statement(sql)));
  }

  #statement(sql: string): Prepared {
    let prepared = this.#statements.get(sql);
    if (prepared === undefined) {
      const statement = this.#connection.prepare(sql);
      statement.setReadBigInts(true);
      prepared = { statement, columns: this.#schema.columnsOf(statement) };
      this.#statements.set(sql, prepared);
    }
    return prepared;
  }

  #rollBack(): void {
    if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK');
  }
}
