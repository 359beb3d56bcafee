import pg from 'pg';
import { InputError } from '../../client/cli/json-file.ts';

const DENSE = /^(vector|halfvec)(\((\d+)\))?$/;
const SPARSE = /^sparsevec/;

/** Names of a table's columns that the user gave. */
export interface ColumnNames {
  /** Name of the table, perhaps with its schema. */
  source: string;
  idField?: string;
  vectorField?: string;
  metadataField?: string;
  namespaceField?: string;
}

/** A column of a table. */
export interface Column {
  name: string;
  type: string;
  isRequired: boolean;
  isUnique: boolean;
  isPrimary: boolean;
}

/** The columns that are read. */
export interface Shape {
  id: Column;
  vector: Column;
  metadata: Column | null;
  namespace: Column | null;
  /** Other vector columns. Provec has one vector per record. */
  otherVectors: readonly Column[];
  fields: readonly Column[];
}

/** A row as `selectOf` reads it. */
export interface Row {
  id: string;
  vector: string | null;
  metadata: string | null;
  namespace: string | null;
  fields: string;
  sparse: boolean;
  others: boolean;
}

/** Query for the columns of a table. */
export const COLUMNS = `
  SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS "isRequired",
    coalesce(bool_or(i.indisunique AND i.indpred IS NULL AND i.indnatts = 1), false) AS "isUnique",
    coalesce(bool_or(i.indisprimary AND i.indnatts = 1), false) AS "isPrimary"
  FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)
  WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
  GROUP BY a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull ORDER BY a.attnum`;

/** Chooses the columns. Throws an InputError if the id or the vector is not clear. */
export function shapeOf(columns: readonly Column[], options: ColumnNames): Shape {
  const { source, idField, vectorField, metadataField, namespaceField } = options;
  const named = (name: string | undefined): Column | null => {
    const found = columns.find((column) => column.name === name);
    if (name !== undefined && found === undefined) throw new InputError(`${source} has no column ${name}.`);
    return found ?? null;
  };
  const id = named(idField) ?? columns.find(({ isPrimary }) => isPrimary);
  if (id === undefined) throw new InputError(`${source} has no primary key of one column. --id-field names the id.`);
  if (!id.isUnique || !id.isRequired)
    throw new InputError(`The column ${id.name} is not the id: it needs a unique index and NOT NULL.`);
  const dense = columns.filter(({ type }) => DENSE.test(type));
  const vector = named(vectorField) ?? (dense.length === 1 ? dense[0]! : null);
  if (vector === null)
    throw new InputError(`${source} has ${dense.length} columns of vectors. --vector-field names the one to move.`);
  if (!DENSE.test(vector.type)) throw new InputError(`The column ${vector.name} is no vector but ${vector.type}.`);
  const [metadata, namespace] = [named(metadataField), named(namespaceField)];
  const rest = columns.filter((column) => ![id, vector, metadata, namespace].includes(column));
  const isVector = ({ type }: Column): boolean => DENSE.test(type) || SPARSE.test(type);
  return {
    id,
    vector,
    metadata,
    namespace,
    otherVectors: rest.filter(isVector),
    fields: rest.filter((column) => !isVector(column)),
  };
}

/** Returns the query for a page: the first one, or the one after an id. */
export function selectOf({ id, vector, metadata, namespace, otherVectors, fields }: Shape, table: string) {
  const column = ({ name }: Column): string => `t.${pg.escapeIdentifier(name)}`;
  const text = (found: Column | null): string => (found === null ? 'NULL' : `${column(found)}::text`);
  const someOf = (pattern: RegExp): string =>
    otherVectors
      .filter(({ type }) => pattern.test(type))
      .map((each) => `${column(each)} IS NOT NULL`)
      .join(' OR ') || 'false';
  // Without metadata columns there is no JSON to build.
  const row =
    fields.length === 0 ? `'{}'` : `row_to_json((SELECT o FROM (SELECT ${fields.map(column).join(', ')}) o))::text`;
  const parts = [
    `${text(id)} AS id`,
    `${text(vector)} AS vector`,
    `${text(metadata)} AS metadata`,
    `${text(namespace)} AS namespace`,
    `${row} AS fields`,
    `${someOf(SPARSE)} AS sparse`,
    `${someOf(DENSE)} AS others`,
  ];
  return (isAfter: boolean, limit: number): string => {
    const where = isAfter ? `WHERE ${column(id)} > $1::${id.type}` : '';
    return `SELECT ${parts.join(', ')} FROM ${table} t ${where} ORDER BY ${column(id)} LIMIT ${limit}`;
  };
}

/** Returns the number of dimensions in the type of a vector column; null if it has none. */
export function dimensionsOf({ vector }: Shape): number | null {
  const dimensions = DENSE.exec(vector.type)?.[3];
  return dimensions === undefined ? null : Number(dimensions);
}
