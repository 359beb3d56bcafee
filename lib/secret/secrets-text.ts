import type { Secrets } from './keyring.ts';

const SECRET = /^[\x21-\x7e]{32,512}$/;
const SECRETS_MAX = 4;

/** Describes a valid text of secrets, for error messages. */
export const SECRETS_FORMAT =
  'one to four secrets of 32 to 512 printable ASCII characters, separated by white space: the current one first, then earlier ones that are still accepted';

/** Returns the secrets in a text; null if it is invalid. */
export function parseSecrets(text: string): Secrets | null {
  const [current, ...earlier] = text.split(/\s+/).filter((part) => part !== '');
  if (current === undefined || earlier.length >= SECRETS_MAX) return null;
  return [current, ...earlier].every((secret) => SECRET.test(secret)) ? [current, ...earlier] : null;
}
