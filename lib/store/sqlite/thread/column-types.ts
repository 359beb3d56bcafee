/**
 * Types of the values in a table. SQLite checks them only when it writes: a person who edits the
 * file by other means can put any value into any column.
 */
import type { DatabaseSync } from 'node:sqlite';

const TYPES = ['TEXT', 'INTEGER', 'BLOB'] as const;
const IN_WORDS = { TEXT: 'a text', INTEGER: 'a whole number', BLOB: 'bytes' } as const;

/** A column of a table that the service makes. */
export interface Column {
  /** Name in the statement's result. */
  name: string;
  /** `table.column`. */
  place: string;
  type: (typeof TYPES)[number];
  mayBeNull: boolean;
}

/** Every column of every table, by its place. */
export function columnsIn(connection: DatabaseSync): Map<string, Column> {
  const columns = new Map<string, Column>();
  const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const { name: table } of tables) {
    for (const { name, type, notnull, pk } of connection.prepare(`PRAGMA table_info(${table})`).all()) {
      const known = TYPES.find((each) => each === type);
      if (known === undefined) continue;
      const place = `${table}.${name}`;
      columns.set(place, { name: String(name), place, type: known, mayBeNull: notnull === 0 && pk === 0 });
    }
  }
  return columns;
}

/**
 * Describes the first value of a row that has another type than its column, as the end of a
 * sentence about its file; null if there is none. The row's integers are bigints.
 */
export function mistyped(row: Record<string, unknown>, columns: readonly Column[]): string | null {
  for (const { name, place, type, mayBeNull } of columns) {
    const found = typeOf(row[name]);
    if (found === type || (found === 'NULL' && mayBeNull)) continue;
    return `has ${found === 'NULL' ? 'nothing' : `a value of type ${found}`} in ${place}, where ${IN_WORDS[type]} belongs`;
  }
  return null;
}

function typeOf(value: unknown): Column['type'] | 'REAL' | 'NULL' {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'string') return 'TEXT';
  if (typeof value === 'bigint') return 'INTEGER';
  return typeof value === 'number' ? 'REAL' : 'BLOB';
}
