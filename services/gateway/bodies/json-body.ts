import { isUtf8 } from 'node:buffer';
import { parse } from 'secure-json-parse';
import { describe, ProvecError } from '../../../lib/errors.ts';
import { parseJson, TooManyEscapedKeys } from '../../../lib/json/text.ts';
import { invalid, isJsonObject, type JsonObject } from '../../../lib/records/fields.ts';
import { jsonFault } from './json-fault.ts';
import { liftVectors, lowerVectors, type TextBounds, type VectorPlace } from './lifted-vectors.ts';

const invalidJson = (message: string) => new ProvecError('INVALID_JSON', message);

/**
 * Parses a request body: JSON text in UTF-8 (a byte order mark is skipped) that is an object, keeps
 * within `bounds` and has no key `__proto__`, which would reach a prototype. Of duplicate keys the
 * last wins. Vectors at `place` that are as they should be come as Float32Arrays. Throws
 * INVALID_JSON, or INVALID_ARGUMENT for an object of too many keys.
 */
export function parseJsonBody(bytes: Uint8Array, bounds: TextBounds, place: VectorPlace | null = null): JsonObject {
  if (bytes.length === 0) throw invalidJson('The request has no body; send a JSON object.');
  if (!isUtf8(bytes)) throw invalidJson('The body is not UTF-8.');
  const lifted = liftVectors(bytes, bounds, place);
  if (lifted === 'levelsMax') throw invalidJson(`The body nests deeper than ${bounds.levelsMax} levels.`);
  if (lifted === 'keysMax') {
    const most = bounds.keysMax.toLocaleString('en');
    throw invalid('body', `JSON with at most ${most} keys in each object`, 'JSON with an object that has more');
  }
  const { text, vectors } = lifted;
  let value: unknown;
  try {
    value = parseJson(text, (json) => parse(json, { protoAction: 'error', constructorAction: 'ignore' }));
  } catch (error) {
    // The place of what is wrong is told in the text as it came.
    if (vectors.length > 0) return parseJsonBody(bytes, bounds);
    throw notJson(error, text);
  }
  if (!isJsonObject(value)) throw invalidJson(`The body must be a JSON object, but is ${describe(value)}.`);
  if (place === null || lowerVectors(value, place.path, vectors) === vectors.length) return value;
  // Some stood where the body's kind has none, or under a key that came twice.
  return parseJsonBody(bytes, bounds);
}

/** Says what is wrong with `text`, where parsing them threw `error`. */
function notJson(error: unknown, text: string): ProvecError {
  const message = error instanceof Error ? error.message : '';
  if (error instanceof TooManyEscapedKeys) return invalidJson(message);
  if (message.includes('forbidden prototype property'))
    return invalidJson('The body has a "__proto__" key, which is not allowed.');
  const fault = jsonFault(text.replace(/^\uFEFF/, ''));
  if (fault === null) return invalidJson('The body is not valid JSON.');
  const { path, expected, got, where } = fault;
  const place = path === '' ? where : `${path}, ${where}`;
  return new ProvecError(
    'INVALID_JSON',
    `The body is not valid JSON: expected ${expected} at ${place}, but got ${got}.`,
    {
      details: [{ path: path === '' ? 'body' : path, expected, got }],
    },
  );
}
