import { describeValue } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { boundedArray, invalidValue } from './fields.ts';

/**
 * Checks a record id: 1 to 512 bytes of well-formed UTF-8, not beginning with U+0000. Throws
 * INVALID_ARGUMENT with `path`.
 */
export function decodeId(value: unknown, path: string, limits: Limits): string {
  const expected = `a string of 1 to ${limits.idMaxBytes} bytes of well-formed Unicode`;
  if (typeof value !== 'string' || value === '') throw invalidValue(path, expected, describeValue(value));
  if (!value.isWellFormed()) throw invalidValue(path, expected, 'a string with a lone surrogate');
  if (value.startsWith('\0')) throw invalidValue(path, 'an id that does not begin with U+0000', 'one that does');
  if (value.length * 3 > limits.idMaxBytes) {
    const bytes = Buffer.byteLength(value);
    if (bytes > limits.idMaxBytes) throw invalidValue(path, expected, `a string of ${bytes} bytes`);
  }
  return value;
}

/**
 * Checks a namespace: at most 512 bytes of well-formed UTF-8 without U+0000; empty for the default
 * one. Throws INVALID_ARGUMENT with `path`.
 */
export function decodeNamespace(value: unknown, path: string, limits: Limits): string {
  const expected = `a string of at most ${limits.namespaceMaxBytes} bytes of well-formed Unicode without U+0000`;
  if (typeof value !== 'string') throw invalidValue(path, expected, describeValue(value));
  if (!value.isWellFormed()) throw invalidValue(path, expected, 'a string with a lone surrogate');
  if (value.includes('\0')) throw invalidValue(path, expected, 'a string with U+0000');
  const bytes = Buffer.byteLength(value);
  if (bytes > limits.namespaceMaxBytes) throw invalidValue(path, expected, `a string of ${bytes} bytes`);
  return value;
}

/** Returns the ids of a fetch or delete without duplicates. Throws INVALID_ARGUMENT. */
export function decodeIds(value: unknown, path: string, limits: Limits): string[] {
  const ids = new Set<string>();
  const given = boundedArray(value, path, 1, limits.idsPerRequestMax, 'ids');
  for (let i = 0; i < given.length; i++) ids.add(decodeId(given[i], `${path}[${i}]`, limits));
  return [...ids];
}
