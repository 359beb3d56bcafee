import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { InputError } from '../../client/cli/json-file.ts';
import type { Api } from '../../client/index.ts';
import { objectInLine } from '../input/json-line.ts';

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
  const { trail, ...entry } = objectInLine(line) ?? {};
  if (typeof trail !== 'string' || typeof entry.seq !== 'number' || typeof entry.hash !== 'string')
    throw new InputError(`${where} is not an entry of an audit trail.`);
  return { trail, entry: entry as unknown as Api.AuditEntry };
}
