import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const PROVEC = fileURLToPath(new URL('../../cli/provec.ts', import.meta.url));

/** How a run of the command ended, and what it printed. */
export interface CommandRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandRun>;
}

interface RunOptions {
  environment?: Record<string, string>;
  input?: string;
  folder?: string;
}

/** Starts `provec` as a user does, in its own process, with only these environment variables. */
export const startCommandLine = (args: readonly string[], options: RunOptions = {}): RunningCommand =>
  startProgram(process.execPath, [PROVEC, ...args], options);

/** Starts a program with only these environment variables. */
export function startProgram(
  program: string,
  args: readonly string[],
  { environment = {}, input, folder }: RunOptions = {},
): RunningCommand {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE, ...environment },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  // The command may end before it has read its input.
  child.stdin?.on('error', () => undefined).end(input);
  const run: CommandRun = { code: null, stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      run[name] += text;
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ ...run, code: code as number | null }));
  return { child, ended };
}
