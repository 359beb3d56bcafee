import { spawn } from 'node:child_process';
import { freePorts } from '../support/free-ports.ts';
import { killAtExit, killGroup } from '../support/process-group.ts';
import { until } from '../support/until.ts';

const { PROVEC_TEST_WEAVIATE: BINARY } = process.env;

/**
 * Prints that tests are left out without the server that PROVEC_TEST_WEAVIATE names; throws when
 * PROVEC_TEST_REQUIRE demands them. Returns whether there is one.
 */
export function isWeaviateThere(): boolean {
  if (BINARY !== undefined) return true;
  if (process.env.PROVEC_TEST_REQUIRE?.split(/[\s,]+/).includes('weaviate'))
    throw new Error('PROVEC_TEST_REQUIRE demands the tests with Weaviate: set PROVEC_TEST_WEAVIATE.');
  process.stderr.write(
    '\n!!! The tests with Weaviate are LEFT OUT: PROVEC_TEST_WEAVIATE must name a weaviate-server. !!!\n\n',
  );
  return false;
}

/** A real Weaviate, with its data in a folder. */
export class WeaviateServer {
  readonly url: string;
  readonly #pid: number;

  private constructor(url: string, pid: number) {
    this.url = url;
    this.#pid = pid;
  }

  static async start(folder: string): Promise<WeaviateServer> {
    const [http, grpc, gossip, data, raft, raftRpc] = await freePorts(6);
    const environment = {
      PERSISTENCE_DATA_PATH: folder,
      AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED: 'true',
      DEFAULT_VECTORIZER_MODULE: 'none',
      CLUSTER_HOSTNAME: 'node1',
      CLUSTER_ADVERTISE_ADDR: '127.0.0.1',
      CLUSTER_GOSSIP_BIND_PORT: `${gossip}`,
      CLUSTER_DATA_BIND_PORT: `${data}`,
      RAFT_BOOTSTRAP_EXPECT: '1',
      RAFT_PORT: `${raft}`,
      RAFT_INTERNAL_RPC_PORT: `${raftRpc}`,
      GRPC_PORT: `${grpc}`,
      GO_PROFILING_DISABLE: 'true',
      DISABLE_TELEMETRY: 'true',
      LOG_LEVEL: 'error',
    };
    const args = ['--host', '127.0.0.1', '--port', `${http}`, '--scheme', 'http'];
    const env = { ...process.env, ...environment };
    const { pid } = spawn(BINARY!, args, { detached: true, stdio: 'ignore', env });
    killAtExit(pid!);
    const server = new WeaviateServer(`http://127.0.0.1:${http}`, pid!);
    await until('Weaviate answers', () =>
      fetch(`${server.url}/v1/.well-known/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return server;
  }

  /** Sends a request. Throws unless it succeeds. */
  async send(method: string, path: string, body: object): Promise<unknown> {
    const init = { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${this.url}${path}`, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Stores objects. Throws if one is refused. */
  async store(objects: readonly object[]): Promise<void> {
    const answers = (await this.send('POST', '/v1/batch/objects', { objects })) as { result?: { errors?: unknown } }[];
    const refused = answers.find(({ result }) => result?.errors);
    if (refused !== undefined) throw new Error(JSON.stringify(refused.result));
  }

  end(): void {
    killGroup(this.#pid);
  }
}
