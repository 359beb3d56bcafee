/**
 * JSON as it was written, whatever was parsed before: that may have come from another tenant (see
 * `client/verify/json-text.ts`). Each escaped key costs several times what another does, so there
 * may only be so many.
 */
import { type JsonParser, parseJson as parseUnbounded } from '../../client/verify/json-text.ts';

/** Takes about two seconds. */
const ESCAPED_KEYS_MAX = 500_000;

export class TooManyEscapedKeys extends Error {
  override name = 'TooManyEscapedKeys';
  override message = `More than ${ESCAPED_KEYS_MAX.toLocaleString('en')} keys are written with escapes.`;
}

function refuseTooMany(before: number): void {
  if (before === ESCAPED_KEYS_MAX) throw new TooManyEscapedKeys();
}

/**
 * As `JSON.parse`; `parse` is called with the text and must throw on what is no JSON. Throws
 * TooManyEscapedKeys.
 */
export function parseJson(text: string, parse: JsonParser = JSON.parse): unknown {
  return parseUnbounded(text, parse, refuseTooMany);
}
