/** What a condition can compare with. */
export type Scalar = string | number | boolean | null;

export type Relation = 'gt' | 'gte' | 'lt' | 'lte';

/** What is asked of one field. */
export type Condition =
  | { op: 'in'; field: string; values: Scalar[] }
  | { op: 'compare'; field: string; relation: Relation; operand: string | number }
  | { op: 'exists'; field: string };

/**
 * A validated filter in normal form. `$eq` is `in` with one value; `$ne`, `$nin` and `$exists:
 * false` are `not` of their opposites, so that a record without the field meets these three
 * conditions and no other. An `and` of nothing matches everything.
 */
export type FilterNode =
  | { op: 'and'; nodes: FilterNode[] }
  | { op: 'or'; nodes: FilterNode[] }
  | { op: 'not'; node: FilterNode }
  | Condition;

/** All conditions of a filter, from left to right. */
export function* conditionsOf(node: FilterNode): Iterable<Condition> {
  if (node.op === 'and' || node.op === 'or') for (const part of node.nodes) yield* conditionsOf(part);
  else if (node.op === 'not') yield* conditionsOf(node.node);
  else yield node;
}
