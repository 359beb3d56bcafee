/** Conditions on one field, and how they become part of a filter. */

/** What a field can be compared with. */
type Scalar = string | number | boolean | null;
type Written = Readonly<Record<string, unknown>>;

/** Names of the operators of the builder, with what they say. */
export const OPERATORS = {
  $eq: 'is',
  $ne: 'is not',
  $in: 'is one of',
  $gt: 'is above',
  $gte: 'is at least',
  $lt: 'is below',
  $lte: 'is at most',
  exists: 'is there',
  missing: 'is missing',
} as const;
export type Operator = keyof typeof OPERATORS;

/** Whether an operator compares with a value. */
export const takesValue = (operator: Operator): boolean => operator !== 'exists' && operator !== 'missing';

/** Reads a value as people write it: a number, a boolean, null, or a text, quoted or not. */
function scalarIn(text: string): Scalar {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return value as Scalar;
  } catch {
    // Everything that is no JSON is a text.
  }
  return text;
}

/** Says how `scalarIn` reads a text. */
export function kindOf(text: string): string {
  const value = scalarIn(text);
  return value === null ? 'null' : typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

/** Returns the condition that an operator and a text make. */
export function conditionOf(operator: Operator, text: string): unknown {
  if (operator === 'exists' || operator === 'missing') return { $exists: operator === 'exists' };
  if (operator === '$eq') return scalarIn(text);
  if (operator === '$in') return { $in: text.split(',').map((part) => scalarIn(part.trim())) };
  return { [operator]: scalarIn(text) };
}

/** Returns a filter with one more condition that must hold. */
export function withCondition(filter: Written | undefined, field: string, condition: unknown): Written {
  if (filter === undefined || Object.keys(filter).length === 0) return { [field]: condition };
  if (!Object.hasOwn(filter, field)) return { ...filter, [field]: condition };
  const all = filter.$and;
  // A field stands once in an object, so the second condition on it goes into a list.
  return { ...filter, $and: [...(Array.isArray(all) ? all : []), { [field]: condition }] };
}

/** Whether a filter wants exactly this of a field at its top. */
export const hasCondition = (filter: Written | undefined, field: string, condition: unknown): boolean =>
  filter !== undefined && Object.hasOwn(filter, field) && JSON.stringify(filter[field]) === JSON.stringify(condition);

/** Returns a filter with this condition instead of what it had on the field, or without it. */
export function toggled(filter: Written | undefined, field: string, condition: unknown): Written {
  const others = Object.entries(filter ?? {}).filter(([name]) => name !== field);
  const own: [string, unknown][] = hasCondition(filter, field, condition) ? [] : [[field, condition]];
  return Object.fromEntries([...others, ...own]);
}
