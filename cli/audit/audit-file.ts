import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { InputError } from '../../client/cli/json-file.ts';
import type { Api } from '../../client/index.ts';

interface SavedEntry {
  trail: string;
  entry: Api.AuditEntry;
}

/** Reads a trail that `provec audit --json` printed. Throws InputError. */
export async function* readTrail(path: string): AsyncGenerator<SavedEntry> {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line !== '') yield savedEntry(line, `line ${number} of ${path}`);
  }
}

function savedEntry(line: string, where: string): SavedEntry {
  const { trail, ...entry } = parsed(line, where);
  if (typeof trail !== 'string' || typeof entry.seq !== 'number' || typeof entry.hash !== 'string')
    throw new InputError(`${where} is not an entry of an audit trail.`);
  return { trail, entry: entry as unknown as Api.AuditEntry };
}

function parsed(line: string, where: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch (error) {
    throw new InputError(`${where} is not JSON: ${(error as Error).message}`);
  }
  throw new InputError(`${where} is not a JSON object.`);
}
