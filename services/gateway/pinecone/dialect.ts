/**
 * Pinecone's dialect: the key is in the header `Api-Key`, unknown query parameters are ignored
 * unless they are misspelled, and errors have the shape that all client versions read.
 */
import { ERROR_TABLE, type ErrorCode, ProvecError, unauthenticated } from '../../../lib/errors.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import { Misspellings } from '../../../lib/records/misspellings.ts';
import type { Dialect } from '../dialect.ts';
import { errorResponse } from '../error-response.ts';

/** Maximum number of query parameters. A path of 1 MiB has room for 500,000. */
const PARAMETERS_MAX = 4_096;
const TOO_MANY_PARAMETERS = invalidValue(
  'The query string',
  `of at most ${PARAMETERS_MAX.toLocaleString('en')} parameters`,
  'longer',
);
const KEY = /^[\x21-\x7e]{1,512}$/;

/** Pinecone's code for each status, with its gRPC number. */
const CODES: Readonly<Record<number, readonly [string, number]>> = {
  400: ['INVALID_ARGUMENT', 3],
  401: ['UNAUTHENTICATED', 16],
  403: ['FORBIDDEN', 7],
  404: ['NOT_FOUND', 5],
  405: ['UNIMPLEMENTED', 12],
  408: ['DEADLINE_EXCEEDED', 4],
  409: ['ALREADY_EXISTS', 6],
  413: ['INVALID_ARGUMENT', 3],
  415: ['INVALID_ARGUMENT', 3],
  429: ['RESOURCE_EXHAUSTED', 8],
  501: ['UNIMPLEMENTED', 12],
  503: ['UNAVAILABLE', 14],
};
const INTERNAL = ['INTERNAL', 13] as const;
const UNKNOWN = ['UNKNOWN', 2] as const;
export const ERROR_CODES = [...Object.values(CODES), INTERNAL, UNKNOWN];

/**
 * Statuses that differ from ours. Clients retry a 429 or 507, for every batch of an upsert, and the
 * Node client hides the message of a 507. A full plan or disk stays full, so both are sent as 403.
 */
const STATUSES: { readonly [C in ErrorCode]?: number } = { PLAN_LIMIT_REACHED: 403, OUT_OF_CAPACITY: 403 };
export const statusOf = (code: ErrorCode): number => STATUSES[code] ?? ERROR_TABLE[code].status;

/** Pinecone's names of fields that our requests name differently. */
const FIELDS: Readonly<Record<string, string>> = {
  all: 'deleteAll',
  cursor: 'paginationToken',
  deletionProtection: 'deletion_protection',
  dimensions: 'dimension',
  records: 'vectors',
  'updates[0]': 'setMetadata',
};

/** Features of Pinecone that Provec does not have, by path below `/pinecone`. */
const UNSUPPORTED_FEATURES: readonly [RegExp, string][] = [
  [/^\/indexes\/create-for-model$/, 'Provec does not embed text: create an index with a dimension, and upsert vectors'],
  [/^\/indexes\/[^/]+\/records\//, 'Provec does not embed text: upsert vectors, and query with a vector'],
  [
    /^\/indexes\/[^/]+\/bulk\/imports/,
    'Provec does not import from object storage: use POST /api/v1/collections/{name}/import',
  ],
  [
    /^\/indexes\/[^/]+\/namespaces\/[^/]+\/documents/,
    'Provec does not store documents: upsert vectors with the text in their metadata',
  ],
  [/^\/(embed|rerank|models)(\/|$)/, 'Provec does not run models: embed and rerank elsewhere'],
  [
    /^\/(indexes\/[^/]+\/backups|backups|restore-jobs|collections)(\/|$)/,
    'Provec does not copy indexes: export the index with GET /api/v1/collections/{name}/export',
  ],
];

export const PINECONE: Dialect = {
  base: '/pinecone',
  hasLongPaths: true,

  secretOf({ headers }) {
    const key = headers['api-key'];
    if (typeof key !== 'string') throw unauthenticated('The request has no API key; send it in the header Api-Key.');
    if (!KEY.test(key)) throw unauthenticated('The header Api-Key is not an API key of Provec.');
    return key;
  },

  parseQuery(search, known) {
    if (search.split('&', PARAMETERS_MAX + 1).length > PARAMETERS_MAX) throw TOO_MANY_PARAMETERS;
    const given = new URLSearchParams(search);
    new Misspellings(known, 'query parameter').refuse(given.keys());
    return new Map(known.flatMap((name) => (given.has(name) ? [[name, given.get(name)!]] : [])));
  },

  errorResponse(error, requestId, config) {
    // `WWW-Authenticate: Bearer` does not apply: the key has a header of its own.
    const {
      body,
      headers: { 'WWW-Authenticate': _, ...headers },
    } = errorResponse(error, requestId, config);
    const status = statusOf(error.code);
    const [code, number] = CODES[status] ?? (status >= 500 ? INTERNAL : UNKNOWN);
    const message = withClientFieldNames(error, body.error);
    return { status, headers, body: { status, error: { code, message }, code: number, message, details: [] } };
  },

  whyUnrouted(path) {
    const below = path.slice(PINECONE.base.length);
    const found = UNSUPPORTED_FEATURES.find(([pattern]) => pattern.test(below));
    return found ? new ProvecError('NOT_IMPLEMENTED', `${found[1]}.`) : null;
  },
};

/** Replaces our field names in the message with the names that the client used. */
function withClientFieldNames({ details = [] }: ProvecError, sentence: string): string {
  return details.reduce((text, { path }) => text.replace(path, () => nameOf(path)), sentence);
}

function nameOf(path: string): string {
  return FIELDS[path] ?? path.replace(/^updates\[0\]\./, '').replace(/^records\[/, 'vectors[');
}
