import type { IncomingMessage } from 'node:http';
import { unauthenticated } from '../../../lib/errors.ts';

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;
/** Where other services take their keys. */
const KEY_HEADERS = ['api-key', 'x-api-key'];

export type SecretKind = 'API key' | "operator's token";

/**
 * What the request has for a secret. Throws UNAUTHENTICATED that says what is missing, and repeats
 * nothing of the header, which may hold a key all the same.
 */
export function bearerOf({ headers }: IncomingMessage, kind: SecretKind): string {
  const { authorization } = headers;
  const secret = BEARER.exec(authorization ?? '')?.[1];
  if (secret !== undefined) return secret;
  const advice = `send "Authorization: Bearer <${kind}>"`;
  if (authorization !== undefined) throw unauthenticated(`The Authorization header is of another form; ${advice}.`);
  const misplaced = KEY_HEADERS.find((name) => headers[name] !== undefined);
  if (misplaced !== undefined) throw unauthenticated(`Provec does not read the header ${misplaced}; ${advice}.`);
  throw unauthenticated(`The request has no ${kind}; ${advice}.`);
}
