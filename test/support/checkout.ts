import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LISTED = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];

const run = promisify(execFile);

/** Copies this checkout to `folder`, without what git ignores. */
export async function copyCheckout(folder: string): Promise<void> {
  const { stdout } = await run('git', LISTED, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  for (const path of stdout.split('\0').filter((name) => name !== '')) await cp(join(ROOT, path), join(folder, path));
}

/** Makes a repository of the copy in `folder`, with one commit of a fixed time. */
export async function commitCopy(folder: string): Promise<void> {
  const author = { NAME: 'A test', EMAIL: 'test@example.org', DATE: '2026-11-28T00:00:00Z' };
  const variables = Object.entries(author).flatMap(([name, value]) => [
    [`GIT_AUTHOR_${name}`, value],
    [`GIT_COMMITTER_${name}`, value],
  ]);
  const git = (...args: string[]) =>
    run('git', args, { cwd: folder, env: { ...process.env, ...Object.fromEntries(variables) } });
  await git('init', '--quiet');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'all: copy');
}
