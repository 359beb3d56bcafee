/**
 * `npm run cluster [-- --nodes <n>]`: runs a gateway process (all services except shards) and shard
 * nodes on this machine. By default they call each other over TCP and share one data folder; with
 * PROVEC_REDIS_URL and PROVEC_MONGO_URL they use Redis and MongoDB instead.
 *
 * On SIGINT or SIGTERM the gateway stops first, then all shard nodes at once, without handing over
 * their shards; a second signal kills all processes. Exit codes are those of start.ts.
 */
import { constants } from 'node:os';
import { ConfigError, readConfig } from '../process/config.ts';
import { watchParent } from '../process/parent-watch.ts';
import { type ClusterPlan, clusterPlan, readNodes } from './cluster/cluster-plan.ts';
import { SupervisedProcess } from './cluster/supervised-process.ts';

const READY_MAX_MS = 60_000;
const READY_CHECK_MS = 200;
const EXIT_REFUSED = 1;
const EXIT_MISUSED = 2;

/** The reader of a pipe may have closed it. */
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

class LocalCluster {
  readonly gateway: SupervisedProcess;
  readonly shardNodes: SupervisedProcess[];
  #isStopping = false;

  constructor({ gateway, shardNodes }: ClusterPlan) {
    this.gateway = new SupervisedProcess({ ...gateway, say });
    this.shardNodes = shardNodes.map((planned) => new SupervisedProcess({ ...planned, say }));
  }

  get members(): SupervisedProcess[] {
    return [this.gateway, ...this.shardNodes];
  }

  /** Rejects when a process does not start, or the gateway does not find the others. */
  async start(): Promise<void> {
    await Promise.all(this.members.map((member) => member.start()));
    const { url } = this.#told();
    // Restarts keep a port that the system chose, so that clients find the gateway again.
    this.gateway.setEnvironment({ PROVEC_PORT: new URL(url).port });
    const deadlineMs = performance.now() + READY_MAX_MS;
    let answer = '';
    while (!this.#isStopping && performance.now() < deadlineMs) {
      // A gateway that does not answer is asked again.
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
      if (response?.ok) return;
      // Only shown if the time runs out.
      answer = (await response?.text().catch(() => '')) ?? '';
      await new Promise((resolve) => setTimeout(resolve, READY_CHECK_MS));
    }
    if (!this.#isStopping) throw new Error(`the gateway is not ready: ${answer}`);
  }

  listenForTheEnd(): void {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (this.#isStopping) this.#kill(128 + constants.signals[signal]);
        else void this.stop(0);
      });
    }
    // npm forwards a signal to its shell, but some shells do not forward it.
    if (process.env.npm_lifecycle_event !== undefined) watchParent(() => void this.stop(0));
  }

  async stop(code: number): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    say('--- stopping: the gateway, then the shard nodes ---');
    await this.gateway.stop();
    await Promise.all(this.shardNodes.map((member) => member.stop()));
    process.exit(code);
  }

  /** The text that a person needs to get started. */
  banner(dataDir: string, stores: string): string {
    const { url, key, ledger, curl } = this.#told();
    const facts: string[][] = [
      ['Data folder', dataDir],
      ['Between nodes', stores],
      ['Ledger', ledger],
      ...(key === null ? [] : [['API key', key]]),
      ...this.members.map(({ name, pid }) => [name, `process ${pid}`]),
      ['Console', 'npm run repl   (then: provec nodes)'],
      ['End', 'Ctrl-C'],
    ];
    const lines = facts.map(([name = '', value]) => `  ${name.padEnd(15)}${value}`);
    return ['', `Provec listens on ${url}`, '', ...lines, '', 'Create a collection:', '', `  ${curl}`, '', ''].join(
      '\n',
    );
  }

  /** Values read from the gateway's startup output. */
  #told(): { url: string; key: string | null; ledger: string; curl: string } {
    const { stdout } = this.gateway;
    const found = (pattern: RegExp): string | null => pattern.exec(stdout)?.[1] ?? null;
    return {
      url: found(/^Provec listens on (\S+)$/m) ?? '',
      key: found(/^ +API key +(.+)$/m),
      ledger: found(/^ +Ledger +(.+)$/m) ?? '',
      curl: found(/^ +(curl .+)$/m) ?? '',
    };
  }

  #kill(code: number): never {
    for (const member of this.members) member.kill();
    process.exit(code);
  }
}

async function main(): Promise<void> {
  const nodes = readNodes(process.argv.slice(2));
  const config = readConfig(process.env);
  const cluster = new LocalCluster(clusterPlan(config, process.env, nodes));
  cluster.listenForTheEnd();
  try {
    await cluster.start();
  } catch (error) {
    say(`Provec cannot start: ${error instanceof Error ? error.message : String(error)}`);
    await cluster.stop(EXIT_REFUSED);
    return;
  }
  const stores = [
    config.redisUrl !== null && config.transporter === null ? 'Redis' : 'TCP',
    config.mongoUrl === null ? 'one SQLite folder' : 'MongoDB',
  ];
  process.stdout.write(cluster.banner(config.dataDir, stores.join(', ')));
}

await main().catch((error: unknown) => {
  say(`Provec cannot start: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(error instanceof ConfigError ? EXIT_MISUSED : EXIT_REFUSED);
});
