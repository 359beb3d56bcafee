import { describeValue, ProvecError } from '../errors.ts';
import { nearest } from '../nearest.ts';

export type JsonObject = Record<string, unknown>;

/** Whether a parsed JSON value is an object (not null, not an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a field name in a form safe for messages: printable, short, well-formed. */
export function printableName(name: string): string {
  const printable = name.toWellFormed().replaceAll(/\p{C}/gu, '\uFFFD');
  return printable.length > 64 ? `${printable.slice(0, 64).toWellFormed()}...` : printable;
}

/**
 * Throws INVALID_ARGUMENT for a field of `object` that is not among `known`, and suggests one.
 * `path` is the object's position (`records[3]`), empty for the whole request.
 */
export function refuseUnknownFields(object: JsonObject, known: readonly string[], path = ''): void {
  for (const name of Object.keys(object)) {
    if (!known.includes(name)) throw unknownField(name, known, path, 'field');
  }
}

/** Builds a 400 for a name that the operation does not know. */
export function unknownField(
  name: string,
  known: readonly string[],
  path: string,
  kind: 'field' | 'query parameter',
): ProvecError {
  const where = path === '' ? printableName(name) : `${path}.${printableName(name)}`;
  const meant = nearest(name, known);
  const hint =
    known.length === 0
      ? `this operation takes no ${kind}s`
      : `${meant === null ? 'known:' : `did you mean ${meant}? Known:`} ${known.join(', ')}`;
  return new ProvecError('INVALID_ARGUMENT', `${where} is not a ${kind} of this operation; ${hint}.`, {
    details: [
      {
        path: where,
        expected: known.length === 0 ? 'absent' : `one of ${known.join(', ')}`,
        got: `an unknown ${kind}`,
      },
    ],
  });
}

/**
 * Builds a 400 for a wrong value that `describeValue` describes too vaguely. `hint` ends the
 * sentence: `; did you mean this?`.
 */
export function invalidValue(path: string, expected: string, got: string, hint = ''): ProvecError {
  const end = hint.endsWith('?') ? hint : `${hint}.`;
  return new ProvecError('INVALID_ARGUMENT', `${path} must be ${expected}, but is ${got}${end}`, {
    details: [{ path, expected, got }],
  });
}

/** Merges several 400s into one with all their messages. */
export function mergeErrors(refusals: ProvecError[]): ProvecError {
  const [first, ...others] = refusals;
  if (first !== undefined && others.length === 0) return first;
  const details = refusals.flatMap((refusal) => refusal.details ?? []);
  return new ProvecError('INVALID_ARGUMENT', refusals.map(({ message }) => message).join(' '), { details });
}

/** Returns the array at `path`. Throws INVALID_ARGUMENT unless it has `min` to `max` elements. */
export function boundedArray(value: unknown, path: string, min: number, max: number, what: string): unknown[] {
  if (!Array.isArray(value) || value.length < min || value.length > max) {
    throw invalidValue(path, `an array of ${min} to ${max.toLocaleString('en')} ${what}`, describeValue(value));
  }
  return value;
}
