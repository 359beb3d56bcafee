import { compareUtf8 } from '../records/utf8-order.ts';
import type { FilterNode, Relation, Scalar } from './ast.ts';
import { fieldValue } from './field.ts';

/**
 * Whether one record's metadata (as JSON.parse gives it) matches. This is the meaning of filters;
 * the shard's columns must give the same answers. A list matches `in` if any of its elements does;
 * `compare` holds between two numbers or two strings (by UTF-16 code unit) and nothing else.
 */
export function matches(node: FilterNode, metadata: Record<string, unknown>): boolean {
  switch (node.op) {
    case 'and':
      return node.nodes.every((part) => matches(part, metadata));
    case 'or':
      return node.nodes.some((part) => matches(part, metadata));
    case 'not':
      return !matches(node.node, metadata);
    case 'exists':
      return fieldValue(metadata, node.field) !== undefined;
    case 'in': {
      const value = fieldValue(metadata, node.field);
      return Array.isArray(value)
        ? value.some((element) => node.values.includes(element))
        : node.values.includes(value as Scalar);
    }
    case 'compare':
      return compares(fieldValue(metadata, node.field), node.relation, node.operand);
  }
}

/** Whether `value` stands in the relation to `operand`; false where their types differ. */
export function compares(value: unknown, relation: Relation, operand: string | number): boolean {
  if (typeof value !== typeof operand) return false;
  const order =
    typeof value === 'string' ? compareUtf8(value, operand as string) : (value as number) - (operand as number);
  switch (relation) {
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
  }
}
