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
/** So few comparisons of a list's elements with values are faster than a map of the elements. */
const PAIRS_MAX = 256;
/** Comparing so many characters takes as long as looking a value up. */
const CHARS_PER_COMPARISON = 16;

/** Told of comparisons beyond one for each condition: of a list's elements, of long strings. */
type OnCompared = (count: number) => void;

export function matches(node: FilterNode, metadata: Record<string, unknown>): boolean {
  return predicateOf(node)(metadata);
}

/** A filter made ready for many records. */
export function predicateOf(node: FilterNode, onCompared: OnCompared = () => undefined): Predicate {
  return partOf(node, { onCompared, lists: new WeakMap() });
}

/** What the conditions of one filter share. */
interface Shared {
  onCompared: OnCompared;
  /** The elements of long lists, which several conditions may ask. */
  lists: WeakMap<unknown[], ValueMap>;
}

function partOf(node: FilterNode, shared: Shared): Predicate {
  switch (node.op) {
    case 'and': {
      const parts = node.nodes.map((part) => partOf(part, shared));
      return (metadata) => parts.every((matches) => matches(metadata));
    }
    case 'or': {
      const parts = node.nodes.map((part) => partOf(part, shared));
      return (metadata) => parts.some((matches) => matches(metadata));
    }
    case 'not': {
      const matches = partOf(node.node, shared);
      return (metadata) => !matches(metadata);
    }
    default: {
      const [read, meets] = [fieldReader(node.field), meetingOf(node, shared)];
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
function meetingOf(condition: Condition, shared: Shared): (value: unknown) => boolean {
  switch (condition.op) {
    case 'exists':
      return (value) => value !== undefined;
    case 'in': {
      const { values } = condition;
      const isNamed = membership(values);
      return (value) => (Array.isArray(value) ? holdsOne(value, values, shared) : isNamed(value));
    }
    case 'compare':
      return (value) => {
        if (typeof value === 'string')
          shared.onCompared(Math.min(value.length, String(condition.operand).length) / CHARS_PER_COMPARISON);
        return compares(value, condition.relation, condition.operand);
      };
  }
}

/** Whether an element of `list` is one of `values`. */
function holdsOne(list: unknown[], values: readonly Scalar[], { onCompared, lists }: Shared): boolean {
  if (list.length * values.length <= PAIRS_MAX) return list.some((element) => values.includes(element as Scalar));
  let elements = lists.get(list);
  if (elements === undefined) {
    elements = new ValueMap();
    for (const element of list) if (element === null || typeof element !== 'object') elements.set(element as Scalar, 1);
    lists.set(list, elements);
    onCompared(list.length);
  }
  onCompared(values.length);
  return values.some((value) => elements.get(value) !== undefined);
}

function membership(values: readonly Scalar[]): (value: unknown) => boolean {
  if (values.length <= COMPARED_MAX) return (value) => values.includes(value as Scalar);
  const named = new ValueMap();
  for (const value of values) named.set(value, 1);
  return (value) => named.get(value) !== undefined;
}
