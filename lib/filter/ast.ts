/** A value that a condition compares with. */
export type Scalar = string | number | boolean | null;

export type Relation = 'gt' | 'gte' | 'lt' | 'lte';

/** A condition on one field. */
export type Condition =
  | { op: 'in'; field: string; values: Scalar[] }
  | { op: 'compare'; field: string; relation: Relation; operand: string | number }
  | { op: 'exists'; field: string };

/**
 * A validated filter in normal form. `$eq` is `in` with one value; `$ne`, `$nin` and `$exists:
 * false` are `not` of their opposites, so these three conditions, and no others, match a record
 * without the field. An `and` with no nodes matches everything.
 */
export type FilterNode =
  | { op: 'and'; nodes: FilterNode[] }
  | { op: 'or'; nodes: FilterNode[] }
  | { op: 'not'; node: FilterNode }
  | Condition;

/** Yields all conditions of a filter, from left to right. */
export function* conditionsOf(node: FilterNode): Iterable<Condition> {
  if (node.op === 'and' || node.op === 'or') for (const part of node.nodes) yield* conditionsOf(part);
  else if (node.op === 'not') yield* conditionsOf(node.node);
  else yield node;
}
