import { resolve } from 'node:path';
import { StartedProcess } from './service-process.ts';

const REPL = resolve(import.meta.dirname, '../../scripts/repl.ts');

/** Runs `npm run repl -- provec <words>` until it ends. */
export async function runProvec(
  environment: Record<string, string>,
  ...words: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', REPL] as const;
  const run = new StartedProcess(environment, ['provec', ...words], command);
  const { code } = await run.ended;
  return { code, stdout: run.stdout, stderr: run.stderr };
}
