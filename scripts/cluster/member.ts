/**
 * One process of a cluster on this machine, which is started again when it ends by itself.
 *
 * Promises: what it writes to stderr comes out line by line behind its name; an end that nobody
 * asked for is said, and the pause before the next start doubles from one second to thirty while it
 * goes on ending soon. It is in a session of its own, so that Ctrl-C reaches only whoever started
 * it, and it ends with that process, however that ends (lib/process/parent-watch.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { SUPERVISOR_PID } from '../../lib/process/parent-watch.ts';

const LAUNCH = fileURLToPath(new URL('../../launch.ts', import.meta.url));
const PAUSE_FIRST_MS = 1_000;
const PAUSE_MAX_MS = 30_000;
/** Who ran for so long starts again as after a first end. */
const STEADY_MS = 60_000;
/** Longer than the process gives itself. */
const STOP_MAX_MS = 40_000;

export interface MemberSettings {
  name: string;
  services: readonly string[];
  environment: Record<string, string | undefined>;
  /** A line for the person who watches. */
  say(line: string): void;
}

export class Member {
  readonly name: string;
  readonly #settings: MemberSettings;
  #child: ChildProcess | null = null;
  #ended: Promise<void> = Promise.resolve();
  #pauseMs = PAUSE_FIRST_MS;
  #startedAtMs = 0;
  #isStopping = false;
  #restart: NodeJS.Timeout | null = null;
  #stdout = '';

  constructor(settings: MemberSettings) {
    this.name = settings.name;
    this.#settings = settings;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** What it said on stdout, since its last start. */
  get stdout(): string {
    return this.#stdout;
  }

  /**
   * Resolves when it says that it runs; rejects when it ends instead, and is then not started
   * again.
   */
  async start(): Promise<void> {
    const child = this.#spawn();
    await this.#running(child);
    child.once('exit', (code, signal) => this.#gone(signal ?? `exit code ${code}`));
    if (child.exitCode !== null || child.signalCode !== null)
      this.#gone(child.signalCode ?? `exit code ${child.exitCode}`);
  }

  /** For its next starts. */
  keep(environment: Record<string, string>): void {
    Object.assign(this.#settings.environment, environment);
  }

  /** In good order; what does not end in time is killed. */
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
      // Only its beginning says anything.
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

  #gone(how: string): void {
    if (this.#isStopping) return;
    if (performance.now() - this.#startedAtMs > STEADY_MS) this.#pauseMs = PAUSE_FIRST_MS;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
    this.#settings.say(`!!! ${this.name} has ended (${how}); it is started again in ${pauseMs / 1_000} s !!!`);
    this.#restart = setTimeout(() => {
      this.start().then(
        () => this.#settings.say(`--- ${this.name} runs again (process ${this.pid}) ---`),
        () => this.#gone('it did not start'),
      );
    }, pauseMs);
  }
}
