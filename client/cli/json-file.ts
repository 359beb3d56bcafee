import { readFile } from 'node:fs/promises';
import { parseJsonBytes } from '../verify/json-text.ts';

/** An error that the user can fix; shown as one line without a stack. */
export class InputError extends Error {}

/** A node of the ledger could not be asked. */
export class UnreachableLedgerError extends InputError {}

/** Reads a JSON file. Throws InputError if that fails. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return parseJsonBytes(await readFile(path));
  } catch (error) {
    throw new InputError(`${path} cannot be read as JSON: ${(error as Error).message}`);
  }
}

/** Returns the object at `key` if there is one, else the value: files may hold whole answers. */
export function within(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && key in value ? (value as Record<string, unknown>)[key] : value;
}
