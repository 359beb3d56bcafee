/** Exit codes of the command, and the code and message of each kind of error. */
import { CommanderError } from 'commander';
import { InputError, UnreachableLedgerError } from '../client/cli/json-file.ts';
import { APIStatusError, ProvecError } from '../client/http/errors.ts';
import { LedgerError } from '../client/verify/ledger-node.ts';
import { Interrupted } from './interruption.ts';
import { SourceError } from './sources/source-error.ts';

export const EXIT = {
  done: 0,
  /** The answer is negative: not verified, not proven, not found. */
  negative: 1,
  /** Wrong arguments, or input that cannot be used. */
  misused: 2,
  /** The service, or the source of an import, refused the request. */
  refused: 3,
  /** No answer, an answer that is not Provec's, or a 5xx after the client's retries. */
  unreachable: 4,
} as const;

/** What stderr shows about an error. */
interface Failure {
  exitCode: number;
  /** The service's code (docs/errors.md), or one of the command's own. */
  code: string;
  message: string;
  status?: number;
  requestId?: string | null;
  details?: APIStatusError['details'];
}

/** Returns how to report an error: an unexpected one by its message too, without its stack. */
export function failureOf(error: unknown): Failure {
  const message = (error as Error | undefined)?.message ?? String(error);
  if (error instanceof APIStatusError) return statusFailure(error);
  if (error instanceof Interrupted) return { exitCode: error.exitCode, code: 'INTERRUPTED', message };
  if (error instanceof ProvecError || error instanceof LedgerError || error instanceof UnreachableLedgerError)
    return { exitCode: EXIT.unreachable, code: 'UNREACHABLE', message };
  if (error instanceof SourceError) return sourceFailure(error);
  if (error instanceof CommanderError) return usageFailure(error);
  // The client throws a TypeError for an argument that it cannot send.
  const isInput = error instanceof InputError || error instanceof TypeError || isFileError(error);
  if (isInput) return { exitCode: EXIT.misused, code: 'INVALID_INPUT', message };
  return { exitCode: EXIT.unreachable, code: 'UNEXPECTED', message: `unexpected error: ${message}` };
}

/** Whether a later attempt may succeed: no answer, overload, or a 5xx. */
export const isTransient = (error: unknown): boolean =>
  error instanceof ProvecError && (!(error instanceof APIStatusError) || error.status >= 500 || error.status === 429);

function statusFailure(error: APIStatusError): Failure {
  const { message, status, requestId, details } = error;
  // Without a code, something else answered at this address.
  const isRefusal = error.code !== null && status >= 400 && status < 500;
  return {
    exitCode: isRefusal ? EXIT.refused : EXIT.unreachable,
    code: error.code ?? 'NOT_PROVEC',
    message,
    status,
    requestId,
    ...(details.length > 0 && { details }),
  };
}

function sourceFailure({ status, message }: SourceError): Failure {
  const isRefusal = status !== null && status >= 400 && status < 500;
  return {
    exitCode: isRefusal ? EXIT.refused : EXIT.unreachable,
    code: isRefusal ? 'SOURCE_REFUSED' : 'SOURCE_UNREACHABLE',
    message,
    ...(status !== null && { status }),
  };
}

function usageFailure({ code, exitCode, message }: CommanderError): Failure {
  if (exitCode === 0) return { exitCode: EXIT.done, code: 'HELP', message };
  const isBare = code === 'commander.help';
  const what = isBare ? 'Give a command.' : message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  return { exitCode: EXIT.misused, code: 'USAGE', message: what };
}

/** Recognizes file system errors. The client wraps network errors. */
const isFileError = (error: unknown): boolean => typeof error === 'object' && error !== null && 'syscall' in error;
