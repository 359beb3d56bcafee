import { describeValue } from '../errors.ts';
import { INTERNAL_LIMITS } from '../limits.ts';
import { invalidValue } from './fields.ts';

/** Maximum bytes of a metadata field's name in a request. */
export const FIELD_NAME_MAX_BYTES = INTERNAL_LIMITS.fieldNameMaxBytes;

/**
 * Checks the name of a metadata field that is not a key of the body's JSON, whose keys
 * `parseJsonBody` checks. `what` completes "must be". Throws INVALID_ARGUMENT with `path`.
 */
export function decodeFieldName(value: unknown, path: string, what: string): string {
  const expected = `${what}, of at most ${FIELD_NAME_MAX_BYTES.toLocaleString('en')} bytes`;
  if (typeof value !== 'string') throw invalidValue(path, expected, describeValue(value));
  if (value.length * 3 > FIELD_NAME_MAX_BYTES) {
    const bytes = Buffer.byteLength(value);
    if (bytes > FIELD_NAME_MAX_BYTES) throw invalidValue(path, expected, `a string of ${bytes} bytes`);
  }
  return value;
}
