import { parseJson } from '../../client/verify/json-text.ts';

/** Returns the JSON object of a line; null if the line is anything else, or was cut off. */
export function objectInLine(line: string): Record<string, unknown> | null {
  try {
    const value = parseJson(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    // The caller says what it expected, or leaves that to the service.
    return null;
  }
}
