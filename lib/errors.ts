/** Every error that clients can receive. `docs/errors.md` is generated from this table. */
export const ERROR_TABLE = {
  INVALID_JSON: {
    status: 400,
    when: 'The body is not JSON, not an object, has `__proto__` keys or a duplicate member, or nests deeper than 64.',
  },
  INVALID_ARGUMENT: {
    status: 400,
    when: 'A field is missing, unknown, of the wrong type or out of bounds. Or the request itself is wrong: it is not valid HTTP/1.1, its head is larger than 16 KiB, it has no `Host` (HTTP/1.0 may leave it out), more than one `Host` or `Authorization`, an `Expect` other than `100-continue`, or a `Transfer-Encoding` other than `chunked`.',
  },
  DIMENSION_MISMATCH: {
    status: 400,
    when: "A vector's length, or the dimensions that an imported export names, differ from the collection's.",
  },
  INVALID_FILTER: {
    status: 400,
    when: 'An unknown operator, a wrong operand type, or a filter too deep or too large.',
  },
  UNAUTHENTICATED: {
    status: 401,
    when: 'The bearer header is absent or malformed, or the key is unknown, revoked or expired (the message does not say which of the three).',
  },
  FORBIDDEN: { status: 403, when: 'The key lacks the scope, or the collection is protected from deletion.' },
  COLLECTION_NOT_FOUND: {
    status: 404,
    when: 'The account has no collection with that name, or the one that the request began on has been deleted.',
  },
  NAMESPACE_NOT_FOUND: { status: 404, when: 'The collection has no record in that namespace.' },
  ALIAS_NOT_FOUND: { status: 404, when: 'The account has no alias with that name, or its collection is gone.' },
  VERIFICATION_NOT_FOUND: {
    status: 404,
    when: 'The collection has no verification with that id: it ended more than an hour ago or made way for later ones, or the node that ran it stopped. Start another one.',
  },
  AUDIT_LINK_NOT_FOUND: {
    status: 404,
    when: 'There is no such audit link: it never existed, was revoked or has expired, or its collection was deleted.',
  },
  KEY_NOT_FOUND: { status: 404, when: 'The account has no key with that id.' },
  ACCOUNT_NOT_FOUND: { status: 404, when: 'No account has that id (operator routes only).' },
  PLAN_NOT_FOUND: { status: 404, when: 'The operator stored no plan of that name (operator routes only).' },
  RECORD_NOT_FOUND: { status: 404, when: 'A query by id names a record that does not exist.' },
  ROUTE_NOT_FOUND: { status: 404, when: 'No route has that path.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    when: 'The path does not support this method; `Allow` lists those that it supports.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    when: 'The request did not arrive in time: its head within 15 s, all of it within 75 s; an import needs 1 KiB a second. The connection is closed.',
  },
  COLLECTION_EXISTS: { status: 409, when: 'The account already has a collection with that name.' },
  ALIAS_EXISTS: { status: 409, when: 'The name for a new collection is an alias.' },
  NAME_IS_ALIAS: {
    status: 409,
    when: 'The request names a collection by an alias where its own name is required: as the target of an alias, or to delete it.',
  },
  COLLECTION_HAS_ALIAS: { status: 409, when: 'The collection cannot be deleted because an alias refers to it.' },
  ALIAS_LIMIT_REACHED: { status: 409, when: 'The account has the maximum number of aliases.' },
  PLAN_IN_USE: { status: 409, when: 'The plan cannot be deleted because an account has it (operator routes only).' },
  PLANS_LIMIT_REACHED: { status: 409, when: 'The store has the maximum number of plans (operator routes only).' },
  AUDIT_LINK_LIMIT_REACHED: { status: 409, when: 'The collection has the maximum number of audit links.' },
  LAST_KEY: { status: 409, when: "The account's last key with the manage scope cannot be revoked." },
  BODY_TOO_LARGE: {
    status: 413,
    when: 'The body is larger than the limit, or compressed to less than a hundredth of its content.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    when: 'The body is not `application/json` in UTF-8; an import may be newline-delimited JSON as well. Or its `Content-Encoding` is neither gzip nor zstd.',
  },
  PLAN_LIMIT_REACHED: {
    status: 429,
    when: "The request would exceed a limit of the account's plan; `resets_at` of `GET /usage` says when a monthly one restarts; there is no `Retry-After`.",
  },
  RATE_LIMITED: { status: 429, when: 'Too many requests in the current window.' },
  INTERNAL: { status: 500, when: 'A fault of the service; nothing acknowledged is lost.' },
  NOT_IMPLEMENTED: { status: 501, when: 'Pinecone has such a route (`/pinecone` only), and Provec does not.' },
  UNAVAILABLE: {
    status: 503,
    when: "The store or a part of the service is unreachable, overloaded or stopping, or a shard is reopening after a fault. Or something other than Provec changed the store's tables: the message names the difference, and an operator has to undo it.",
  },
  SHARD_UNAVAILABLE: {
    status: 503,
    when: 'A shard of the collection has no holder, is being opened or closed, or is held by a node that does not answer; the other shards answer.',
  },
  OUT_OF_CAPACITY: {
    status: 507,
    when: 'The memory or disk guard refused an upsert, an update or an import; reads and deletes still work.',
  },
} as const satisfies Record<string, { status: number; when: string }>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/**
 * An offending field: its `path`, such as `records[3].values[17]`, what was expected, and a
 * description of what was found.
 */
