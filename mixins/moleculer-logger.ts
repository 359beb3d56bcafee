import { Loggers } from 'moleculer';
import type { Logger } from 'pino';
import { RepeatedLines } from '../process/repeated-lines.ts';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Moleculer's `info` lines are not relevant to operators, only for debugging. */
const QUIETER: Partial<Record<Level, Level>> = { info: 'debug', debug: 'trace' };

/** The parts that differ between lines that report the same fault for different requests. */
const REQUEST_IDS = /with requestID '.*?' |[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const NAMES = /'[^']*'/g;
/** Logged when a call arrives after its service has stopped, as in a drain: the caller retries. */
const LATE_CALL = /^Service '[^']*' is not registered locally\.$/;

/**
 * Makes Moleculer log to our logger: `new ServiceBroker({ logger: new MoleculerLogger(log) })`.
 * Objects other than messages and errors are left out, because they may contain parameters.
 * Repeated warnings and errors are logged once per second: without Redis, transit logs one per
 * request.
 */
export class MoleculerLogger extends Loggers.Base<Loggers.Base.LoggerOptions> {
  readonly #log: Logger;
  readonly #repeated = new RepeatedLines();

  constructor(log: Logger) {
    super({ level: 'trace' });
    this.#log = log;
  }

  override getLogHandler(bindings: { mod?: string; svc?: string } | null): (level: Level, args: unknown[]) => void {
    const module = bindings?.svc ?? bindings?.mod ?? 'broker';
    const log = this.#log.child({ module });
    return (level, args) => {
      const our = QUIETER[level] ?? level;
      if (!log.isLevelEnabled(our)) return;
      const err = args.find((arg) => arg instanceof Error);
      const message = args
        .filter((arg) => typeof arg === 'string' || typeof arg === 'number')
        .join(' ')
        .trim();
      const to = LATE_CALL.test(message) ? 'debug' : our;
      const write = (fields: object) => log[to](err ? { err, ...fields } : fields, message || (err?.name ?? ''));
      if (to === 'warn' || to === 'error') this.#repeated.write(`${to} ${module} ${kindOf(message, err)}`, write);
      else write({});
    };
  }

  override async stop(): Promise<void> {
    this.#repeated.close();
  }
}

/**
 * Returns the key that groups repeated lines. A disconnected node logs the same error for every
 * action and node, so their names are removed.
 */
function kindOf(message: string, err: Error | undefined): string {
  const kind = `${message} ${err?.name}: ${err?.message}`.replace(REQUEST_IDS, '');
  return err?.name === 'BrokerDisconnectedError' ? kind.replace(NAMES, '') : kind;
}
