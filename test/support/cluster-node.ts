import { fileURLToPath } from 'node:url';
import { SUPERVISOR_PID } from '../../process/parent-watch.ts';
import type { ServiceName } from '../../process/service-names.ts';
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
   * Command that runs the process, such as `ip netns exec <name>`. It must exec the process, not
   * start it as a child.
   */
  under?: readonly string[];
  /**
   * Starts launch.ts, as users do. It sets memory options that only take effect at process start.
   */
  isLaunched?: boolean;
}

/**
 * One cluster node in its own process and process group. Tests can kill, halt, stop and restart it.
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

  /** URL of the gateway; null when the node has none. */
  get url(): string | null {
    return this.#url;
  }

  /** URL of the health port; null when the node has none. */
  get healthUrl(): string | null {
    return /^ +Health +(\S+)\/readyz$/m.exec(this.#run?.stdout ?? '')?.[1] ?? null;
  }

  get pid(): number {
    return this.#run!.child.pid!;
  }

  get isRunning(): boolean {
    return this.#run !== null;
  }

  /** The end of its stderr, over all its runs. */
  get log(): string {
    return (this.#earlier + (this.#run?.stderr ?? '')).slice(-LOG_KEPT_CHARS);
  }

  /**
   * Resolves when the node reports that it runs. `changed`: environment changes for this run only.
   */
  async start(changed: Record<string, string> = {}): Promise<void> {
    const { id, services, under = [], isLaunched = false } = this.#settings;
    const program = isLaunched ? LAUNCH : START;
    const command = [...under, process.execPath, '--disable-warning=ExperimentalWarning', program];
    // The node ends when the tests are killed.
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

  /** Sends SIGTERM; resolves when the node has exited by itself. */
  stop(): Promise<Ended> {
    return this.#end('SIGTERM');
  }

  kill(): Promise<Ended> {
    return this.#end('SIGKILL');
  }

  /** Sends SIGSTOP: the node does nothing until `resume`, with its connections open. */
  halt(): void {
    this.#halted = true;
    this.#run!.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#halted = false;
    this.#run?.child.kill('SIGCONT');
  }

  /** Ends the node and everything it started, gracefully if that is quick. */
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
      // Also ends the processes that the node started.
      run.dispose();
      this.#earlier = `${this.log}\n--- ${this.id} ended: ${ended.signal ?? ended.code} ---\n`;
      this.#run = null;
    }
    return ended;
  }
}
