import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Column, columnsIn } from './column-types.ts';

/** A table, an index, or anything else in the schema; a tampered one has values of any type. */
interface SchemaObject {
  type: unknown;
  name: unknown;
  sql: unknown;
}

const ALL = 'SELECT type, name, sql FROM sqlite_schema';
const NAME_MAX_CHARS = 64;

/**
 * What stands in a file beside its rows, as this version makes it. A trigger, a view or another
 * column decides what becomes of what is written, without a row that tells of it: one that ignores
 * inserts hides a contradiction.
 */
export class Schema {
  readonly #wanted: Map<string, SchemaObject>;
  /** What may stand there as well. */
  readonly #known: Map<string, SchemaObject>;
  readonly #columns: Map<string, Column>;

  /** `sql` makes it; `later` what may be missing. */
  constructor(sql: string, later = '') {
    const made = new DatabaseSync(':memory:');
    made.exec(sql);
    this.#wanted = objectsIn(made);
    made.exec(later);
    this.#known = objectsIn(made);
    this.#columns = columnsIn(made);
    made.close();
  }

  /** What is otherwise in a file, as the end of a sentence about it; null when nothing is. */
  difference(connection: DatabaseSync): string | null {
    const there = objectsIn(connection);
    for (const [key, { type, name }] of this.#wanted) if (!there.has(key)) return `has no ${type} ${name}`;
    for (const [key, { type, name, sql }] of there) {
      const wanted = this.#known.get(key);
      const words = `${inWords(type)} ${inWords(name)}`;
      if (wanted === undefined) return `has the ${words}, which Provec does not make`;
      if (inOneLine(wanted.sql) !== inOneLine(sql)) return `has another ${words} than Provec makes`;
    }
    return null;
  }

  /** The column of a place, `table.column`. */
  column(place: string): Column | undefined {
    return this.#columns.get(place);
  }

  /** Result columns of a statement that come from tables, under their names in the result. */
  columnsOf(statement: StatementSync): Column[] {
    return statement.columns().flatMap(({ name, table, column }) => {
      const known = this.column(`${table}.${column}`);
      return known === undefined ? [] : [{ ...known, name }];
    });
  }
}

/** Whether a file has a table that is made when it is needed first. */
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
