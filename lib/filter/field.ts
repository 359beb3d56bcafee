/**
 * The value of a field in a metadata object, `undefined` where it is absent. The name is a literal
 * top-level key if there is such a key, else a dotted path through nested objects (never through
 * lists).
 */
export function fieldValue(metadata: Record<string, unknown>, field: string): unknown {
  if (Object.hasOwn(metadata, field)) return metadata[field];
  if (!field.includes('.')) return undefined;
  let value: unknown = metadata;
  // Taken apart only as far as the path leads: a name of a thousand dots costs no more than its
  // first part.
  for (let start = 0, end = 0; end >= 0; start = end + 1) {
    end = field.indexOf('.', start);
    const name = end < 0 ? field.slice(start) : field.slice(start, end);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
