import type { Secrets } from './keyring.ts';

const SECRET = /^[\x21-\x7e]{32,512}$/;
const SECRETS_MAX = 4;

/** What a text of secrets must be. */
export const SECRETS_MEANT =
  'one to four secrets of 32 to 512 printable ASCII characters, separated by white space: the current one first, then earlier ones that are still accepted';

/** The secrets in a text; null when it is none. */
export function secretsIn(text: string): Secrets | null {
  const [current, ...earlier] = text.split(/\s+/).filter((part) => part !== '');
  if (current === undefined || earlier.length >= SECRETS_MAX) return null;
  return [current, ...earlier].every((secret) => SECRET.test(secret)) ? [current, ...earlier] : null;
}
