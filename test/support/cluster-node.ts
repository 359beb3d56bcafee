import { fileURLToPath } from 'node:url';
import { SUPERVISOR_PID } from '../../lib/process/parent-watch.ts';
import type { ServiceName } from '../../lib/process/service-names.ts';
import { type Command, type Ended, StartedProcess } from './service-process.ts';
import { until } from './until.ts';

const START = fileURLToPath(new URL('../../start.ts', import.meta.url));
const LAUNCH = fileURLToPath(new URL('../../launch.ts', import.meta.url));
const LOG_KEPT_CHARS = 64 * 1024;

export interface NodeSettings {
  id: string;
  services: readonly ServiceName[];
  environment: Record<string, string>;
  /**
   * What the process is run by, such as `ip netns exec <name>`. It must become the process, not
   * have it as a child.
   */
  under?: readonly string[];
  /**
   * By launch.ts, as users run it: with the settings of memory that a process has from its
   * beginning.
   */
  isLaunched?: boolean;
}

/**
 * One node of a cluster as a process of its own, in a group of its own, to be killed, halted, ended
 * and started again.
 */
export class ClusterNode {
  readonly id: string;
  readonly #settings: NodeSettings;
  #run: StartedProcess | null = null;
  #url: string | null = null;
  #earlier = '';
  #halted = false;

  constructor(settings: NodeSettings) {
    this.id = settings.id;
    this.#settings = settings;
  }

  /** Where its gateway listens; null when it has none. */
  get url(): string | null {
    return this.#url;
  }

  /** Where its health port is; null when it has none. */
  get healthUrl(): string | null {
    return /^ +Health +(\S+)\/readyz$/m.exec(this.#run?.stdout ?? '')?.[1] ?? null;
  }

  get pid(): number {
    return this.#run!.child.pid!;
  }

  get isRunning(): boolean {
    return this.#run !== null;
  }

  /** The end of what it wrote to stderr, over all its lives. */
  get log(): string {
    return (this.#earlier + (this.#run?.stderr ?? '')).slice(-LOG_KEPT_CHARS);
  }

  /**
   * Resolves when it says that it runs; `changed` is what this life has otherwise in its
   * environment.
   */
  async start(changed: Record<string, string> = {}): Promise<void> {
    const { id, services, under = [], isLaunched = false } = this.#settings;
    const program = isLaunched ? LAUNCH : START;
    const command = [...under, process.execPath, '--disable-warning=ExperimentalWarning', program];
    // It ends when the tests are killed.
    const environment = { ...this.#settings.environment, ...changed };
    const settings = { ...environment, PROVEC_NODE_ID: id, [SUPERVISOR_PID]: `${process.pid}` };
    const run = new StartedProcess(settings, [...services], command as unknown as Command);
    this.#run = run;
    let ended: Ended | null = null;
    void run.ended.then((end) => {
      ended = end;
    });
    await until(`${id} runs`, () => {
      if (ended !== null) throw new Error(`${id} ended instead of running: ${run.stderr}`);
      return /^Provec (listens on \S+|runs without a gateway)$/m.test(run.stdout);
    });
    this.#url = /^Provec listens on (\S+)$/m.exec(run.stdout)?.[1] ?? null;
  }

  /** SIGTERM; resolves when it has ended by itself. */
  stop(): Promise<Ended> {
    return this.#end('SIGTERM');
  }

  kill(): Promise<Ended> {
    return this.#end('SIGKILL');
  }

  /** SIGSTOP: it does nothing, and its connections stay open, until `resume`. */
  halt(): void {
    this.#halted = true;
    this.#run!.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#halted = false;
    this.#run?.child.kill('SIGCONT');
  }

  /** Ends it and all that it started, in good order where that is quick. */
  async dispose(): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    if (this.#halted) this.resume();
    run.dispose();
    await this.#ended(run);
  }

  async #end(signal: NodeJS.Signals): Promise<Ended> {
    const run = this.#run!;
    const begunMs = performance.now();
    run.child.kill(signal);
    const ended = await this.#ended(run);
    this.#earlier += `--- it took ${Math.round(performance.now() - begunMs)} ms to end on ${signal} ---\n`;
    return ended;
  }

  async #ended(run: StartedProcess): Promise<Ended> {
    const ended = await run.ended;
    if (this.#run === run) {
      // What it had started ends with it.
      run.dispose();
      this.#earlier = `${this.log}\n--- ${this.id} ended: ${ended.signal ?? ended.code} ---\n`;
      this.#run = null;
    }
    return ended;
  }
}
