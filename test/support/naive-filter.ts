type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const equals = (value: unknown, operand: unknown): boolean =>
  Array.isArray(value) ? value.includes(operand) : value === operand;

/** Strings compare by their UTF-8 bytes; null when the types have no order. */
function orderOf(value: unknown, operand: unknown): number | null {
  if (typeof value === 'number' && typeof operand === 'number') return Math.sign(value - operand);
  if (typeof value === 'string' && typeof operand === 'string')
    return Buffer.compare(Buffer.from(value), Buffer.from(operand));
  return null;
}

const COMPARED: Record<string, (order: number) => boolean> = {
  $gt: (order) => order > 0,
  $gte: (order) => order >= 0,
  $lt: (order) => order < 0,
  $lte: (order) => order <= 0,
};

/** Returns the value in a list of one, or an empty list. */
function lookUp(metadata: Json, field: string): unknown[] {
  if (Object.hasOwn(metadata, field)) return [metadata[field]];
  if (!field.includes('.')) return [];
  let found: unknown = metadata;
  for (const name of field.split('.')) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return [];
    found = found[name];
  }
  return [found];
}

function meets(found: unknown[], operator: string, operand: unknown): boolean {
  switch (operator) {
    case '$exists':
      return found.length > 0 === operand;
    case '$eq':
      return found.some((value) => equals(value, operand));
    case '$in':
      return (operand as unknown[]).some((each) => meets(found, '$eq', each));
    case '$ne':
      return !meets(found, '$eq', operand);
    case '$nin':
      return !meets(found, '$in', operand);
    case '$not':
      return !meetsAll(found, operand);
    default: {
      if (!Object.hasOwn(COMPARED, operator)) throw new Error(`The naive filter does not know ${operator}.`);
      const order = found.length === 0 ? null : orderOf(found[0], operand);
      return order !== null && COMPARED[operator]?.(order) === true;
    }
  }
}

const meetsAll = (found: unknown[], condition: unknown): boolean =>
  isObject(condition)
    ? Object.entries(condition).every(([operator, operand]) => meets(found, operator, operand))
    : meets(found, '$eq', condition);

/**
 * Whether a record matches a filter as a client sends it. A literal implementation of
 * docs/filters.md that shares no code with the product.
 */
export function naiveMatches(filter: Json, metadata: Json): boolean {
  return Object.entries(filter).every(([name, operand]) => {
    if (name === '$and') return (operand as Json[]).every((each) => naiveMatches(each, metadata));
    if (name === '$or') return (operand as Json[]).some((each) => naiveMatches(each, metadata));
    if (name === '$not') return !naiveMatches(operand as Json, metadata);
    return meetsAll(lookUp(metadata, name), operand);
  });
}

/** Counts each value of a field in `all`; a list counts once for each of its elements. */
export function naiveFacets(field: string, all: Json[]): { counts: Map<unknown, number>; missing: number } {
  const counts = new Map<unknown, number>();
  let missing = 0;
  for (const metadata of all) {
    const found = lookUp(metadata, field);
    if (found.length === 0) missing++;
    for (const value of new Set(found.flat())) {
      if (value === null || typeof value !== 'object') counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return { counts, missing };
}
