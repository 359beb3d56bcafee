import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { columnsByPlace, type TableColumn } from './column-types.ts';

/**
 * A table, an index, or anything else in the schema. If it was tampered with, its values may have
 * any type.
 */
interface SchemaObject {
  type: unknown;
  name: unknown;
  sql: unknown;
}

const ALL = 'SELECT type, name, sql FROM sqlite_schema';
const NAME_MAX_CHARS = 64;

/**
 * Compares a file's schema with the one that this version creates. A trigger, a view or an extra
 * column could change the effect of writes without leaving a trace: one that ignores inserts hides
 * a contradiction.
 */
export class Schema {
  readonly #wanted: Map<string, SchemaObject>;
  /** Objects that the file may also have. */
  readonly #known: Map<string, SchemaObject>;
  readonly #columns: Map<string, TableColumn>;

  /** `sql` creates the required objects, `later` those that may be missing. */
  constructor(sql: string, later = '') {
    const made = new DatabaseSync(':memory:');
    made.exec(sql);
    this.#wanted = objectsIn(made);
    made.exec(later);
    this.#known = objectsIn(made);
    this.#columns = columnsByPlace(made);
    made.close();
  }

  /**
   * Describes the first difference, as the end of a sentence about the file; null if there is none.
   */
  difference(connection: DatabaseSync): string | null {
    const there = objectsIn(connection);
    for (const [key, { type, name }] of this.#wanted) if (!there.has(key)) return `has no ${type} ${name}`;
    for (const [key, { type, name, sql }] of there) {
      const wanted = this.#known.get(key);
      const words = `${inWords(type)} ${inWords(name)}`;
      if (wanted === undefined) return `has the ${words}, which Provec does not create`;
      if (inOneLine(wanted.sql) !== inOneLine(sql)) return `has another ${words} than Provec creates`;
    }
    return null;
  }

  /** The column of a place, `table.column`. */
  column(place: string): TableColumn | undefined {
    return this.#columns.get(place);
  }

  /** Result columns of a statement that come from tables, under their names in the result. */
  columnsOf(statement: StatementSync): TableColumn[] {
    return statement.columns().flatMap(({ name, table, column }) => {
      const known = this.column(`${table}.${column}`);
      return known === undefined ? [] : [{ ...known, name }];
    });
  }
}

/** Returns whether a file has a table that is created on first use. */
export function hasTable(database: { get(sql: string, ...values: string[]): unknown }, name: string): boolean {
  return database.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name) !== undefined;
}

function objectsIn(connection: DatabaseSync): Map<string, SchemaObject> {
  const statement = connection.prepare(ALL);
  // Reads integers as bigints: an unsafe integer would throw.
  statement.setReadBigInts(true);
  const objects = statement.all() as unknown as SchemaObject[];
  return new Map(objects.map((object) => [`${inWords(object.type)} ${inWords(object.name)}`, object]));
}

/** Includes the type, because text with the same characters is a different value. */
const inWords = (value: unknown): string =>
  typeof value === 'string' ? value : `(${typeof value}) ${String(value).slice(0, NAME_MAX_CHARS)}`;

/** Normalises the white space of a statement; returns anything else unchanged. */
const inOneLine = (sql: unknown): unknown => (typeof sql === 'string' ? sql.replaceAll(/\s+/g, ' ') : sql);
