/**
 * Filters as Pinecone's clients mean them, in the words of `/api/v1`. Their `$ne` and `$nin` skip
 * records without the field, which ours match: the field has to exist beside them. All other
 * operators mean the same.
 */
import { isJsonObject, type JsonObject } from '../../../lib/records/fields.ts';

const NEGATIONS = ['$ne', '$nin'] as const;

/**
 * The filter with `$exists: true` beside each `$ne` and `$nin`, at the same places, so that a
 * refusal names what the client wrote. What is no filter stays as it is: the parser refuses it.
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
  // A field that must exist and must not exist: nothing matches.
  return theirs.$exists === false ? { ...operators, $in: [] } : operators;
}

const mapped = (object: JsonObject, map: (name: string, value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(name, value)]));
