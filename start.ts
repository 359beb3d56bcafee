/**
 * `npm start [-- services/<name> ...] [--repl]`: runs Provec until SIGTERM or SIGINT.
 *
 * stdout gets only what a user needs to get started; logs go to stderr. A failed start is reported
 * in one line on stderr. Exit codes: 0 after a graceful stop; 1 failed to start, crashed, or not
 * stopped in time; 2 wrong configuration or arguments; 128 + signal when a second signal cuts the
 * stop short.
 */
import { constants } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { STOP_MAX_MS } from './lib/limits.ts';
import { SYSTEM_TIMERS } from './lib/time/timers.ts';
import { type Config, ConfigError, readConfig } from './process/config.ts';
import { makeLogger } from './process/logger.ts';
import { SUPERVISOR_PID, watchParent } from './process/parent-watch.ts';
import { SERVICE_NAMES, type ServiceName } from './process/service-names.ts';
import { startupBanner } from './process/startup-banner.ts';
import type { Provec } from './provec.ts';
import type { FrontDoor } from './services/gateway/front-door.ts';
import { secretHash } from './services/keys/secret.ts';

const EXIT_REFUSED = 1;
const EXIT_MISUSED = 2;

interface Arguments {
  services: readonly ServiceName[];
  repl: boolean;
}

function readArguments(argv: string[]): Arguments {
  const services = new Set<ServiceName>();
  let repl = false;
  for (const argument of argv) {
    const given = argument.replace(/^(\.\/)?services\//, '').replace(/\/$/, '');
    const service = SERVICE_NAMES.find((name) => name === given);
    if (argument === '--repl') repl = true;
    else if (service !== undefined) services.add(service);
    else
      throw new ConfigError(
        `${argument} is neither --repl nor one of ${SERVICE_NAMES.map((known) => `services/${known}`).join(', ')}.`,
      );
  }
  return { services: services.size === 0 ? SERVICE_NAMES : [...services], repl };
}

function reportFailedStart(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`Provec cannot start: ${message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  process.exit(error instanceof ConfigError ? EXIT_MISUSED : EXIT_REFUSED);
}

/**
 * Stops gracefully on the first signal or fault, or when the parent process has ended; at once on
 * the second signal.
 */
class Shutdown {
  #provec: Promise<Provec>;
  #log: Logger;
  #begun = false;
  #isSignalled = false;

  constructor(provec: Promise<Provec>, log: Logger) {
    this.#provec = provec;
    this.#log = log;
  }

  listen(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (this.#isSignalled) process.exit(128 + constants.signals[signal]);
        this.#isSignalled = true;
        // A signal to the process group also ends the parent, which may be noticed first.
        if (this.#begun) return;
        this.#log.info(`stopping on ${signal}`);
        void this.#stop(0);
      });
    }
    if (process.env.npm_lifecycle_event !== undefined || process.env[SUPERVISOR_PID] !== undefined) {
      watchParent(() => {
        if (this.#begun) return;
        this.#log.info('stopping because what started this process has ended');
        void this.#stop(0);
      });
    }
    for (const fault of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(fault, (error: unknown) => {
        this.#log.fatal({ err: error }, `stopping after an ${fault}`);
        if (!this.#begun) void this.#stop(EXIT_REFUSED);
        else process.exitCode = EXIT_REFUSED;
      });
    }
  }

  async #stop(code: number): Promise<void> {
    this.#begun = true;
    process.exitCode = code;
    const endMs = performance.now() + STOP_MAX_MS;
    let provec: Provec | null = null;
    setTimeout(() => {
      this.#log.fatal({ waiting: provec?.waiting() ?? ['the start has not ended'] }, 'did not stop in time');
      process.exit(EXIT_REFUSED);
    }, STOP_MAX_MS).unref();
    // The code that awaits the start reports a failure and ends the process.
    provec = await this.#provec.catch(() => null);
    if (provec === null) return;
    await provec.stop(endMs - performance.now());
    this.#log.info('stopped');
    process.exit();
  }
}

/** Listens before the other modules are loaded. */
async function openEarlyDoor(config: Config, log: Logger): Promise<FrontDoor> {
  const { FrontDoor } = await import('./services/gateway/front-door.ts');
  const door = new FrontDoor(config, log);
  // `startProvec` tries again.
  await door.listen().catch(() => undefined);
  return door;
}

interface Started {
  provec: Provec;
  config: Config;
  log: Logger;
}

async function start({ services }: Arguments): Promise<Started> {
  const config = readConfig(process.env);
  const log = makeLogger(config);
  // The configuration is read first, so that mistyped variables are reported at once.
  const door = services.includes('gateway') ? await openEarlyDoor(config, log) : undefined;
  const { startProvec } = await import('./provec.ts');
  const starting = startProvec(config, { log, services, door });
  new Shutdown(starting, log).listen();
  const provec = await starting.catch((error: unknown) => {
    log.debug({ err: error }, 'the start failed');
    throw error;
  });
  return { provec, config, log };
}

/** Returns whether PROVEC_BOOTSTRAP_KEY is set but known not to be a key of the store. */
async function isKeyIgnored({ provec: { bootstrapSecret, store }, config, log }: Started): Promise<boolean> {
  if (bootstrapSecret !== null || config.bootstrapKey === null) return false;
  try {
    return (await store.keys.findByHash(secretHash(config.bootstrapKey))) === null;
  } catch (error) {
    log.warn({ err: error }, 'the store could not be asked whether PROVEC_BOOTSTRAP_KEY is one of its keys');
    return false;
  }
}

/** Prints the banner, and opens the console if wanted. Provec serves requests meanwhile. */
async function greet(started: Started, { services, repl }: Arguments): Promise<void> {
  const { provec, config, log } = started;
  const { url, healthUrl, bootstrapSecret, ledger, store } = provec;
  const isBootstrapKeyIgnored = services.includes('keys') && (await isKeyIgnored(started));
  // The reader of the startup banner may have closed the pipe.
  process.stdout.on('error', () => undefined);
  const banner = startupBanner(config, { url, healthUrl, ledger, bootstrapSecret, isBootstrapKeyIgnored });
  const isShown = await new Promise<boolean>((resolve) => process.stdout.write(banner, (error) => resolve(!error)));
  // The start itself records a chosen key, which the operator knows.
  if (isShown && bootstrapSecret !== null && config.bootstrapKey === null) {
    const { recordShown } = await import('./services/keys/first-key.ts');
    void recordShown({ store, log }, SYSTEM_TIMERS);
  }
  if (!repl) return;
  // Imported only here: it loads `node:domain`, which slows down every event of the process.
  const { openConsole } = await import('./repl/console.ts');
  openConsole(provec.broker, () => provec.stop());
}

// The flag from launch.ts is for the main thread, whose heap is already set up. Worker threads
// would inherit it in place of their own limits.
setFlagsFromString('--max-semi-space-size=0');
try {
  const given = readArguments(process.argv.slice(2));
  const started = await start(given);
  // A fault from here on stops a process that serves requests.
  void greet(started, given);
} catch (error) {
  reportFailedStart(error);
}
