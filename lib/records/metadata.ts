import canonicalize from 'canonicalize';
import { describeValue, type ProvecError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { invalidValue, isJsonObject, type JsonObject } from './fields.ts';

/**
 * Returns the nesting depth of a JSON value (a scalar 0, `{}` 1) and a lower bound of its length as
 * compact JSON. Stops when either exceeds its maximum, so that a huge value is not traversed.
 */
function measureJson(value: unknown, maxLevels: number, maxBytes: number): { levels: number; minBytes: number } {
  let levels = 0;
  let minBytes = 0;
  const isPast = (): boolean => levels > maxLevels || minBytes > maxBytes;
  const visit = (value: unknown, level: number): void => {
    if (typeof value !== 'object' || value === null) {
      // A string counts with its quotes, a number or literal as one character.
      minBytes += typeof value === 'string' ? value.length + 2 : 1;
      return;
    }
    levels = Math.max(levels, level + 1);
    minBytes += 1;
    if (Array.isArray(value)) {
      for (const element of value) {
        if (isPast()) return;
        minBytes += 1;
        visit(element, level + 1);
      }
      return;
    }
    for (const key in value) {
      if (isPast()) return;
      minBytes += key.length + 4;
      visit((value as JsonObject)[key], level + 1);
    }
  };
  visit(value, 0);
  return { levels, minBytes };
}

/** Returns the error for the first value that UTF-8 JSON cannot represent. Bound nesting first. */
function unrepresentable(value: unknown, path: string): ProvecError | null {
  if (typeof value === 'string') {
    return value.isWellFormed() ? null : invalidValue(path, 'well-formed Unicode', 'a string with a lone surrogate');
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? null : invalidValue(path, 'a number within double range', describeValue(value));
  }
  if (value === null || typeof value === 'boolean') return null;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = unrepresentable(value[i], `${path}[${i}]`);
      if (found) return found;
    }
    return null;
  }
  if (typeof value !== 'object') return invalidValue(path, 'a JSON value', describeValue(value));
  for (const [key, child] of Object.entries(value)) {
    if (!key.isWellFormed())
      return invalidValue(path, 'well-formed Unicode in its keys', 'a key with a lone surrogate');
    const found = unrepresentable(child, `${path}.${key.length > 64 ? `${key.slice(0, 64).toWellFormed()}...` : key}`);
    if (found) return found;
  }
  return null;
}

/**
 * Returns metadata as canonical JSON (RFC 8785); absent metadata is `{}`. Throws INVALID_ARGUMENT
 * with the path if it is not an object, nests too deeply, is too long, or is not representable.
 */
export function canonicalMetadata(value: unknown, path: string, limits: Limits): string {
  if (value === undefined) return '{}';
  if (!isJsonObject(value)) throw invalidValue(path, 'a JSON object', describeValue(value));
  const { metadataMaxBytes, metadataMaxLevels } = limits;
  const { levels, minBytes } = measureJson(value, metadataMaxLevels, metadataMaxBytes);
  if (levels > metadataMaxLevels) throw invalidValue(path, `at most ${metadataMaxLevels} levels deep`, 'deeper');
  const expected = `at most ${metadataMaxBytes} bytes as compact JSON`;
  if (minBytes > metadataMaxBytes) throw invalidValue(path, expected, 'longer');
  let text: string | undefined;
  try {
    text = canonicalize(value);
  } catch (error) {
    throw unrepresentable(value, path) ?? error;
  }
  if (text === undefined) throw invalidValue(path, 'a JSON object', describeValue(value));
  if (text.length * 3 > metadataMaxBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > metadataMaxBytes) throw invalidValue(path, expected, `${bytes} bytes`);
  }
  return text;
}
