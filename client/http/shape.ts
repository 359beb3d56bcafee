/** Checks that answers have the shape that the OpenAPI document defines. */
import type { ObjectShape, Shape } from '../api/answer-shape.ts';
import { ANSWERS, SHAPES } from '../api/shapes.ts';
import { ServerError } from './errors.ts';

/** Throws a ServerError if the value is not a valid answer, or not a valid line of one. */
export function assertAnswer(operation: keyof typeof ANSWERS, value: unknown, status: number): void {
  const fault = firstMismatch(value, ANSWERS[operation], '');
  if (fault === null) return;
  const error = `This is not an answer to ${operation}: ${fault}. Is this the address of a Provec?`;
  throw new ServerError({ error, status });
}

/** Returns a description of the first mismatch, with its path; null if there is none. */
function firstMismatch(value: unknown, shape: Shape, path: string): string | null {
  if (typeof shape === 'string') {
    if (shape.startsWith('#')) return firstMismatch(value, SHAPES[shape.slice(1)]!, path);
    return shape.split(' | ').some((type) => isScalar(value, type)) ? null : wrong(value, path);
  }
  if (Array.isArray(shape)) {
    const [first, ...others] = shape;
    if (first === '|') return mismatchWithAll(value, others, path);
    return Array.isArray(value) ? firstItemMismatch(value, first, path) : wrong(value, path);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(value, path);
  for (const [name, member] of membersOf(value, shape)) {
    const found = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const fault = firstMismatch(found, member, path === '' ? name : `${path}.${name}`);
    if (fault !== null) return fault;
  }
  return null;
}

/** Returns the members to check: all of a map; of another object, also the required absent ones. */
function membersOf(value: object, { '*': each, ...members }: ObjectShape): [string, Shape][] {
  if (each !== undefined) return each === 'any' ? [] : Object.keys(value).map((name) => [name, each]);
  return Object.entries(members).flatMap(([marked, member]): [string, Shape][] => {
    const name = marked.replace(/\?$/, '');
    return name === marked || Object.hasOwn(value, name) ? [[name, member]] : [];
  });
}

function firstItemMismatch(items: readonly unknown[], shape: Shape, path: string): string | null {
  for (let at = 0; at < items.length; at++) {
    if (shape === 'number' && typeof items[at] === 'number') continue;
    const fault = firstMismatch(items[at], shape, `${path}[${at}]`);
    if (fault !== null) return fault;
  }
  return null;
}

/** Returns null if any shape fits, else the mismatch with the first shape. */
function mismatchWithAll(value: unknown, shapes: readonly Shape[], path: string): string | null {
  const faults = shapes.map((shape) => firstMismatch(value, shape, path));
  return faults.includes(null) ? null : faults[0]!;
}

function isScalar(value: unknown, type: string): boolean {
  if (type === 'any') return value !== undefined;
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

function wrong(value: unknown, path: string): string {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
  return `${path || 'the answer'} is ${value === undefined ? 'missing' : kind}`;
}
