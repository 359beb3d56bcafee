import type { IncomingMessage } from 'node:http';
import { unauthenticated } from '../../../lib/errors.ts';

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;
/** Headers in which other services expect keys. */
const KEY_HEADERS = ['api-key', 'x-api-key'];

export type SecretKind = 'API key' | "operator's token";

/**
 * Returns the request's secret. Throws UNAUTHENTICATED with a message that says what is missing. It
 * never repeats the header, which may contain a key.
 */
export function bearerOf({ headers }: IncomingMessage, kind: SecretKind): string {
  const { authorization } = headers;
  const secret = BEARER.exec(authorization ?? '')?.[1];
  if (secret !== undefined) return secret;
  const advice = `send "Authorization: Bearer <${kind}>"`;
  if (authorization !== undefined) throw unauthenticated(`The Authorization header has another form; ${advice}.`);
  const misplaced = KEY_HEADERS.find((name) => headers[name] !== undefined);
  if (misplaced !== undefined) throw unauthenticated(`Provec does not read the header ${misplaced}; ${advice}.`);
  throw unauthenticated(`The request has no ${kind}; ${advice}.`);
}
