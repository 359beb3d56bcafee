import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SUPERVISOR_PID } from '../../process/parent-watch.ts';
import { type Api, apiClient } from './api-client.ts';
import { smallService } from './environment.ts';
import { killAtExit, killGroup } from './process-group.ts';
import { TEST_KEY } from './tenant.ts';

const START = fileURLToPath(new URL('../../start.ts', import.meta.url));
const START_TIMEOUT_MS = 90_000;

/** A program and its first arguments. */
export type Command = readonly [program: string, ...args: string[]];
/** With the option of `npm start`, which keeps a warning of Node's out of the output. */
export const NODE_START: Command = [process.execPath, '--disable-warning=ExperimentalWarning', START];
export const NPM_START: Command = ['npm', 'start', '--prefix', dirname(START)];

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ServiceProcess {
  readonly dataDir: string;
  readonly url: string;
  readonly pid: number;
  /** Output since the last start. */
  readonly stdout: string;
  readonly stderr: string;
  readonly api: Api;
  /** Sends a signal to the main process only and waits for its exit. */
  kill(signal: NodeJS.Signals): Promise<Ended>;
  /**
   * Starts again on the same data; the process must have ended. `changes` to the environment
   * persist.
   */
  restart(changes?: Record<string, string>): Promise<void>;
  /** Starts again on the same data and waits for the process to exit by itself. */
  restartToEnd(): Promise<Ended & { stderr: string }>;
  /** Ends the process and everything it started, and removes the data. */
  dispose(): Promise<void>;
}

/** A run of start.ts, or of a command that runs it, in its own process group. */
export class StartedProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  /**
   * `stdin`: whether the test writes to it. A run of start.ts ends when this process ends for any
   * reason.
   */
  constructor(
    environment: Record<string, string>,
    args: string[] = [],
    [program, ...first]: Command = NODE_START,
    { stdin = false } = {},
  ) {
    this.child = spawn(program, [...first, ...args], {
      detached: true,
      stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      // The compile cache is shared, as in launch.ts: it saves half the processor time of a start.
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...(first.includes(START) && { [SUPERVISOR_PID]: `${process.pid}` }),
        ...environment,
      },
    });
    killAtExit(this.child.pid!);
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = once(this.child, 'close').then(([code, signal]) => ({ code, signal }) as Ended);
  }

  /**
   * Resolves with the address that the service listens on; rejects when it exits or prints nothing.
   */
  async listening(): Promise<string> {
    const lines = async (): Promise<string> => {
      for (;;) {
        const [, url] = /^Provec listens on (\S+)\n(?:.*\n)*?.*curl/m.exec(this.stdout) ?? [];
        if (url !== undefined) return url;
        await once(this.child.stdout!, 'data');
      }
    };
    const ended = this.ended.then(() => Promise.reject(new Error(`start.ts ended: ${this.stderr}`)));
    const late = AbortSignal.timeout(START_TIMEOUT_MS);
    const timedOut = once(late, 'abort').then(() => Promise.reject(new Error(`start.ts is silent: ${this.stderr}`)));
    return Promise.race([lines(), ended, timedOut]);
  }

  dispose(): void {
    killGroup(this.child.pid!);
  }
}

/** A whole Provec as `npm start` runs it, which tests can kill and restart. */
export async function startProcess(environment: Record<string, string> = {}): Promise<ServiceProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'provec-process-'));
  let variables = smallService(dataDir, { PROVEC_ANCHOR_WAIT_MS: '30000', ...environment });
  const start = () => new StartedProcess(variables);
  let run = start();
  const dispose = async () => {
    run.dispose();
    await run.ended;
    await rm(dataDir, { recursive: true, force: true });
  };
  const listening = () =>
    run.listening().catch(async (error: unknown) => {
      await dispose();
      throw error;
    });
  let url = await listening();
  return {
    dataDir,
    get url() {
      return url;
    },
    get pid() {
      return run.child.pid!;
    },
    get stdout() {
      return run.stdout;
    },
    get stderr() {
      return run.stderr;
    },
    api: (method, path, body) => apiClient(url, TEST_KEY)(method, path, body),
    async kill(signal) {
      run.child.kill(signal);
      return run.ended;
    },
    async restart(changes = {}) {
      run.dispose();
      await run.ended;
      variables = { ...variables, ...changes };
      run = start();
      url = await listening();
    },
    async restartToEnd() {
      run.dispose();
      run = start();
      const ended = await run.ended;
      return { ...ended, stderr: run.stderr };
    },
    dispose,
  };
}
