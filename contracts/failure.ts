import { outOfCapacity } from '../lib/admission/out-of-capacity.ts';
import { isProvecError, ProvecError, unavailable } from '../lib/errors.ts';
import { StoreError } from '../store/port.ts';

/** Errors of Moleculer and its web gateway when an action cannot be reached or times out. */
const OUT_OF_REACH = new Set([
  'ServiceNotFoundError',
  'ServiceNotAvailableError',
  'ServiceUnavailableError',
  'RequestTimeoutError',
  'RequestSkippedError',
  'RequestRejectedError',
  'QueueIsFullError',
  'BrokerDisconnectedError',
  'GracefulStopTimeoutError',
]);

const UNREACHABLE = 'A part of the service is unreachable or overloaded; send the request again.';
const CHANGED = "Something other than Provec changed the store's tables; the service's log names the change.";
const INTERNAL_MESSAGE = 'Something went wrong inside the service; what was acknowledged before is kept.';

/** The client's error, and whether the cause is a fault of the service that belongs in the log. */
interface Failure {
  error: ProvecError;
  isFault: boolean;
}

/**
 * Maps anything thrown to an error of `ERROR_TABLE`, without the text of foreign errors.
 */
export function toFailure(error: unknown): Failure {
  if (isProvecError(error)) return { error, isFault: error.code === 'INTERNAL' };
  if (error instanceof StoreError) {
    if (error.kind === 'capacity') return { error: outOfCapacity({ of: 'disk' }, error), isFault: true };
    if (error.kind === 'changed') return { error: unavailable(CHANGED, error), isFault: true };
    if (error.kind !== 'damaged') return { error: unavailable(UNREACHABLE, error), isFault: true };
  }
  if (error instanceof Error && OUT_OF_REACH.has(error.name))
    return { error: unavailable(UNREACHABLE, error), isFault: true };
  return { error: new ProvecError('INTERNAL', INTERNAL_MESSAGE, { cause: error }), isFault: true };
}
