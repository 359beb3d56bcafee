import { readFile } from 'node:fs/promises';
import type { RunningCommand } from './command-line.ts';
import { until } from './until.ts';

/** Returns how many records an import has read by its checkpoint; -1 without one. */
export async function recordsRead(checkpoint: string): Promise<number> {
  const text = await readFile(checkpoint, 'utf8').catch(() => null);
  return text === null ? -1 : JSON.parse(text).state.read;
}

/**
 * Starts an import and kills it once it has stored another page, as often as `kills` says. Fails if
 * the import ends before.
 */
export async function killAgain(start: () => RunningCommand, checkpoint: string, kills: number): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    const before = await recordsRead(checkpoint);
    const run = start();
    await until('another page is stored', async () => {
      if (run.child.exitCode !== null) throw new Error(`the import ended: ${(await run.ended).stderr}`);
      return (await recordsRead(checkpoint)) > before;
    });
    run.child.kill('SIGKILL');
    await run.ended;
  }
}
