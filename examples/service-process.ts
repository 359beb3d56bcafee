import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const START = fileURLToPath(new URL('../launch.ts', import.meta.url));

/** A Provec service in its own process. */
export interface ServiceProcess {
  url: string;
  process: ChildProcess;
  /** Sends `signal`, by default SIGTERM, and waits until the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Starts a service on a port that the system chooses. Rejects with the service's output when it
 * exits before it listens.
 */
export async function startServiceProcess(
  dataDir: string,
  key: string,
  environment: Record<string, string> = {},
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', START], {
    env: {
      ...process.env,
      PROVEC_PORT: '0',
      PROVEC_DATA_DIR: dataDir,
      PROVEC_BOOTSTRAP_KEY: key,
      PROVEC_BOOTSTRAP_KEY_FILE: undefined,
      PROVEC_LOG_LEVEL: process.env.PROVEC_LOG_LEVEL ?? 'warn',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stderr!.on('data', (chunk) => {
    printed += chunk;
  });
  for await (const line of createInterface({ input: child.stdout! })) {
    printed += `${line}\n`;
    const url = /https?:\/\/\S+/.exec(line)?.[0];
    if (url) {
      child.stdout!.resume();
      return { url, process: child, stop: (signal) => stop(child, signal) };
    }
  }
  throw new Error(`the service did not start:\n${printed}`);
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}
