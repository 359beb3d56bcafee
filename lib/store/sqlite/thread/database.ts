/**
 * One SQLite file in WAL mode, shared with the other processes that have the folder open, and the
 * one connection of this thread that writes to it.
 *
 * Promises: what is committed is on the disk (`synchronous = FULL`); a statement outside of a
 * transaction waits for others instead of failing; `fresh` reads what the file holds now, never
 * what this process has cached of it; nothing is committed, and nothing is read afresh, while the
 * file has a trigger, a view or a column that this version does not make. Fails: with the errors of
 * node:sqlite, which `storeFailure` puts into the port's terms; 'unavailable' when somebody keeps
 * the file locked for longer than `LOCK_MAX_MS`, as a process does that is stopped (SIGSTOP) in the
 * middle of a commit.
 */
import { closeSync, openSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { StoreError } from '../../port.ts';
import { damagedFile, isBusy, isOfDamage } from '../store-failure.ts';
import { type Column, mistypedColumn, mistypedRows } from './column-types.ts';
import { Schema } from './schema.ts';

/** A part of the port as its tables have it. */
export type Sync<Part> = {
  [M in keyof Part]: Part[M] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

export interface DatabaseOptions {
  path: string;
  /** Makes the tables where they are missing. */
  schema: string;
  /** Makes what the file need not have yet. */
  later?: string;
  /**
   * Tables whose rows are judged one by one, by a seal or a decoder. A key of another type in one
   * of them does not stop the opening.
   */
  judged?: readonly string[];
  /** Bytes; only for a file that is made now. */
  pageBytes: number;
  /** Whether its tables must be there already. */
  made: boolean;
  maxPages?: number | null;
  /**
   * Looks at a file that was there already, before anything is written to it; throws what stands
   * against it.
   */
  inspect?(connection: DatabaseSync): void;
  /** What to do where it is damaged. */
  advice?: string;
}

/** Numbers of frames, of a page each. */
interface Checkpoint {
  log: number;
  checkpointed: number;
}

export const LOCK_MAX_MS = 10_000;
/** SQLite's own busy handler sleeps up to 100 ms at a time and starves a process for seconds. */
const NAP_MIN_MS = 0.3;
const NAP_SPREAD_MS = 1;
/**
 * A file of up to this size is read through when it is opened; a larger one is looked at page by
 * page as it is used.
 */
const CHECKED_MAX_BYTES = 256 * 1024 * 1024;
/** What SQLite's check says of a value of another type than its column's. */
const MISTYPED = /^(?:NULL|non-[A-Z]+) value in (\w+\.\w+)$/;
const FINDINGS_MAX = 2 ** 30;
/** What the log of changes may keep of the disk when it has been checkpointed. */
const WAL_KEPT_MAX_BYTES = 64 * 1024 * 1024;
const NAP_CELL = new Int32Array(new SharedArrayBuffer(4));

/**
 * Tries again, from its beginning, what another connection was in the way of. Blocks the thread.
 */
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

/** Blocks the thread for about a millisecond. */
export function nap(): void {
  Atomics.wait(NAP_CELL, 0, 0, NAP_MIN_MS + Math.random() * NAP_SPREAD_MS);
}

/**
 * The row with its integers as numbers: the nearest for one past 2^53, which no service writes, and
 * which fits no seal. node:sqlite throws for such a one, so that its row would hide all others.
 */
function rounded<Row extends Record<string, unknown> | undefined>(row: Row): Row {
  const columns: Record<string, unknown> = row ?? {};
  for (const name in columns) if (typeof columns[name] === 'bigint') columns[name] = Number(columns[name]);
  return row;
}

/** For its owner alone, as SQLite makes the files beside it then. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

interface Prepared {
  statement: StatementSync;
  /** Result columns that come straight from a table. */
  columns: Column[];
}

export class Database {
  readonly name: string;
  readonly #options: DatabaseOptions;
  readonly #schema: Schema;
  /**
   * SQLite's count of the changes of the schema, when it was found to be as it should be; null
   * until it was looked at. By the same count SQLite itself knows that its statements are stale:
   * what somebody changed and then set the count back has no effect on this connection.
   */
  #soundSchemaVersion: number | null = null;
  /** Set when another connection found a difference; the next commits check again. */
  #isSchemaDoubted = false;
  readonly #statements = new Map<string, Prepared>();
  readonly #connection: DatabaseSync;
  readonly #mistyped: string[] = [];

  /** Opens or makes the file. Throws StoreError 'damaged' or an error of node:sqlite. */
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

  /** Throws StoreError 'damaged' for a value of another type than its column's, as `all` does. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#do(sql, values, ({ statement, columns }) => this.#typed(statement.get(...values), columns)) as
      | Row
      | undefined;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#do(sql, values, ({ statement, columns }) =>
      statement.all(...values).map((row) => this.#typed(row, columns)),
    ) as Row[];
  }

  /**
   * As `get`, for a row that is judged by its seal. Its values may be of any type, so that a
   * malformed row hides no other.
   */
  getUntyped<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#do(sql, values, ({ statement }) => rounded(statement.get(...values))) as Row | undefined;
  }

  allUntyped<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#do(sql, values, ({ statement }) => statement.all(...values).map(rounded)) as Row[];
  }

  /** The first row that `isIt` takes, untyped; reads no further. */
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
    return this.get<{ data_version: number }>('PRAGMA data_version')!.data_version;
  }

  /** The number of rows that it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return this.#do(sql, values, ({ statement }) => Number(statement.run(...values).changes));
  }

  /**
   * Runs `work` with the lock for writing, and commits; whatever is thrown undoes it. Does not wait
   * for others.
   */
  tryTransaction<T>(work: () => T): T {
    this.#connection.exec('BEGIN IMMEDIATE');
    try {
      // With the lock, so that it stays as it is until the end.
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
    const { schema_version: version } = this.get<{ schema_version: number }>('PRAGMA schema_version')!;
    if (version === this.#soundSchemaVersion && !this.#isSchemaDoubted) return;
    this.compareSchema();
    this.#soundSchemaVersion = version;
    this.#isSchemaDoubted = false;
  }

  /** Does the same, whatever the file says of its changes. */
  compareSchema(connection = this.#connection): void {
    const difference = this.#schema.difference(connection);
    if (difference === null) return;
    this.#isSchemaDoubted = true;
    throw new StoreError('changed', this.#changed(difference).message);
  }

  /**
   * Runs `work` so that, when it throws, nothing of it is left and the transaction around it goes
   * on.
   */
  inSavepoint<T>(work: () => T): T {
    this.#connection.exec('SAVEPOINT operation');
    try {
      const result = work();
      this.#connection.exec('RELEASE operation');
      return result;
    } catch (error) {
      // A full disk ends the whole transaction by itself.
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK TO operation; RELEASE operation');
      throw error;
    }
  }

  /** Whether the transaction is still there that `tryTransaction` began. */
  get isInTransaction(): boolean {
    return this.#connection.isTransaction;
  }

  /** Reads through a connection that has nothing cached. */
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
   * Takes what was committed over from the WAL into the file, as far as no reader is in the way;
   * does not wait. Bytes that are left.
   */
  checkpoint(): number {
    return this.#checkpoint('PASSIVE');
  }

  /** Bytes of pages in the WAL that the file does not have yet. */
  get walBytes(): number {
    // SQLite before 3.51 knows no NOOP and checkpoints, which is as right, and slower.
    return this.#checkpoint('NOOP');
  }

  /** Bytes of pages in the file that hold nothing. */
  get freeListBytes(): number {
    return this.get<{ freelist_count: number }>('PRAGMA freelist_count')!.freelist_count * this.#options.pageBytes;
  }

  /** Size of the WAL on the disk. */
  get walFileBytes(): number {
    return statSync(`${this.#options.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /**
   * Forgets the pages it has cached, so that bytes changed on the disk meanwhile are neither hidden
   * from reads nor undone by the next commit.
   */
  forgetCache(): void {
    this.#connection.exec('PRAGMA shrink_memory');
  }

  /** The last connection of all takes the WAL over into the file and removes it. */
  close(): void {
    this.#connection.close();
  }

  #checkpoint(mode: 'PASSIVE' | 'NOOP'): number {
    const { log, checkpointed } = this.get<Checkpoint>(`PRAGMA wal_checkpoint(${mode})`)!;
    return (log - checkpointed) * this.#options.pageBytes;
  }

  #connect(): DatabaseSync {
    const { path, pageBytes, maxPages } = this.#options;
    const connection = new DatabaseSync(path, { timeout: 0 });
    try {
      connection.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF`);
      // Two that open a new file at once collide here.
      const mode = retryWhileBusy(() => connection.prepare('PRAGMA journal_mode = WAL').get());
      if (mode?.journal_mode !== 'wal') throw new Error(`${this.name} cannot be put into WAL mode here`);
      connection.exec('PRAGMA synchronous = FULL');
      connection.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${WAL_KEPT_MAX_BYTES}`);
      if (maxPages) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
      // Where it may not write, SQLite opens a file for reading without a word.
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
    return isOfDamage(error) ? this.#damaged(`is damaged (${(error as Error).message})`) : error;
  }

  #changed(difference: string): StoreError {
    const { advice = 'undo what changed it, or put back a backup of the whole directory' } = this.#options;
    return damagedFile(this.name, difference, advice);
  }

  #damaged(what: string): StoreError {
    return damagedFile(this.name, what, this.#options.advice);
  }

  /**
   * Through a connection that cannot write: the last one that can would take the sound part of a
   * WAL over and remove the rest.
   */
  #check(): void {
    const { path, inspect } = this.#options;
    const { size } = statSync(path);
    // To SQLite an empty file is an empty database.
    if (size === 0) throw this.#damaged('is empty');
    this.fresh((connection) => {
      inspect?.(connection);
      if (size <= CHECKED_MAX_BYTES) this.#checkAll(connection);
    });
  }

  /** Throws StoreError 'damaged' for all that does not concern a single row. */
  #checkAll(connection: DatabaseSync): void {
    const mistypedColumns = new Set<Column>();
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
  #typed<Row extends Record<string, unknown> | undefined>(row: Row, columns: readonly Column[]): Row {
    const column = row && mistypedColumn(row, columns);
    if (column === undefined) return rounded(row);
    throw this.#changed(mistypedRows(this.#connection, column) ?? `has a value of another type in ${column.place}`);
  }

  #do<T>(sql: string, values: SQLInputValue[], use: (prepared: Prepared) => T): T {
    // Two different ill-formed strings can have one UTF-8 form.
    for (const value of values) {
      if (typeof value === 'string' && !value.isWellFormed()) throw new RangeError('an id is well-formed Unicode');
    }
    // Waiting inside a transaction would keep others waiting.
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
