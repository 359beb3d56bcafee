import { InputError } from '../../client/cli/json-file.ts';
import type { Api } from '../../client/index.ts';
import { exactJson } from './exact-json.ts';
import { inputName, readText } from './read-text.ts';

/**
 * Reads records: one JSON record per line, or a JSON document with one record, a list of records or
 * an object with `records`. Errors name the file and the line.
 */
export async function readRecords(path: string): Promise<Api.WrittenRecord[]> {
  const text = (await readText(path)).replace(/^\ufeff/, '');
  const lines = text.split('\n').map((line, at) => ({ line, place: `${inputName(path)}:${at + 1}` }));
  const filled = lines.filter(({ line }) => line.trim() !== '');
  if (filled.length === 0) throw new InputError(`${inputName(path)} holds no records.`);
  if (filled.length > 1 && isObject(filled[0]!.line)) return filled.map(recordIn);
  return recordsIn(parsed(text, inputName(path)), inputName(path));
}

function isObject(line: string): boolean {
  try {
    const value = exactJson(line);
    return typeof value === 'object' && !Array.isArray(value);
  } catch {
    // A document over several lines.
    return false;
  }
}

function recordIn({ line, place }: { line: string; place: string }): Api.WrittenRecord {
  const value = parsed(line, place);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InputError(`${place} must be a record: a JSON object with id and values.`);
  return value as Api.WrittenRecord;
}

function recordsIn(value: unknown, source: string): Api.WrittenRecord[] {
  if (Array.isArray(value)) return value as Api.WrittenRecord[];
  const { records } = (value ?? {}) as { records?: unknown };
  if (Array.isArray(records)) return records as Api.WrittenRecord[];
  if (typeof value === 'object' && value !== null) return [value as Api.WrittenRecord];
  throw new InputError(`${source} must hold records: JSON objects with id and values.`);
}

function parsed(text: string, place: string): unknown {
  try {
    return exactJson(text);
  } catch (error) {
    throw new InputError(`${place} is not JSON: ${(error as Error).message}`);
  }
}
