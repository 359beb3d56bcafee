/**
 * Turns a client's filter into a `FilterNode`, or throws INVALID_FILTER with the path of the fault.
 *
 * Nothing is ignored silently (an unknown operator, an empty operator object, a nested object meant
 * as a path), and every size is checked before any record is read. Operands of `$eq`, `$ne`, `$in`
 * and `$nin` are strings, finite numbers, booleans and null, not lists or objects. `$eq: null`
 * matches an explicit null only, never an absent field (unlike MongoDB). Field names are never keys
 * of an ordinary object, so `__proto__` and the empty name work like any other. Names that begin
 * with `$` are reserved for operators.
 */
import { describeValue, ProvecError } from '../errors.ts';
import { INTERNAL_LIMITS, type Limits } from '../limits.ts';
import { nearest } from '../nearest.ts';
import { isJsonObject } from '../records/fields.ts';
import type { FilterNode, Relation, Scalar } from './ast.ts';

/** Operators next to field names; their operands are filters. */
export const LOGICAL = ['$and', '$or', '$not'] as const;
/** Operators in a field's object. */
export const CONDITIONS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$exists', '$not'] as const;
const RELATIONS = new Map<string, Relation>([
  ['$gt', 'gt'],
  ['$gte', 'gte'],
  ['$lt', 'lt'],
  ['$lte', 'lte'],
]);

type FilterLimits = Pick<Limits, 'filterMaxLevels' | 'filterMaxConditions' | 'filterMaxInValues'>;

/** Validates a client's filter; null if it matches everything (`{}`). Throws INVALID_FILTER. */
export function parseFilter(filter: unknown, limits: FilterLimits, path = 'filter'): FilterNode | null {
  const node = new FilterParser(limits).filter(filter, path, 1);
  return node.op === 'and' && node.nodes.length === 0 ? null : node;
}

/** Whether the filter or a part of it is `{}`, which matches every record. */
export function hasEmptyPart(node: FilterNode): boolean {
  if (node.op === 'not') return hasEmptyPart(node.node);
  return (node.op === 'and' || node.op === 'or') && (node.nodes.length === 0 || node.nodes.some(hasEmptyPart));
}

class FilterParser {
  readonly #limits: FilterLimits;
  #conditions = 0;
  #listed = 0;

  constructor(limits: FilterLimits) {
    this.#limits = limits;
  }

  filter(filter: unknown, path: string, level: number): FilterNode {
    if (!isJsonObject(filter)) throw invalidFilter(path, 'an object', filter);
    this.#checkLevel(path, level);
    const names = Object.keys(filter);
    if (names.length === 0) this.#countConditions(path, 1);
    const nodes = names.map((name) => this.#entry(name, filter[name], filterKeyPath(path, name), level));
    return conjunction(nodes);
  }

  #entry(name: string, value: unknown, path: string, level: number): FilterNode {
    if (!name.startsWith('$')) return this.#field(name, value, path, level);
    if (name === '$not') return { op: 'not', node: this.filter(value, path, level + 1) };
    if (name !== '$and' && name !== '$or') throw unknownOperator(name, path, LOGICAL, CONDITIONS);
    if (!Array.isArray(value) || value.length === 0) throw invalidFilter(path, 'a list of at least one filter', value);
    const nodes = value.map((part, i) => this.filter(part, `${path}[${i}]`, level + 1));
    return { op: name === '$and' ? 'and' : 'or', nodes };
  }

