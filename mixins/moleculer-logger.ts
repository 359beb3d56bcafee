import { Loggers } from 'moleculer';
import type { Logger } from 'pino';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Moleculer tells a person nothing at `info` that they need: its start-up story is for whoever debugs. */
const LEVEL_OF: Record<Level, Level> = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  info: 'debug',
  debug: 'trace',
  trace: 'trace',
};

/**
 * Moleculer's logger over ours: `new ServiceBroker({ logger: new MoleculerLogger(log) })`. Prints messages and errors; other objects that
 * the framework hands over (they may hold parameters) are left out.
 */
export class MoleculerLogger extends Loggers.Base<Loggers.Base.LoggerOptions> {
  readonly #log: Logger;

  constructor(log: Logger) {
    super({ level: 'trace' });
    this.#log = log;
  }

  override getLogHandler(bindings: { mod?: string; svc?: string } | null): (level: Level, args: unknown[]) => void {
    const log = this.#log.child({ module: bindings?.svc ?? bindings?.mod ?? 'broker' });
    return (level, args) => {
      const to = LEVEL_OF[level];
      if (!log.isLevelEnabled(to)) return;
      const err = args.find((arg) => arg instanceof Error);
      const message = args
        .filter((arg) => typeof arg === 'string' || typeof arg === 'number')
        .join(' ')
        .trim();
      log[to](err ? { err } : {}, message || (err?.name ?? ''));
    };
  }
}
