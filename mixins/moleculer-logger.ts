import { Loggers } from 'moleculer';
import type { Logger } from 'pino';
import { RepeatedLines } from './repeated-lines.ts';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/**
 * Moleculer tells a person nothing at `info` that they need: its start-up story is for whoever
 * debugs.
 */
const QUIETER: Partial<Record<Level, Level>> = { info: 'debug', debug: 'trace' };

/** What differs between lines that say the same of one request each. */
const REQUEST_IDS = /with requestID '.*?' |[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const NAMES = /'[^']*'/g;
/**
 * Of a call that comes when its service has stopped, as some do in every drain: its caller asks
 * another node.
 */
const LATE_CALL = /^Service '[^']*' is not registered locally\.$/;

/**
 * Moleculer's logger over ours: `new ServiceBroker({ logger: new MoleculerLogger(log) })`. Prints
 * messages and errors; other objects that the framework hands over (they may hold parameters) are
 * left out. Of warnings and errors that say the same it prints one a second, with their number:
 * while Redis is away transit has one for every request.
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

  /** Called by the broker when it has stopped. */
  override async stop(): Promise<void> {
    this.#repeated.close();
  }
}

/** A node without its connection says the same of every action and every other node. */
function kindOf(message: string, err: Error | undefined): string {
  const said = `${message} ${err?.name}: ${err?.message}`.replace(REQUEST_IDS, '');
  return err?.name === 'BrokerDisconnectedError' ? said.replace(NAMES, '') : said;
}
