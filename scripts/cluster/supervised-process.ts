/**
 * One process of a local cluster, restarted when it exits on its own.
 *
 * Each stderr line is printed with the process name in front. An unexpected exit is reported; while
 * the process keeps exiting soon, the pause before a restart doubles from 1 s to 30 s. The process
 * runs in its own session, so Ctrl-C reaches only the parent, and it ends when the parent ends for
 * any reason (process/parent-watch.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SUPERVISOR_PID } from '../../process/parent-watch.ts';

const LAUNCH = fileURLToPath(new URL('../../launch.ts', import.meta.url));
const PAUSE_FIRST_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** A process that ran longer than this restarts after the shortest pause again. */
const STEADY_MS = 60_000;
/** Longest wait after SIGTERM before SIGKILL; longer than a process's own shutdown limit. */
const STOP_MAX_MS = 40_000;

export interface SupervisedProcessOptions {
  name: string;
  services: readonly string[];
  environment: Record<string, string | undefined>;
  /** Prints a line for the person who watches. */
  say(line: string): void;
}

export class SupervisedProcess {
  readonly name: string;
  readonly #settings: SupervisedProcessOptions;
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #pauseMs = PAUSE_FIRST_MS;
  #startedAtMs = 0;
  #isStopping = false;
  #restart: NodeJS.Timeout | null = null;
  #stdout = '';

  constructor(settings: SupervisedProcessOptions) {
    this.name = settings.name;
    this.#settings = settings;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** The beginning of the output on stdout since the last start. */
  get stdout(): string {
    return this.#stdout;
  }

  /**
   * Resolves when the process reports that it runs. Rejects when it exits first; it is then not
   * restarted.
   */
  async start(): Promise<void> {
    const child = this.#spawn();
    await this.#running(child);
    child.once('exit', (code, signal) => this.#onExit(signal ?? `exit code ${code}`));
    if (child.exitCode !== null || child.signalCode !== null)
      this.#onExit(child.signalCode ?? `exit code ${child.exitCode}`);
  }

  /** Adds environment variables for later starts. */
  setEnvironment(environment: Record<string, string>): void {
    Object.assign(this.#settings.environment, environment);
  }

  /** Sends SIGTERM, and SIGKILL if the process does not exit in time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const child = this.#child;
    if (child === null) return;
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MAX_MS);
    await this.#ended;
    clearTimeout(late);
  }

  kill(): void {
    this.#isStopping = true;
    this.#child?.kill('SIGKILL');
  }

  #spawn(): ChildProcess {
    const { services, environment, say } = this.#settings;
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', LAUNCH, ...services.map((service) => `services/${service}`)],
      {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...environment, [SUPERVISOR_PID]: String(process.pid) },
      },
    );
    this.#child = child;
    this.#startedAtMs = performance.now();
    this.#stdout = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      // Only the startup banner is needed.
      if (this.#stdout.length < 64 * 1024) this.#stdout += text;
    });
    createInterface({ input: child.stderr! }).on('line', (line) => say(`[${this.name}] ${line}`));
    this.#ended = new Promise((resolve) => {
      child.once('close', () => {
        if (this.#child === child) this.#child = null;
        resolve();
      });
      child.once('error', () => resolve());
    });
    return child;
  }

  async #running(child: ChildProcess): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new Error(`${this.name} did not start.`));
      child.once('error', fail);
      child.once('close', fail);
      child.stdout!.on('data', () => {
        if (/^Provec (listens on|runs without a gateway)[\s\S]*\n\n[\s\S]*\n\n$/.test(this.#stdout)) resolve();
      });
    });
  }

  #onExit(how: string): void {
    if (this.#isStopping) return;
    if (performance.now() - this.#startedAtMs > STEADY_MS) this.#pauseMs = PAUSE_FIRST_MS;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
    this.#settings.say(`!!! ${this.name} has ended (${how}); it is started again in ${pauseMs / 1_000} s !!!`);
    this.#restart = setTimeout(() => {
      this.start().then(
        () => this.#settings.say(`--- ${this.name} runs again (process ${this.pid}) ---`),
        () => this.#onExit('it did not start'),
      );
    }, pauseMs);
  }
}
