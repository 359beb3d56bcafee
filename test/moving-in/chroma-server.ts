import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { Installed, Scenario } from '../clients/installed.ts';
import { freePorts } from '../support/free-ports.ts';
import { killAtExit, killGroup } from '../support/process-group.ts';
import { until } from '../support/until.ts';

const DATA = process.env.PROVEC_TEST_DATA ?? resolve(import.meta.dirname, '../../../shared/data/debian');

/** A real Chroma of PyPI, with its data in a folder. */
export class ChromaServer {
  readonly port: number;
  /** Interpreter whose environment has the client of Chroma. */
  readonly python: string;
  readonly #scenario: Scenario;
  readonly #pid: number;

  private constructor(port: number, python: string, scenario: Scenario, pid: number) {
    this.port = port;
    this.python = python;
    this.#scenario = scenario;
    this.#pid = pid;
  }

  /** `packages`: more to install beside Chroma. */
  static async start(installed: Installed, folder: string, ...packages: string[]): Promise<ChromaServer> {
    const scenario = await installed.fromPypi('chromadb==1.5.9', ...packages);
    const bin = join(installed.folder, '0/bin');
    const [port] = await freePorts(1);
    const run = ['run', '--path', folder, '--host', '127.0.0.1', '--port', `${port}`];
    const { pid } = spawn(join(bin, 'chroma'), run, { detached: true, stdio: 'ignore' });
    killAtExit(pid!);
    const server = new ChromaServer(port!, join(bin, 'python'), scenario, pid!);
    await until('Chroma answers', () =>
      fetch(`${server.url}/api/v2/heartbeat`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Creates a collection with the first of the real embeddings. Returns its number of records. */
  async fill(name: string, records: number): Promise<number> {
    const [count] = await this.#scenario('../moving-in/debian-in-chroma.py', `${this.port}`, name, `${records}`, DATA);
    return Number(count);
  }

  end(): void {
    killGroup(this.#pid);
  }
}