export interface ErrorDetail {
  path: string;
  expected: string;
  got: string;
}

export interface ErrorExtras {
  details?: ErrorDetail[];
  retryAfterSeconds?: number;
  /** Methods for the Allow header of METHOD_NOT_ALLOWED. */
  allow?: string[];
  /** Indexes of the shards that SHARD_UNAVAILABLE is about. */
  shards?: number[];
  cause?: unknown;
}

/** The only error that services throw on purpose. `message` is for clients, without internals. */
export class ProvecError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: ErrorDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: string[] | undefined;
  readonly shards: number[] | undefined;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'ProvecError';
    this.code = code;
    this.status = ERROR_TABLE[code].status;
    this.details = extras.details;
    this.retryAfterSeconds = extras.retryAfterSeconds;
    this.allow = extras.allow;
    this.shards = extras.shards;
  }
}

/** Recognises a ProvecError by its shape: an error from another node has a different class. */
export function isProvecError(error: unknown): error is ProvecError {
  return (
    error instanceof Error &&
    error.name === 'ProvecError' &&
    'code' in error &&
    Object.hasOwn(ERROR_TABLE, String(error.code))
  );
}

const NOT_FOUND = {
  COLLECTION_NOT_FOUND: 'There is no collection with that name.',
  NAMESPACE_NOT_FOUND: 'There is no record in that namespace.',
  ALIAS_NOT_FOUND: 'There is no alias with that name.',
  VERIFICATION_NOT_FOUND: 'There is no verification with that id any more; start another one.',
  AUDIT_LINK_NOT_FOUND: 'There is no such audit link.',
  KEY_NOT_FOUND: 'There is no key with that id.',
  ACCOUNT_NOT_FOUND: 'There is no account with that id.',
  PLAN_NOT_FOUND: 'The operator stored no plan of that name.',
  RECORD_NOT_FOUND: 'There is no record with that id.',
  ROUTE_NOT_FOUND: 'No route has this path; /openapi.json lists the routes.',
} as const satisfies Partial<Record<ErrorCode, string>>;

/** Builds the 404 for a record id given at `path`; null if the request has only one id. */
export function recordNotFound(path: string | null): ProvecError {
  if (path === null) return notFound('RECORD_NOT_FOUND');
  return new ProvecError('RECORD_NOT_FOUND', `There is no record with the id that ${path} names.`);
}

/** Builds a 404. The message is the same wherever the check fails, so that it reveals nothing. */
export function notFound(code: keyof typeof NOT_FOUND): ProvecError {
  return new ProvecError(code, NOT_FOUND[code]);
}

/** Builds the 404 for a name that no collection or alias of the account has. */
export function unknownCollection(name: string): ProvecError {
  return new ProvecError('COLLECTION_NOT_FOUND', `There is no collection named ${name}.`);
}

/** Builds a 503 for a request that may be sent again at once. */
export function unavailable(message: string, cause?: unknown): ProvecError {
  return new ProvecError('UNAVAILABLE', message, { retryAfterSeconds: 1, cause });
}

/** Builds the 401 for a key that is unknown, revoked, expired or without an account. */
export function unauthenticated(message = 'The API key is unknown, revoked or expired.'): ProvecError {
  return new ProvecError('UNAUTHENTICATED', message);
}

/** Builds a 400 INVALID_ARGUMENT that names one field. */
export function invalidArgument(path: string, expected: string, got: unknown): ProvecError {
  const detail = { path, expected, got: describeValue(got) };
  return new ProvecError('INVALID_ARGUMENT', `${path} must be ${expected}, but is ${detail.got}.`, {
    details: [detail],
  });
}

/** Describes a value without repeating long ones: safe for logs and short in responses. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  switch (typeof value) {
    case 'string':
      return value === ''
        ? 'an empty string'
        : `a string of ${value.length} ${value.length === 1 ? 'character' : 'characters'}`;
    case 'number':
      return Number.isFinite(value) && String(value).length <= 24 ? String(value) : 'not a finite number';
    case 'boolean':
      return String(value);
    default:
      return `an ${typeof value}`;
  }
}
