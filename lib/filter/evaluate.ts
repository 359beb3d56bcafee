/**
 * Decides which records match a filter; the shard's columns must give the same results. A list
 * matches `in` if any of its elements does. `compare` is true only between two numbers or two
 * strings (by their UTF-8 bytes).
 */
import { compareUtf8 } from '../records/utf8-order.ts';
import type { Condition, FilterNode, Relation, Scalar } from './ast.ts';
import { fieldReader } from './field.ts';
import { ValueMap } from './value-map.ts';

/** Tells whether a record matches, given its metadata as JSON.parse returns it. */
export type Predicate = (metadata: Record<string, unknown>) => boolean;

/** Number of values up to which comparing each one is faster than a map lookup. */
const COMPARED_MAX = 32;
/** Number of comparisons of list elements up to which they are faster than a map. */
const PAIRS_MAX = 256;
/** Number of characters whose comparison takes as long as a map lookup. */
const CHARS_PER_COMPARISON = 16;

/** Receives the number of comparisons beyond one per condition: list elements, long strings. */
type OnCompared = (count: number) => void;

export function matches(node: FilterNode, metadata: Record<string, unknown>): boolean {
  return predicateOf(node)(metadata);
}

/** Compiles a filter for use on many records. */
export function predicateOf(node: FilterNode, onCompared: OnCompared = () => undefined): Predicate {
  return compileNode(node, { onCompared, lists: new WeakMap() });
}

/** State shared by the conditions of one filter. */
interface FilterContext {
  onCompared: OnCompared;
  /** Maps of the elements of long lists, shared between conditions. */
  lists: WeakMap<unknown[], ValueMap>;
}

function compileNode(node: FilterNode, shared: FilterContext): Predicate {
  switch (node.op) {
    case 'and': {
      const parts = node.nodes.map((part) => compileNode(part, shared));
      return (metadata) => parts.every((matches) => matches(metadata));
    }
    case 'or': {
      const parts = node.nodes.map((part) => compileNode(part, shared));
      return (metadata) => parts.some((matches) => matches(metadata));
    }
    case 'not': {
      const matches = compileNode(node.node, shared);
      return (metadata) => !matches(metadata);
    }
    default: {
      const [read, meets] = [fieldReader(node.field), conditionTest(node, shared)];
      return (metadata) => meets(read(metadata));
    }
  }
}

/** Whether `value` has the relation to `operand`; false if their types differ. */
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

/** Returns a test of a field's value, which is `undefined` if the field is absent. */
function conditionTest(condition: Condition, shared: FilterContext): (value: unknown) => boolean {
  switch (condition.op) {
    case 'exists':
      return (value) => value !== undefined;
    case 'in': {
      const { values } = condition;
      const isNamed = valueTest(values);
      return (value) => (Array.isArray(value) ? containsAny(value, values, shared) : isNamed(value));
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
function containsAny(list: unknown[], values: readonly Scalar[], { onCompared, lists }: FilterContext): boolean {
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

function valueTest(values: readonly Scalar[]): (value: unknown) => boolean {
  if (values.length <= COMPARED_MAX) return (value) => values.includes(value as Scalar);
  const named = new ValueMap();
  for (const value of values) named.set(value, 1);
  return (value) => named.get(value) !== undefined;
}
