import { InputError } from '../../client/cli/json-file.ts';
import { parseSourceJson } from './json-answer.ts';
import type { SourceRecord } from './port.ts';

/** Names of the fields of a file, or of a table's columns, that have a meaning of their own. */
export interface FileFields {
  idField: string;
  vectorField: string;
  /** A field with an object, or the text of one. All other fields become fields of it. */
  metadataField: string;
  namespaceField: string;
}

/** Says how the fields are mapped. */
export const fileMapping = ({ idField, vectorField, metadataField, namespaceField }: FileFields) => [
  { there: idField, here: 'id, as text' },
  { there: vectorField, here: 'values, as float32' },
  { there: namespaceField, here: 'namespace' },
  { there: metadataField, here: 'metadata' },
  { there: 'every other field', here: 'metadata field of the same name; times as text in ISO 8601' },
];

/** Makes a record of a row. `place` names it in errors. */
export function recordOfRow(row: Readonly<Record<string, unknown>>, names: FileFields, place: string): SourceRecord {
  const { idField, vectorField, metadataField, namespaceField } = names;
  const own = [idField, vectorField, metadataField, namespaceField];
  const { [idField]: id, [vectorField]: vector, [metadataField]: metadata, [namespaceField]: namespace } = row;
  if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint')
    throw new InputError(`${place} has no ${idField} that is a text or a number. --id-field names the field.`);
  const others = Object.entries(row).filter(([name, value]) => !own.includes(name) && value !== undefined);
  return {
    id: `${id}`,
    values: vectorIn(vector, vectorField, place),
    metadata: metadataIn(metadata, metadataField, place),
    fields: Object.fromEntries(others),
    ...(namespace !== undefined && namespace !== null && { namespace: `${namespace as string}` }),
  };
}

function vectorIn(value: unknown, name: string, place: string): SourceRecord['values'] {
  if (value === undefined || value === null) return null;
  const isList = Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value);
  if (isList) return value as number[];
  throw new InputError(`${place}: ${name} is not a list of numbers. --vector-field names the field.`);
}

function metadataIn(value: unknown, name: string, place: string): Record<string, unknown> {
  if (value === undefined || value === null || value === '') return {};
  const object = typeof value === 'string' ? parsedOrNull(value) : value;
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) return object as Record<string, unknown>;
  throw new InputError(`${place}: ${name} is not an object. --metadata-field names the field.`);
}

function parsedOrNull(text: string): unknown {
  try {
    return parseSourceJson(text);
  } catch {
    // Reported by the caller, as any other value that is no object.
    return null;
  }
}
