/**
 * Starts that are refused because of the data folder's contents. Each prints one line that says
 * what to do.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StartedProcess } from '../../support/service-process.ts';

const HIGHEST_LOCK = `lock.${'9'.repeat(15)}`;

let folder: string;
let run: StartedProcess | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-refused-'));
});
afterEach(async () => {
  run?.dispose();
  await run?.ended;
  await rm(folder, { recursive: true, force: true });
});

/** The error message, without its first words. */
async function refused(code: number, environment: Record<string, string> = {}): Promise<string> {
  const own = { PROVEC_PORT: '0', PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'silent', PROVEC_DATA_DIR: folder };
  run = new StartedProcess({ ...own, ...environment });
  expect(await run.ended).toEqual({ code, signal: null });
  expect(run.stdout).toBe('');
  return /^Provec cannot start: ([^\n]+)\n$/.exec(run.stderr)![1]!;
}

test('a lock file with the highest possible number', async () => {
  const file = join(folder, HIGHEST_LOCK);
  await writeFile(file, JSON.stringify('released'));
  expect(await refused(1)).toBe(
    `The data directory ${folder} cannot be used (the lock file ${file} has the highest possible number: make sure that no process uses the folder, then remove that file).`,
  );
  expect(await readdir(folder)).toEqual([HIGHEST_LOCK]);
});

test('a file in place of the checkpoint folder', async () => {
  const path = join(folder, 'checkpoints');
  await writeFile(path, '');
  expect(await refused(1)).toBe(
    `${path} is a file, but Provec needs a folder there; move the file away and start again.`,
  );
});

test('a named secret file that is missing, before there is a store: none is created', async () => {
  const file = join(folder, 'elsewhere', 'secret');
  const line = await refused(2, { PROVEC_SECRET_FILE: file });
  expect(line).toContain(`${file} does not exist: create one there (openssl rand -base64 32), or unset`);
  expect(line).not.toContain('put back');
  expect((await readdir(folder)).filter((name) => !name.startsWith('lock'))).toEqual([]);
});
