import { parseJson } from '../../../../lib/json/text.ts';

/**
 * Metadata as an object. Bytes that were changed behind the service's back may be no object, or no
 * JSON: they have no fields.
 */
export function metadataObject(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = parseJson(bytes.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
