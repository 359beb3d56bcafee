/** What a condition can compare with. */
export type Scalar = string | number | boolean | null;

export type Relation = 'gt' | 'gte' | 'lt' | 'lte';

/**
 * A validated filter in normal form. `$eq` is `in` with one value; `$ne`, `$nin` and `$exists:
 * false` are `not` of their opposites, so that a record without the field matches exactly these
 * three. An `and` of nothing matches everything.
 */
export type FilterNode =
  | { op: 'and' | 'or'; nodes: FilterNode[] }
  | { op: 'not'; node: FilterNode }
  | { op: 'in'; field: string; values: Scalar[] }
  | { op: 'compare'; field: string; relation: Relation; operand: string | number }
  | { op: 'exists'; field: string };
