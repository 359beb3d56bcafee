import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { run } from './run.ts';

/** The files of one commit, apart from the checkout and everything in it that is not committed. */
export interface SourceTree {
  readonly folder: string;
  readonly commit: string;
  /** Time of the commit, in seconds since 1970: the time of everything that is built from it. */
  readonly timeS: number;
}

/**
 * Writes the files of HEAD to `folder`, and links the checkout's installed packages there.
 * Rejects if the checkout has changes that are not committed.
 */
export async function exportHead(checkout: string, folder: string): Promise<SourceTree> {
  const git = (...args: string[]) => run('git', args, { cwd: checkout });
  const changes = await git('status', '--porcelain');
  if (changes !== '') throw new Error(`A release is built from a commit. Not committed yet:\n${changes.trimEnd()}`);
  await mkdir(folder, { recursive: true });
  const archive = join(folder, '..', 'source.tar');
  await git('archive', '--output', archive, 'HEAD');
  await run('tar', ['-xf', archive, '-C', folder], { cwd: folder });
  await symlink(resolve(checkout, 'node_modules'), join(folder, 'node_modules'));
  const [commit = '', timeS] = (await git('log', '-1', '--format=%H %ct')).trim().split(' ');
  return { folder, commit, timeS: Number(timeS) };
}
