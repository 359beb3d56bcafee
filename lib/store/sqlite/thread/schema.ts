import { DatabaseSync } from 'node:sqlite';

/** A table, an index, and whatever else somebody put there. */
interface SchemaObject {
  type: string;
  name: string;
  sql: string | null;
}

const ALL = 'SELECT type, name, sql FROM sqlite_schema';

/**
 * What stands in a file beside its rows, as this version makes it. A trigger, a view or another
 * column decides what becomes of what is written, without a row that tells of it: one that ignores
 * inserts hides a contradiction.
 */
export class Schema {
  readonly #wanted: Map<string, SchemaObject>;
  /** What may stand there as well. */
  readonly #known: Map<string, SchemaObject>;

  /** `sql` makes it; `later` what may be missing. */
  constructor(sql: string, later = '') {
    const made = new DatabaseSync(':memory:');
    made.exec(sql);
    this.#wanted = objectsIn(made);
    made.exec(later);
    this.#known = objectsIn(made);
    made.close();
  }

  /** What is otherwise in a file, as the end of a sentence about it; null when nothing is. */
  difference(connection: DatabaseSync): string | null {
    const there = objectsIn(connection);
    for (const [key, { type, name }] of this.#wanted) if (!there.has(key)) return `has no ${type} ${name}`;
    for (const [key, { type, name, sql }] of there) {
      const wanted = this.#known.get(key);
      if (wanted === undefined) return `has the ${type} ${name}, which Provec does not make`;
      if (inOneLine(wanted.sql) !== inOneLine(sql)) return `has another ${type} ${name} than Provec makes`;
    }
    return null;
  }
}

/** Whether a file has a table that is made when it is needed first. */
export function hasTable(database: { get(sql: string, ...values: string[]): unknown }, name: string): boolean {
  return database.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name) !== undefined;
}

function objectsIn(connection: DatabaseSync): Map<string, SchemaObject> {
  const objects = connection.prepare(ALL).all() as unknown as SchemaObject[];
  return new Map(objects.map((object) => [`${object.type} ${object.name}`, object]));
}

/** The text of a statement whatever lines it was written in. */
const inOneLine = (sql: string | null): string | undefined => sql?.replaceAll(/\s+/g, ' ');
