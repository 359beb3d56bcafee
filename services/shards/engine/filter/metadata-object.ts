import { parseJson } from '../../../../lib/json/text.ts';

/** Estimated costs of parsing a record's metadata, per record and per byte. */
const RECORD_NS = 300;
const BYTE_NS = 6;

/**
 * Parses metadata. Bytes that were altered in the store may not be a JSON object; they count as
 * having no fields.
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

/** Returns the estimated cost, in ns, of parsing the metadata. */
export function readingNs(bytes: Buffer): number {
  return RECORD_NS + bytes.length * BYTE_NS;
}
