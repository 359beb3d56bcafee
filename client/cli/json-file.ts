import { readFile } from 'node:fs/promises';
import { parseJsonBytes } from '../verify/json-text.ts';

/** What a person can mend: said in one line. */
export class Misuse extends Error {}

/** Throws Misuse for what cannot be read. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return parseJsonBytes(await readFile(path));
  } catch (error) {
    throw new Misuse(`${path} cannot be read as JSON: ${(error as Error).message}`);
  }
}

/** The object at `key` where there is one, else the whole: files hold answers as they came. */
export function within(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && key in value ? (value as Record<string, unknown>)[key] : value;
}
