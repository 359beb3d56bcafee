import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProcessSettings } from './node-process.ts';

const PROGRAM = fileURLToPath(new URL('./node-process.ts', import.meta.url));

interface Answer {
  id: number;
  value?: unknown;
  error?: { name: string; message: string };
}

/** A node in its own process. */
export class NodeInProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #orders = 0;
  stderr = '';
  readonly ended: Promise<{ code: number | null }>;

  private constructor(settings: ProcessSettings) {
    this.#child = fork(PROGRAM, [JSON.stringify(settings)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.#child.on('message', (answer: Answer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    this.ended = once(this.#child, 'exit').then(([code]) => ({ code }));
  }

  static async start(settings: ProcessSettings): Promise<NodeInProcess> {
    const node = new NodeInProcess(settings);
    await Promise.race([
      node.#answerTo(0),
      node.ended.then(() => Promise.reject(new Error(`The node ended: ${node.stderr}`))),
    ]);
    return node;
  }

  /** Tells the node to run an action and returns the outcome. */
  async order(action: string, params: Record<string, unknown> = {}): Promise<Answer> {
    const id = ++this.#orders;
    const answer = this.#answerTo(id);
    this.#child.send({ id, action, params });
    return answer;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async dispose(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  #answerTo(id: number): Promise<Answer> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}
