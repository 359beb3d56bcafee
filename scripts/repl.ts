/**
 * `npm run repl [-- provec <command> ...]`: joins a running service (one process or a cluster) and
 * opens a console, or runs one command.
 *
 * It is a separate node without services, store or lock. Exit codes: 0 success; 1 the command
 * failed, the service refused it, or no service was found; 2 invalid configuration or command.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { ServiceBroker } from 'moleculer';
import { systemCode } from '../lib/host/system-error.ts';
import { transportKeys } from '../lib/secret/keyring.ts';
import { Metrics } from '../mixins/metrics.ts';
import { brokerOptions } from '../moleculer.config.ts';
import { type Config, ConfigError, readConfig } from '../process/config.ts';
import { makeLogger } from '../process/logger.ts';
import { loadSecrets } from '../process/secret-file.ts';
import { openConsole } from '../repl/console.ts';
import { errorLine, helpOf, helpText, runOperatorCommand, UsageError } from '../repl/operator-commands.ts';
import { consoleSocket } from '../transport/console-transporter.ts';
import { transportOf } from '../transport/transport.ts';

const JOIN_MAX_MS = 15_000;
const EXIT_FAILED = 1;
const EXIT_MISUSED = 2;

class NoCluster extends Error {
  override name = 'NoCluster';
}

function end(code: number, error: unknown): never {
  process.stderr.write(`${errorLine(error)}\n`);
  process.exit(code);
}

/** Returns the words after `provec`, or null to open a console. */
function commandOf(argv: string[]): string[] | null {
  if (argv.length === 0) return null;
  if (argv[0] === '--help' || argv[0] === '-h') return ['help'];
  if (argv[0] !== 'provec')
    throw new UsageError('Usage: npm run repl [-- provec <command> ...]; provec help lists them.');
  return argv.slice(1);
}

/**
 * The configuration of the nodes to join. Without Redis that is the single process on the data
 * folder, or a cluster on the loopback interface.
 */
async function joining(environment: NodeJS.ProcessEnv): Promise<Config> {
  const read = readConfig(environment);
  const isAlone = transportOf(read) === 'none' && (await answers(consoleSocket(read.dataDir)));
  if (read.transporter === 'none' && !isAlone) throw new NoCluster(whyNone(read));
  return {
    ...read,
    nodeId: `repl-${process.pid}`,
    transporter: isAlone ? 'none' : (read.transporter ?? (read.redisUrl === null ? 'TCP' : null)),
    logLevel: environment.PROVEC_LOG_LEVEL === undefined ? 'error' : read.logLevel,
  };
}

/**
 * Whether a service listens on the socket. Throws system errors other than ENOENT and ECONNREFUSED.
 */
async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return false;
    throw error;
  } finally {
    socket.destroy();
  }
}

/** A console with the wrong secret sees no nodes, so it cannot tell a running cluster from none. */
function whyNone(config: Config): string {
  const secret = 'or its secret is another one than this console has (PROVEC_SECRET, PROVEC_SECRET_FILE)';
  return transportOf(config) === 'redis'
    ? `No cluster was found on that Redis (PROVEC_REDIS_URL), ${secret}.`
    : `No service runs on ${config.dataDir} (PROVEC_DATA_DIR), ${secret}.`;
}

function serviceEnded(): never {
  end(EXIT_FAILED, new Error('The service has ended.'));
}

async function join(config: Config): Promise<ServiceBroker> {
  const log = makeLogger(config);
  const consoles = { side: 'console', dataDir: config.dataDir, onEnd: serviceEnded } as const;
  const keys = transportKeys(await loadSecrets(config, false, log));
  const metrics = new Metrics();
  const broker = new ServiceBroker(brokerOptions({ config, log, metrics, transportKeys: keys, consoles }));
  const start = broker.start();
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new NoCluster(whyNone(config))), JOIN_MAX_MS).unref();
  });
  await Promise.race([start.then(() => broker.waitForServices('cluster')), late]);
  return broker;
}

async function main(): Promise<void> {
  const command = commandOf(process.argv.slice(2));
  const help = command && helpOf(command);
  if (help !== null) {
    process.stdout.write(`${help}\n`);
    return;
  }
  const broker = await join(await joining(process.env));
  if (command === null) {
    process.stdout.write(`${helpText()}\n\n`);
    openConsole(broker, () => broker.stop());
    return;
  }
  try {
    process.stdout.write(`${await runOperatorCommand(broker, command)}\n`);
  } finally {
    await broker.stop();
  }
}

await main().then(
  () => undefined,
  (error: unknown) =>
    end(error instanceof ConfigError || error instanceof UsageError ? EXIT_MISUSED : EXIT_FAILED, error),
);
