import { LIMITS } from '../limits.ts';

/**
 * Returns a function that reads a field from a metadata object, `undefined` if it is absent. The
 * name is a literal top-level key if there is one, else a dotted path through nested objects (never
 * through lists).
 */
export function fieldReader(field: string): (metadata: Record<string, unknown>) => unknown {
  // Metadata has no more levels than this, so a name with a thousand dots need not be split
  // further.
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
