import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { argumentsOf, composeServices } from './compose.ts';

/** Only root may give a file away. */
export const isRoot = process.getuid?.() === 0;

/** Shell function that replaces chown and leaves the owner of files unchanged. */
const KEPT = 'chown() { :; }';

/**
 * The script's calls of chown and mv, before and after each of which it is cut off once `cuts` of
 * them were passed.
 */
const cutting = (folder: string, cuts: number): string => `
  cut() { echo >> ${folder}/passed; test "$(wc -l < ${folder}/passed)" -le ${cuts} || kill -KILL 0; }
  chown() { cut; ${isRoot ? 'command chown "$@"' : ':'} && cut; }
  mv() { cut; command mv "$@" && cut; }`;

/**
 * Runs what compose.yaml's service `secrets` runs, with `folder` in the place of /run. With `cuts`
 * all of it is killed once it has passed so many points. Resolves to whether it came to its end.
 */
export async function makeSecrets(folder: string, cuts?: number): Promise<boolean> {
  for (const volume of composeServices.secrets!.volumes!)
    await mkdir(inFolder(folder, volume.split(':')[1]!), { recursive: true });
  const [script] = argumentsOf(composeServices.secrets!.command);
  const before = cuts === undefined ? (isRoot ? '' : KEPT) : cutting(folder, cuts);
  const run = spawn('sh', ['-c', `${before}\n${inFolder(folder, script!)}`], {
    // A process group of its own, which `kill 0` ends.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(run, 'close')) as [number | null, NodeJS.Signals | null];
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the script ended with ${code ?? signal}`);
  return code === 0;
}

/** A text of a container that has `folder` in the place of /run. */
export const inFolder = (folder: string, text: string): string => text.replaceAll('/run/', `${folder}/`);
