import type { IncomingMessage } from 'node:http';
import type { ProvecError } from '../../lib/errors.ts';
import type { Config } from '../../process/config.ts';
import { type ErrorResponse, errorResponse } from './error-response.ts';
import { parseQueryString } from './query-string.ts';
import { bearerOf, type SecretKind } from './steps/bearer.ts';

/** Conventions that all routes below one base path share. */
export interface Dialect {
  /** Prefix of the paths. */
  base: string;
  /** Whether a path may be longer than the limit for all headers. */
  hasLongPaths: boolean;
  /** Returns the request's secret. Throws UNAUTHENTICATED. */
  secretOf(req: IncomingMessage, kind: SecretKind): string;
  /** Parses a query string; `known` lists the route's parameters. Throws INVALID_ARGUMENT. */
  parseQuery(search: string, known: readonly string[]): ReadonlyMap<string, string>;
  errorResponse(error: ProvecError, requestId: string, config: Pick<Config, 'pricingUrl' | 'statusUrl'>): ErrorResponse;
  /** Explains why a path below `base` has no route; null if there is nothing to add to the 404. */
  whyUnrouted(path: string): ProvecError | null;
}

/** Dialect of `/api/v1`, and of every path that belongs to no other. */
export const PROVEC: Dialect = {
  base: '/api/v1',
  hasLongPaths: false,
  secretOf: bearerOf,
  parseQuery: parseQueryString,
  errorResponse,
  whyUnrouted: () => null,
};

/** Returns the dialect of a path: the one of `others` whose base it is below, or our own. */
export function dialectOf(path: string, others: readonly Dialect[]): Dialect {
  return others.find(({ base }) => path === base || path.startsWith(`${base}/`)) ?? PROVEC;
}
