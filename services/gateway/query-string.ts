import { describeValue, ProvecError } from '../../lib/errors.ts';
import { unknownField } from '../../lib/records/fields.ts';

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ProvecError('INVALID_ARGUMENT', 'The query string is not percent-encoded UTF-8.', {
      details: [{ path: '?', expected: 'percent-encoded UTF-8', got: 'bytes that are not' }],
    });
  }
}

/** Describes a parameter's value for an error: the value itself if it is short and printable. */
export function describeParameter(text: string): string {
  return /^[\x21-\x7e]{1,32}$/.test(text) ? text : describeValue(text);
}

/** Parses a query string. Only `known` parameters may occur, each once. Throws INVALID_ARGUMENT. */
export function parseQueryString(search: string, known: readonly string[]): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of search.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decoded(equals < 0 ? part : part.slice(0, equals));
    if (!known.includes(name)) throw unknownField(name, known, '', 'query parameter');
    if (parameters.has(name)) {
      throw new ProvecError('INVALID_ARGUMENT', `The query parameter ${name} must be given once.`, {
        details: [{ path: name, expected: 'one value', got: 'more than one' }],
      });
    }
    parameters.set(name, equals < 0 ? '' : decoded(part.slice(equals + 1)));
  }
  return parameters;
}
