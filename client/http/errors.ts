import type { ErrorBody } from '../api/generated.ts';

export type ErrorCode = ErrorBody['code'];

/** Base of all errors of a call, except for invalid arguments and the reason of a signal. */
export class ProvecError extends Error {
  override name = 'ProvecError';
  /** Number of leading records that an upsert in several requests stored before it failed. */
  storedCount?: number;
}

/** Adds a sentence to a ProvecError; returns any other error unchanged. */
export function withExplanation(error: unknown, sentence: string): unknown {
  if (!(error instanceof ProvecError)) return error;
  const { message, stack } = error;
  error.message = `${asSentence(message)} ${sentence}`;
  error.stack = stack?.replace(message, () => error.message);
  return error;
}

/** Adds a full stop unless the text ends like a sentence. */
const asSentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

/** There was no answer: the service is unreachable, or the connection broke. */
export class APIConnectionError extends ProvecError {
  override name = 'APIConnectionError';
}

/** There was no answer within `timeoutMs`. */
export class APITimeoutError extends APIConnectionError {
  override name = 'APITimeoutError';
}

/** Provec refused a request or could not serve it. Each kind of error has a subclass. */
export class APIStatusError extends ProvecError {
  override name = 'APIStatusError';
  /** Error code (docs/errors.md); null if the answer is not Provec's, for example from a proxy. */
  readonly code: ErrorCode | null;
  readonly status: number;
  readonly requestId: string | null;
  /** Invalid fields of the request. */
  readonly details: NonNullable<ErrorBody['details']>;
  /** Seconds to wait before trying again; null if the answer does not say. */
  readonly retryAfterSeconds: number | null;

  constructor(body: Partial<ErrorBody> & Pick<ErrorBody, 'error' | 'status'>, options?: ErrorOptions) {
    super(body.error, options);
    this.code = body.code ?? null;
    this.status = body.status;
    this.requestId = body.requestId ?? null;
    this.details = body.details ?? [];
    this.retryAfterSeconds = body.retryAfterSeconds ?? null;
  }
}

/** 400, 405, 408, 413, 415: the request itself is wrong; `details` names the fields. */
export class BadRequestError extends APIStatusError {
  override name = 'BadRequestError';
}
/** 401: the key is absent, unknown, revoked or expired. */
export class UnauthenticatedError extends APIStatusError {
  override name = 'UnauthenticatedError';
}
/** 403: the key lacks the scope, or the collection is protected from deletion. */
export class ForbiddenError extends APIStatusError {
  override name = 'ForbiddenError';
}
/** 404: no such collection, record, namespace, alias, key, verification or account. */
export class NotFoundError extends APIStatusError {
  override name = 'NotFoundError';
}
/** 409: the name is taken, or the current state does not allow the operation. */
export class ConflictError extends APIStatusError {
  override name = 'ConflictError';
}
/** 429 `PLAN_LIMIT_REACHED`: a limit of the plan is reached; a retry does not help. */
export class PlanLimitError extends APIStatusError {
  override name = 'PlanLimitError';
}
/** 429 `RATE_LIMITED`: too many requests, also at the last retry. */
export class RateLimitedError extends APIStatusError {
  override name = 'RateLimitedError';
}
/** 503: the service or a shard is unavailable, also at the last retry. */
export class UnavailableError extends APIStatusError {
  override name = 'UnavailableError';
}
/** 507: memory or disk is full; reads and deletes still work. */
export class OutOfCapacityError extends APIStatusError {
  override name = 'OutOfCapacityError';
}
/** 500, and all other statuses and answers that a server should not send. */
export class ServerError extends APIStatusError {
  override name = 'ServerError';
}

const CLASSES: Readonly<Record<number, typeof APIStatusError>> = {
  400: BadRequestError,
  401: UnauthenticatedError,
  403: ForbiddenError,
  404: NotFoundError,
  405: BadRequestError,
  408: BadRequestError,
  409: ConflictError,
  413: BadRequestError,
  415: BadRequestError,
  429: RateLimitedError,
  503: UnavailableError,
  507: OutOfCapacityError,
};

/** Returns the error for an answer other than 2xx. `text`: its body, null if too large. */
export function errorOf(response: Response, text: string | null): APIStatusError {
  const body = bodyOf(text);
  const { status } = response;
  const error = body?.error ?? `The answer has status ${status} and is not Provec's: is the address right?`;
  const waits = [body?.retryAfterSeconds, ...secondsIn(response.headers.get('retry-after'))];
  const retryAfterSeconds = waits.find((wait) => wait !== undefined && Number.isFinite(wait) && wait >= 0);
  const Class = body?.code === 'PLAN_LIMIT_REACHED' ? PlanLimitError : (CLASSES[status] ?? ServerError);
  return new Class({ ...body, error, status, retryAfterSeconds });
}

const HTTP_DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Parses `Retry-After`: a number of seconds or, from a proxy, a date. */
function secondsIn(header: string | null): number[] {
  if (header === null) return [];
  if (/^\d+$/.test(header)) return [Number(header)];
  return HTTP_DATE.test(header) ? [Math.max(0, (Date.parse(header) - Date.now()) / 1_000)] : [];
}

function bodyOf(text: string | null): ErrorBody | null {
  if (text === null) return null;
  try {
    const body: unknown = JSON.parse(text);
    const isError = typeof body === 'object' && body !== null && 'error' in body && 'code' in body;
    return isError && typeof body.error === 'string' ? (body as ErrorBody) : null;
  } catch {
    return null;
  }
}
