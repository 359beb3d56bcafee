import canonicalize from 'canonicalize';
import { describe, type ProvecError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { invalid, isJsonObject } from './fields.ts';

/** How deep a JSON value nests (a scalar 0, `{}` 1); stops counting above `max`. */
function levelsOf(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (max === 0) return 1;
  let deepest = 0;
  for (const child of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof child === 'object' && child !== null) {
      deepest = Math.max(deepest, levelsOf(child, max - 1));
      if (deepest >= max) break;
    }
  }
  return deepest + 1;
}

/** The error for the first value that JSON in well-formed UTF-8 cannot carry; the nesting must have been bounded before. */
function unrepresentable(value: unknown, path: string): ProvecError | null {
  if (typeof value === 'string') {
    return value.isWellFormed() ? null : invalid(path, 'well-formed Unicode', 'a string with a lone surrogate');
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? null : invalid(path, 'a number within double range', describe(value));
  }
  if (value === null || typeof value === 'boolean') return null;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = unrepresentable(value[i], `${path}[${i}]`);
      if (found) return found;
    }
    return null;
  }
  if (typeof value !== 'object') return invalid(path, 'a JSON value', describe(value));
  for (const [key, child] of Object.entries(value)) {
    if (!key.isWellFormed()) return invalid(path, 'well-formed Unicode in its keys', 'a key with a lone surrogate');
    const found = unrepresentable(child, `${path}.${key.length > 64 ? `${key.slice(0, 64).toWellFormed()}...` : key}`);
    if (found) return found;
  }
  return null;
}

/**
 * Metadata as canonical JSON (RFC 8785); absent metadata is `{}`. Throws INVALID_ARGUMENT naming the path when it is not an object, nests
 * deeper than the limit, is longer than the limit as compact JSON, or holds what JSON in UTF-8 cannot carry.
 */
export function canonicalMetadata(value: unknown, path: string, limits: Limits): string {
  if (value === undefined) return '{}';
  if (!isJsonObject(value)) throw invalid(path, 'a JSON object', describe(value));
  if (levelsOf(value, limits.metadataMaxLevels) > limits.metadataMaxLevels) {
    throw invalid(path, `at most ${limits.metadataMaxLevels} levels deep`, 'deeper');
  }
  let text: string | undefined;
  try {
    text = canonicalize(value);
  } catch (error) {
    throw unrepresentable(value, path) ?? error;
  }
  if (text === undefined) throw invalid(path, 'a JSON object', describe(value));
  if (text.length * 3 > limits.metadataMaxBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.metadataMaxBytes) {
      throw invalid(path, `at most ${limits.metadataMaxBytes} bytes as compact JSON`, `${bytes} bytes`);
    }
  }
  return text;
}
