import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { StartedProcess } from './service-process.ts';

const RESEAL = resolve(import.meta.dirname, '../../scripts/reseal.ts');

/** A finished run of `npm run reseal`. */
export interface ResealRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts a run in its own process. */
export function beginReseal(environment: Record<string, string>, ...args: string[]): StartedProcess {
  return new StartedProcess(environment, args, [process.execPath, '--disable-warning=ExperimentalWarning', RESEAL]);
}

export async function reseal(environment: Record<string, string>, ...args: string[]): Promise<ResealRun> {
  const run = beginReseal(environment, ...args);
  const { code } = await run.ended;
  return { code, stdout: run.stdout, stderr: run.stderr };
}

/** SHA-256 of each file of the store in a data folder. */
export async function storeBytes(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(
    ({ name, parentPath }) => /\.db|^provec\.json$/.test(name) || /checkpoints/.test(parentPath),
  );
  const hashes = files
    .filter((entry) => entry.isFile())
    .map(async ({ name, parentPath }) => {
      const path = join(parentPath, name);
      return [
        path,
        createHash('sha256')
          .update(await readFile(path))
          .digest('hex'),
      ];
    });
  return Object.fromEntries(await Promise.all(hashes)) as Record<string, string>;
}
