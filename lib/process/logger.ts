import { types } from 'node:util';
import { destination, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from '../config.ts';

/** Fields that must never be printed, wherever somebody logs an object that holds them. */
const REDACTED = ['authorization', 'secret', 'adminToken', 'bootstrapKey', 'headers.authorization'];

/**
 * An error as it is printed, `code` a ProvecError's or the system's. Only what is known to be
 * harmless: other libraries hang parameters on their errors, and the sentence that a ProvecError
 * has for its client may name fields of metadata and filters.
 */
function printedError(error: unknown): object {
  // An error may come from another realm, such as a worker thread's.
  if (!types.isNativeError(error)) return { type: typeof error };
  const isForClient = error.name === 'ProvecError';
  return {
    type: error.name,
    ...(isForClient ? {} : { message: error.message }),
    ...('code' in error ? { code: error.code } : {}),
    stack: isForClient ? framesOf(error) : error.stack,
    ...(error.cause === undefined ? {} : { cause: printedError(error.cause) }),
  };
}

function framesOf({ stack = '' }: Error): string {
  return stack
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .join('\n');
}

/**
 * The service's logger: for people on a terminal, JSON lines otherwise (PROVEC_LOG_FORMAT decides
 * when set). Lines go to stderr, so that stdout is left to what a command prints for its user.
 * Writes are synchronous: nothing is lost when the process ends.
 */
export function makeLogger(config: Pick<Config, 'logLevel' | 'logFormat'>, fd: 1 | 2 = 2): Logger {
  const terminal = fd === 2 ? process.stderr.isTTY === true : process.stdout.isTTY === true;
  const forPeople = config.logFormat === 'pretty' || (config.logFormat === 'auto' && terminal);
  const stream = forPeople
    ? pretty({
        destination: fd,
        sync: true,
        colorize: terminal,
        translateTime: 'SYS:HH:MM:ss.l',
        ignore: 'pid,hostname',
      })
    : destination({ dest: fd, sync: true });
  return pino(
    {
      level: config.logLevel,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: printedError },
      redact: { paths: [...REDACTED, ...REDACTED.map((path) => `*.${path}`)], censor: '[redacted]' },
    },
    stream,
  );
}
