import { toFailure } from '../../../contracts/failure.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { StoreError } from '../../../store/port.ts';

/** Whether the error says that the shard cannot answer now. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof ProvecError && error.code === 'UNAVAILABLE';
}

/**
 * The shard is opening, closing or moving. Nothing of the request was or will be done; the next
 * holder can answer it.
 */
export class ShardTransitioning extends ProvecError {
  constructor(message: string, cause?: unknown) {
    super('UNAVAILABLE', message, { retryAfterSeconds: 1, cause });
  }
}

/**
 * Converts an error of the store to the error a client sees, except those that the operator must
 * see: the gateway logs them.
 */
export function clientErrorOf(error: unknown): Error {
  if (!(error instanceof StoreError)) return error instanceof Error ? error : new Error(String(error));
  return error.kind === 'damaged' || error.kind === 'changed' ? error : toFailure(error).error;
}

/** The error for writes to a log with missing entries, to which nothing can be appended. */
export function logIncomplete(): ProvecError {
  return new ProvecError(
    'INTERNAL',
    'Stored data of the collection is missing. What remains can be read; to write again, put back a backup.',
  );
}
