import { outOfCapacity } from '../../lib/admission/out-of-capacity.ts';
import type { Config } from '../../lib/config.ts';
import { ERROR_TABLE, type ErrorDetail, isProvecError, ProvecError, unavailable } from '../../lib/errors.ts';
import { StoreError } from '../../lib/store/port.ts';

/** The body of every error, as docs/errors.md has it. */
export interface ErrorBody {
  error: string;
  code: string;
  status: number;
  requestId: string;
  details?: ErrorDetail[];
  pricingUrl?: string;
  statusUrl?: string;
  retryAfterSeconds?: number;
}

const RETRY_AFTER_SECONDS = 1;

/**
 * What Moleculer and its web gateway throw when an action cannot be reached or did not answer in
 * time.
 */
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
const INTERNAL_MESSAGE = 'Something went wrong inside the service; what was acknowledged before is kept.';

/**
 * The error a client is given, and whether the cause is a fault of ours that belongs in the log.
 */
interface Failure {
  error: ProvecError;
  isFault: boolean;
}

/**
 * Maps anything thrown to an error of the table. Nothing of a foreign error's text reaches the
 * client.
 */
export function toFailure(error: unknown): Failure {
  if (isProvecError(error)) return { error, isFault: error.code === 'INTERNAL' };
  if (error instanceof StoreError) {
    if (error.kind === 'capacity') return { error: outOfCapacity('disk', error), isFault: true };
    if (error.kind !== 'damaged') return { error: unavailable(UNREACHABLE, error), isFault: true };
  }
  if (error instanceof Error && OUT_OF_REACH.has(error.name))
    return { error: unavailable(UNREACHABLE, error), isFault: true };
  return { error: new ProvecError('INTERNAL', INTERNAL_MESSAGE, { cause: error }), isFault: true };
}

/** The body and headers that tell a client of an error. */
export function errorResponse(
  error: ProvecError,
  requestId: string,
  config: Pick<Config, 'pricingUrl' | 'statusUrl'>,
): { status: number; headers: Record<string, string>; body: ErrorBody } {
  const { status } = ERROR_TABLE[error.code];
  const headers: Record<string, string> = {};
  const body: ErrorBody = { error: error.message, code: error.code, status, requestId };
  if (error.details !== undefined && error.details.length > 0) body.details = error.details;
  if (error.code === 'PLAN_LIMIT_REACHED') {
    body.pricingUrl = config.pricingUrl;
    if (!body.error.includes(config.pricingUrl)) body.error += ` Plans: ${config.pricingUrl}`;
  }
  if (error.code === 'INTERNAL') {
    body.statusUrl = config.statusUrl;
    if (!body.error.includes(config.statusUrl)) body.error += ` Status of the service: ${config.statusUrl}`;
  }
  const retryAfterSeconds = error.retryAfterSeconds ?? (status === 503 ? RETRY_AFTER_SECONDS : undefined);
  if (retryAfterSeconds !== undefined) {
    body.retryAfterSeconds = Math.max(1, Math.ceil(retryAfterSeconds));
    headers['Retry-After'] = String(body.retryAfterSeconds);
  }
  if (error.code === 'UNAUTHENTICATED') headers['WWW-Authenticate'] = 'Bearer';
  if (error.code === 'METHOD_NOT_ALLOWED' && error.allow !== undefined) headers.Allow = error.allow.join(', ');
  return { status, headers, body };
}
