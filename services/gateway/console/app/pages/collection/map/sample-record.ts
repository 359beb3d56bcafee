/** A value that a point can be coloured by. */
export type FieldValue = string | number | boolean | null;

export interface SampleRecord {
  id: string;
  /** Some of its metadata: a list by its first element, no objects. */
  fields: ReadonlyMap<string, FieldValue>;
}

const FIELDS_MAX = 64;
const TEXT_MAX = 256;

/** Returns what the map keeps of metadata, so that large records do not fill the memory. */
export function fieldsIn(metadata: Readonly<Record<string, unknown>>): ReadonlyMap<string, FieldValue> {
  const kept = new Map<string, FieldValue>();
  for (const [name, whole] of Object.entries(metadata)) {
    const value: unknown = Array.isArray(whole) ? whole[0] : whole;
    if (value === undefined || (typeof value === 'object' && value !== null)) continue;
    if (typeof value === 'string' && value.length > TEXT_MAX) continue;
    kept.set(name, value as FieldValue);
    if (kept.size === FIELDS_MAX) break;
  }
  return kept;
}
