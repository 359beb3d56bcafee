import { parseJson } from '../../../../lib/json/text.ts';

/** Estimates of what parsing takes, of a record and of each of its bytes. */
const RECORD_NS = 300;
const BYTE_NS = 6;

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

/** About how many nanoseconds that takes. */
export function readingNs(bytes: Buffer): number {
  return RECORD_NS + bytes.length * BYTE_NS;
}