  #field(field: string, value: unknown, path: string, level: number): FilterNode {
    if (isJsonObject(value)) return this.#conditionsOf(field, value, path, level);
    this.#countConditions(path, 1);
    if (Array.isArray(value)) {
      throw invalidFilter(path, 'a value or an object of operators (a list needs `$in`)', value);
    }
    return { op: 'in', field, values: [scalar(value, path)] };
  }

  #conditionsOf(field: string, operators: Record<string, unknown>, path: string, level: number): FilterNode {
    const names = Object.keys(operators);
    if (names.length === 0)
      throw invalidFilter(path, 'a value or an object with at least one operator', operators, '{}');
    if (isNegationOfExisting(operators)) this.#conditions -= 1;
    return conjunction(
      names.map((name) => this.#condition(field, name, operators[name], filterKeyPath(path, name), level)),
    );
  }

  #condition(field: string, name: string, operand: unknown, path: string, level: number): FilterNode {
    if (name === '$not') {
      if (!isJsonObject(operand)) throw invalidFilter(path, 'an object of operators', operand);
      this.#checkLevel(path, level + 1);
      return { op: 'not', node: this.#conditionsOf(field, operand, path, level + 1) };
    }
    this.#countConditions(path, 1);
    const relation = RELATIONS.get(name);
    if (relation !== undefined) {
      if (typeof operand !== 'string' && !isNumber(operand)) throw invalidFilter(path, 'a number or a string', operand);
      return { op: 'compare', field, relation, operand };
    }
    switch (name) {
      case '$eq':
        return { op: 'in', field, values: [scalar(operand, path)] };
      case '$ne':
        return { op: 'not', node: { op: 'in', field, values: [scalar(operand, path)] } };
      case '$in':
        return { op: 'in', field, values: this.#values(operand, path) };
      case '$nin':
        return { op: 'not', node: { op: 'in', field, values: this.#values(operand, path) } };
      case '$exists': {
        if (typeof operand !== 'boolean') throw invalidFilter(path, 'true or false', operand);
        const exists: FilterNode = { op: 'exists', field };
        return operand ? exists : { op: 'not', node: exists };
      }
      default:
        throw unknownOperator(name, path, CONDITIONS, LOGICAL);
    }
  }

  #values(operand: unknown, path: string): Scalar[] {
    if (!Array.isArray(operand)) throw invalidFilter(path, 'a list of values', operand);
    const most = this.#limits.filterMaxInValues;
    if (operand.length > most) throw invalidFilter(path, `a list of at most ${most} values`, operand);
    this.#listed += operand.length;
    const mostInAll = INTERNAL_LIMITS.filterMaxListedValues;
    if (this.#listed > mostInAll) throw tooLarge(path, `at most ${mostInAll} values in all of its lists`);
    const wrong = operand.findIndex((value) => !isScalar(value));
    if (wrong >= 0) throw invalidFilter(`${path}[${wrong}]`, SCALAR, operand[wrong]);
    return operand as Scalar[];
  }

  #checkLevel(path: string, level: number): void {
    const most = this.#limits.filterMaxLevels;
    if (level > most) throw tooLarge(path, `at most ${most} levels`);
  }

  #countConditions(path: string, added: number): void {
    this.#conditions += added;
    const most = this.#limits.filterMaxConditions;
    if (this.#conditions > most) throw tooLarge(path, `at most ${most} conditions`);
  }
}

function conjunction(nodes: FilterNode[]): FilterNode {
  const [first, ...others] = nodes;
  return first !== undefined && others.length === 0 ? first : { op: 'and', nodes };
}

/** `$exists: true` counts as one condition together with a `$ne` or `$nin` of the same field. */
function isNegationOfExisting(operators: Record<string, unknown>): boolean {
  return operators.$exists === true && (Object.hasOwn(operators, '$ne') || Object.hasOwn(operators, '$nin'));
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

const SCALAR = 'a string, a finite number, a boolean or null';

function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || isNumber(value);
}

function scalar(value: unknown, path: string): Scalar {
  if (isScalar(value)) return value;
  throw invalidFilter(path, SCALAR, value);
}

const PATH_NAME_MAX_CHARS = 64;

function filterKeyPath(path: string, name: string): string {
  const shown = name.length > PATH_NAME_MAX_CHARS ? `${name.slice(0, PATH_NAME_MAX_CHARS).toWellFormed()}…` : name;
  return /^[$\w]+$/.test(shown) ? `${path}.${shown}` : `${path}[${JSON.stringify(shown)}]`;
}

function invalidFilter(path: string, expected: string, value: unknown, got = describeValue(value)): ProvecError {
  const details = [{ path, expected, got }];
  return new ProvecError('INVALID_FILTER', `${path} must be ${expected}, but is ${got}.`, { details });
}

function tooLarge(path: string, expected: string): ProvecError {
  const details = [{ path, expected, got: 'more' }];
  return new ProvecError('INVALID_FILTER', `The filter must have ${expected}, but has more at ${path}.`, { details });
}

function unknownOperator(
  name: string,
  path: string,
  here: readonly string[],
  elsewhere: readonly string[],
): ProvecError {
  const expected = `one of ${here.join(', ')}`;
  if (elsewhere.includes(name)) {
    const details = [{ path, expected, got: 'an operator that belongs elsewhere' }];
    return new ProvecError('INVALID_FILTER', `${path} does not belong here; use ${expected}.`, { details });
  }
  const meant = here.includes(`$${name}`) ? `$${name}` : nearest(name, here);
  const known = `${meant === null ? 'known:' : `did you mean ${meant}? Known:`} ${here.join(', ')}`;
  const advice = name.startsWith('$') || meant === `$${name}` ? known : 'write a nested field as one dotted name';
  const details = [{ path, expected, got: 'an unknown operator' }];
  return new ProvecError('INVALID_FILTER', `${path} is not an operator; ${advice}.`, { details });
}
