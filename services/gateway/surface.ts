import type { IncomingMessage } from 'node:http';
import type { Config } from '../../lib/config.ts';
import type { ProvecError } from '../../lib/errors.ts';
import { type ErrorResponse, errorResponse } from './error-response.ts';
import { parseQueryString } from './query-string.ts';
import { bearerOf, type SecretKind } from './steps/bearer.ts';

/** What the routes below one path have in common: how clients of one kind speak. */
export interface Surface {
  /** Where its paths begin. */
  base: string;
  /** Whether a path may be longer than all headers together. */
  hasLongPaths: boolean;
  /** What a request has for a secret. Throws UNAUTHENTICATED. */
  secretOf(req: IncomingMessage, kind: SecretKind): string;
  /** The parameters of a query string; a route knows `known`. Throws INVALID_ARGUMENT. */
  parseQuery(search: string, known: readonly string[]): ReadonlyMap<string, string>;
  /** How an error is told. */
  errorResponse(error: ProvecError, requestId: string, config: Pick<Config, 'pricingUrl' | 'statusUrl'>): ErrorResponse;
  /** Why a path below `base` that has no route has none; null where nothing more can be said. */
  whyUnrouted(path: string): ProvecError | null;
}

/** `/api/v1`, and whatever is below no other. */
export const PROVEC: Surface = {
  base: '/api/v1',
  hasLongPaths: false,
  secretOf: bearerOf,
  parseQuery: parseQueryString,
  errorResponse,
  whyUnrouted: () => null,
};
