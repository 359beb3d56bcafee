import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import type { StoreFile } from './store-file.ts';

const TABLES = "type = 'table' AND name NOT LIKE 'sqlite_%'";

export interface StoredColumn {
  table: string;
  column: string;
}

/** Every column of a file's tables. */
export function columnsOf(folder: string, file: StoreFile | 'leases.db'): StoredColumn[] {
  const database = new DatabaseSync(join(folder, file));
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE ${TABLES}`).all();
  const columns = tables.flatMap(({ name: table }) =>
    database
      .prepare(`PRAGMA table_info(${table})`)
      .all()
      .map(({ name }) => ({ table: String(table), column: String(name) })),
  );
  database.close();
  return columns;
}

/** Removes the types and constraints of a schema's tables, so that any column takes any value. */
const loose = (sql: string): string =>
  sql
    .replace(/\) STRICT(, (?=WITHOUT))?/, ') ')
    .replaceAll(/ (TEXT|INTEGER|BLOB)( NOT NULL)?(?! PRIMARY KEY)/g, ' BLOB');

/**
 * Puts `value` into a column of the rows that match `which`, whatever its type, as a person with
 * the disk can; the schema is the same afterwards, and its count of changes. False if SQLite can't
 * store it.
 */
export function putAnywhere(
  folder: string,
  file: StoreFile | 'leases.db',
  { table, column }: StoredColumn,
  value: SQLInputValue,
  which = 'true',
): boolean {
  const path = join(folder, file);
  const open = () => new DatabaseSync(path, { timeout: 5_000, defensive: false });
  let database = open();
  const { sql } = database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(table) as { sql: string };
  const rewrite = (text: string) => {
    database.exec('PRAGMA writable_schema = ON; PRAGMA synchronous = OFF');
    database.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?').run(text, table);
    database.close();
    database = open();
  };
  rewrite(loose(sql));
  try {
    database.prepare(`UPDATE OR IGNORE ${table} SET ${column} = ? WHERE ${which}`).run(value);
    return true;
  } catch {
    return false;
  } finally {
    rewrite(sql);
    database.close();
  }
}

type Rows = Record<string, SQLInputValue>[];

/** Reads all rows of a file's tables, so that they can be restored. */
export function rowsOf(folder: string, file: StoreFile | 'leases.db'): Map<string, Rows> {
  const database = new DatabaseSync(join(folder, file), { timeout: 5_000 });
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE ${TABLES} AND name <> 'commits'`).all();
  const rows = tables.map(
    ({ name }) => [String(name), database.prepare(`SELECT * FROM ${name}`).all() as Rows] as const,
  );
  database.close();
  return new Map(rows);
}

export function putRowsBack(folder: string, file: StoreFile | 'leases.db', tables: Map<string, Rows>): void {
  const database = new DatabaseSync(join(folder, file), { timeout: 5_000 });
  database.exec('PRAGMA synchronous = OFF; BEGIN IMMEDIATE');
  for (const [table, rows] of tables) {
    database.exec(`DELETE FROM ${table}`);
    for (const row of rows) {
      const names = Object.keys(row);
      const sql = `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`;
      database.prepare(sql).run(...Object.values(row));
    }
  }
  database.exec('COMMIT');
  database.close();
}
