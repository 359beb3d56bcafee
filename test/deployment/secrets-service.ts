import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { argumentsOf, composeServices } from './compose.ts';

/** Only root may change a file's owner. */
export const isRoot = process.getuid?.() === 0;

/** Shell function that replaces chown and leaves the owner of files unchanged. */
const KEPT = 'chown() { :; }';

/**
 * Shell functions that replace chown and mv. Each kills the script before or after the call once
 * `cuts` points were passed.
 */
const cutting = (folder: string, cuts: number): string => `
  cut() { echo >> ${folder}/passed; test "$(wc -l < ${folder}/passed)" -le ${cuts} || kill -KILL 0; }
  chown() { cut; ${isRoot ? 'command chown "$@"' : ':'} && cut; }
  mv() { cut; command mv "$@" && cut; }`;

/**
 * Runs the commands of compose.yaml's service `secrets`, with `folder` instead of /run. With
 * `cuts`, kills everything after that many points. Resolves with whether it finished.
 */
export async function makeSecrets(folder: string, cuts?: number): Promise<boolean> {
  for (const volume of composeServices.secrets!.volumes!)
    await mkdir(inFolder(folder, volume.split(':')[1]!), { recursive: true });
  const [script] = argumentsOf(composeServices.secrets!.command);
  const before = cuts === undefined ? (isRoot ? '' : KEPT) : cutting(folder, cuts);
  const run = spawn('sh', ['-c', `${before}\n${inFolder(folder, script!)}`], {
    // Its own process group, which `kill 0` ends.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code, signal] = (await once(run, 'close')) as [number | null, NodeJS.Signals | null];
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`the script ended with ${code ?? signal}`);
  return code === 0;
}

/** A container's text with `folder` instead of /run. */
export const inFolder = (folder: string, text: string): string => text.replaceAll('/run/', `${folder}/`);
