import { types } from 'node:util';
import { destination, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';
import type { Config } from './config.ts';

/** Fields that are never printed, in whatever object they are logged. */
const REDACTED = ['authorization', 'secret', 'adminToken', 'bootstrapKey', 'headers.authorization'];

/**
 * Returns the printable parts of an error; `code` is that of a ProvecError or of the system. Prints
 * only what is known to be harmless: other libraries attach parameters to their errors, and the
 * message of a ProvecError, which is meant for its client, may name fields of metadata and filters.
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
 * Returns the service's logger: readable text on a terminal, JSON lines otherwise, unless
 * PROVEC_LOG_FORMAT says which. Lines go to stderr, so that stdout has only what a command prints
 * for its user. Writes are synchronous, so nothing is lost when the process ends.
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
