import { LIMITS } from '../limits.ts';

/**
 * What takes a field's value out of a metadata object, `undefined` where it is absent. The name is
 * a literal top-level key if there is such a key, else a dotted path through nested objects (never
 * through lists).
 */
export function fieldReader(field: string): (metadata: Record<string, unknown>) => unknown {
  // No metadata has more levels, so a name of a thousand dots is taken apart no further.
  const path = field.split('.', LIMITS.metadataMaxLevels + 1);
  const isPath = path.length > 1 && path.length <= LIMITS.metadataMaxLevels;
  return (metadata) => {
    if (Object.hasOwn(metadata, field)) return metadata[field];
    return isPath ? follow(metadata, path) : undefined;
  };
}

function follow(from: Record<string, unknown>, path: readonly string[]): unknown {
  let value: unknown = from;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
