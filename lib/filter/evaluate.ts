/**
 * Which records match a filter. This is the meaning of filters; the shard's columns must give the
 * same answers. A list matches `in` if any of its elements does; `compare` holds between two
 * numbers or two strings (by their UTF-8 bytes) and nothing else.
 */
import { compareUtf8 } from '../records/utf8-order.ts';
import type { Condition, FilterNode, Relation, Scalar } from './ast.ts';
import { fieldReader } from './field.ts';
import { ValueMap } from './value-map.ts';

/** Says of one record's metadata (as JSON.parse gives it) whether it matches. */
export type Predicate = (metadata: Record<string, unknown>) => boolean;

/** So few values are compared faster than looked up. */
const COMPARED_MAX = 32;

export function matches(node: FilterNode, metadata: Record<string, unknown>): boolean {
  return predicateOf(node)(metadata);
}

/** A filter made ready for many records. */
export function predicateOf(node: FilterNode): Predicate {
  switch (node.op) {
    case 'and': {
      const parts = node.nodes.map(predicateOf);
      return (metadata) => parts.every((matches) => matches(metadata));
    }
    case 'or': {
      const parts = node.nodes.map(predicateOf);
      return (metadata) => parts.some((matches) => matches(metadata));
    }
    case 'not': {
      const matches = predicateOf(node.node);
      return (metadata) => !matches(metadata);
    }
    default: {
      const [read, meets] = [fieldReader(node.field), meetingOf(node)];
      return (metadata) => meets(read(metadata));
    }
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

/** Says of a field's value, `undefined` where it is absent, whether it meets the condition. */
function meetingOf(condition: Condition): (value: unknown) => boolean {
  switch (condition.op) {
    case 'exists':
      return (value) => value !== undefined;
    case 'in': {
      const isNamed = membership(condition.values);
      return (value) => (Array.isArray(value) ? value.some(isNamed) : isNamed(value));
    }
    case 'compare':
      return (value) => compares(value, condition.relation, condition.operand);
  }
}

function membership(values: readonly Scalar[]): (value: unknown) => boolean {
  if (values.length <= COMPARED_MAX) return (value) => values.includes(value as Scalar);
  const named = new ValueMap();
  for (const value of values) named.set(value, 1);
  return (value) => named.get(value) !== undefined;
}
