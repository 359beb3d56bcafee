/**
 * Parses JSON without state from earlier texts, which may belong to another tenant (see
 * `client/verify/json-text.ts`). A key written with escapes costs several times as much as another,
 * so their number is limited.
 */
import { type JsonParser, parseJson as parseUnbounded } from '../../client/verify/json-text.ts';

/** Takes about two seconds to parse. */
const ESCAPED_KEYS_MAX = 500_000;

export class TooManyEscapedKeys extends Error {
  override name = 'TooManyEscapedKeys';
  override message = `More than ${ESCAPED_KEYS_MAX.toLocaleString('en')} keys are written with escapes.`;
}

function refuseTooMany(before: number): void {
  if (before === ESCAPED_KEYS_MAX) throw new TooManyEscapedKeys();
}

/** Same as `JSON.parse`, with `parse` to read the text. Throws TooManyEscapedKeys. */
export function parseJson(text: string, parse: JsonParser = JSON.parse): unknown {
  return parseUnbounded(text, parse, refuseTooMany);
}
