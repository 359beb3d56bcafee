import { ERROR_TABLE, type ErrorDetail, type ProvecError } from '../../lib/errors.ts';
import type { Config } from '../../process/config.ts';

/** Body of every error response, as specified in docs/errors.md. */
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

/** Status, headers and body that report an error to a client. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: object;
}

export function errorResponse(
  error: ProvecError,
  requestId: string,
  config: Pick<Config, 'pricingUrl' | 'statusUrl'>,
): ErrorResponse & { body: ErrorBody } {
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
