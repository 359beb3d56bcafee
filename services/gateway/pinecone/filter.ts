/**
 * Translates Pinecone's filters to filters of `/api/v1`. Pinecone's `$ne` and `$nin` skip records
 * without the field, ours match them, so the translation adds `$exists`. All other operators mean
 * the same.
 */
import { isJsonObject, type JsonObject } from '../../../lib/records/fields.ts';

const NEGATIONS = ['$ne', '$nin'] as const;

/**
 * Adds `$exists: true` next to each `$ne` and `$nin`, without moving anything, so that an error
 * names the path that the client wrote. Returns other values unchanged; the filter parser refuses
 * them.
 */
export function filterOf(theirs: unknown): unknown {
  if (!isJsonObject(theirs)) return theirs;
  return mapped(theirs, (name, operand) => {
    if (!name.startsWith('$')) return isJsonObject(operand) ? operatorsOf(operand) : operand;
    return Array.isArray(operand) ? operand.map(filterOf) : filterOf(operand);
  });
}

function operatorsOf(theirs: JsonObject): JsonObject {
  const operators = mapped(theirs, (name, operand) =>
    name === '$not' && isJsonObject(operand) ? operatorsOf(operand) : operand,
  );
  if (!NEGATIONS.some((name) => Object.hasOwn(theirs, name))) return operators;
  if (!Object.hasOwn(theirs, '$exists')) return { $exists: true, ...operators };
  // The field must both exist and not exist, so nothing matches.
  return theirs.$exists === false ? { ...operators, $in: [] } : operators;
}

const mapped = (object: JsonObject, map: (name: string, value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(name, value)]));
