/**
 * Types of the values in a table. SQLite checks them only when it writes: a person who edits the
 * file by other means can put any value into any column.
 */
import type { DatabaseSync } from 'node:sqlite';

const TYPES = ['TEXT', 'INTEGER', 'BLOB'] as const;
const IN_WORDS = { TEXT: 'a text', INTEGER: 'a whole number', BLOB: 'bytes' } as const;
/** Maximum number of rows that a message names. */
const NAMED_MAX_ROWS = 3;
const KEY_MAX_CHARS = 64;

export interface TableColumn {
  /** Name in the statement's result. */
  name: string;
  table: string;
  /** `table.column`. */
  place: string;
  type: (typeof TYPES)[number];
  mayBeNull: boolean;
  /** Whether a unique index contains it: the service finds rows by its value. */
  isKey: boolean;
  /** Columns that name a row: the primary key, or `rowid`. */
  rowKey: readonly string[];
}

export function columnsByPlace(connection: DatabaseSync): Map<string, TableColumn> {
  const columns = new Map<string, TableColumn>();
  const tables = connection
    .prepare("SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  for (const { name: tableName, wr: isWithoutRowid } of tables) {
    const table = String(tableName);
    const found = connection.prepare('SELECT * FROM pragma_table_info(?)').all(table);
    const primary = found.filter(({ pk }) => pk !== 0).map(({ name }) => String(name));
    const unique = connection.prepare(
      `SELECT DISTINCT i.name FROM pragma_index_list(?) AS l, pragma_index_info(l.name) AS i WHERE l."unique"`,
    );
    const keys = new Set(unique.all(table).map(({ name }) => String(name)));
    const rowKey = isWithoutRowid ? primary : ['rowid'];
    for (const { name, type, notnull, pk } of found) {
      const known = TYPES.find((each) => each === type);
      if (known === undefined) continue;
      const place = `${table}.${name}`;
      const mayBeNull = notnull === 0 && pk === 0;
      const isKey = keys.has(String(name));
      columns.set(place, { name: String(name), table, place, type: known, mayBeNull, isKey, rowKey });
    }
  }
  return columns;
}

/**
 * Returns the first column whose value in a row has another type, undefined if there is none. The
 * row's integers are bigints.
 */
export function mistypedColumn(row: Record<string, unknown>, columns: readonly TableColumn[]): TableColumn | undefined {
  return columns.find(({ name, type, mayBeNull }) => {
    const found = typeOf(row[name]);
    return found !== type && !(found === 'NULL' && mayBeNull);
  });
}

/**
 * Describes the values of a column that have another type, as the end of a sentence about the file.
 * Names rows by their keys; null if all values have the column's type.
 */
export function mistypedRows(
  connection: DatabaseSync,
  { table, place, type, mayBeNull, rowKey }: TableColumn,
): string | null {
  const column = place.slice(table.length + 1);
  const allowed = mayBeNull ? `'${type.toLowerCase()}', 'null'` : `'${type.toLowerCase()}'`;
  const key = rowKey.map((part) => `ifnull(CAST(${part} AS TEXT), '')`).join(" || '/' || ");
  const statement = connection.prepare(`SELECT upper(typeof(${column})) AS found, ${key} AS key
    FROM ${table} WHERE typeof(${column}) NOT IN (${allowed}) LIMIT ${NAMED_MAX_ROWS + 1}`);
  const rows = statement.all();
  const [first] = rows;
  if (first === undefined) return null;
  const keys = rows.slice(0, NAMED_MAX_ROWS).map(({ key }) => String(key).slice(0, KEY_MAX_CHARS));
  const more = rows.length > NAMED_MAX_ROWS ? ' and more' : '';
  const what = first.found === 'NULL' ? 'nothing' : `a value of type ${first.found}`;
  const which = `in the ${rows.length > 1 ? 'rows' : 'row'} whose ${rowKey.join('/')} is ${keys.join(', ')}${more}`;
  return `has ${what} in ${place} instead of ${IN_WORDS[type]}, ${which}`;
}

function typeOf(value: unknown): TableColumn['type'] | 'REAL' | 'NULL' {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'string') return 'TEXT';
  if (typeof value === 'bigint') return 'INTEGER';
  return typeof value === 'number' ? 'REAL' : 'BLOB';
}
