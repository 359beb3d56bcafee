import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FetchedCheckpoint } from '../../store/checkpoints.ts';

/** The checkpoint in `folder`, as returned by a store that received these files. */
export function checkpointIn(folder: string): FetchedCheckpoint {
  const files = readdirSync(folder).map((name) => {
    const content = readFileSync(join(folder, name));
    return { name, bytes: content.length, sha256: hash('sha256', content) };
  });
  return { folder, files };
}
