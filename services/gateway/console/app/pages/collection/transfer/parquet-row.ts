import type { ColumnMapping } from './parquet-mapping.ts';

type Row = Readonly<Record<string, unknown>>;

/** A row that cannot become a record. The message names the row. */
class RowError extends Error {}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns a row as a line of an import. `at` is its number, from 1. Throws RowError. */
export function lineOf(row: Row, mapping: ColumnMapping, at: number): string {
  const valueIn = (column: string) =>
    column !== '' && Object.hasOwn(row, column) ? jsonOf(row[column], column, at) : null;
  const id = valueIn(mapping.id);
  if (typeof id !== 'string' && typeof id !== 'number')
    throw new RowError(`Row ${at}: ${mapping.id} is neither a text nor a number.`);
  const namespace = valueIn(mapping.namespace);
  const fields = mapping.fields.map((name): [string, unknown] => [name, valueIn(name)]);
  const known = fields.filter(([, value]) => value !== null);
  const record = {
    id: `${id}`,
    values: vectorIn(row[mapping.vector], mapping.vector, at),
    metadata: { ...metadataIn(valueIn(mapping.metadata), mapping.metadata, at), ...Object.fromEntries(known) },
    ...(namespace !== null && { namespace: `${namespace}` }),
  };
  return JSON.stringify(record);
}

function vectorIn(value: unknown, column: string, at: number): number[] {
  const list = ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<unknown>) : value;
  if (!Array.isArray(list)) throw new RowError(`Row ${at}: ${column} is not a list of numbers.`);
  const values = list.map(Number);
  const wrong = list.findIndex((one, place) => one === null || !Number.isFinite(values[place]));
  if (wrong >= 0) throw new RowError(`Row ${at}: ${column} has something else than a number at position ${wrong + 1}.`);
  return values;
}

function metadataIn(value: unknown, column: string, at: number): object {
  if (value === null || value === '') return {};
  const object: unknown = typeof value === 'string' ? parsed(value, column, at) : value;
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) return object;
  throw new RowError(`Row ${at}: ${column} is not an object.`);
}

function parsed(text: string, column: string, at: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RowError(`Row ${at}: ${column} is not an object.`);
  }
}

/** Returns a value as JSON can hold it: times as ISO 8601, long integers as text, NaN as null. */
function jsonOf(value: unknown, column: string, at: number): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return textOf(value, column, at);
  if (ArrayBuffer.isView(value))
    return Array.from(value as unknown as ArrayLike<unknown>, (one) => jsonOf(one, column, at));
  if (Array.isArray(value)) return value.map((one) => jsonOf(one, column, at));
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, jsonOf(one, column, at)]));
}

/** Some writers do not mark text columns as text. */
function textOf(bytes: Uint8Array, column: string, at: number): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw new RowError(`Row ${at}: ${column} holds bytes that are not text.`);
  }
}
