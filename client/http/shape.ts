/** Checks that answers have the shape that the OpenAPI document defines. */
import type { Shape } from '../api/answer-shape.ts';
import { ANSWERS, SHAPES } from '../api/shapes.ts';
import { ServerError } from './errors.ts';

/** Throws a ServerError if the value is not a valid answer, or line of an answer. */
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
    return isScalar(value, shape) ? null : wrong(value, path);
  }
  if ('oneOf' in shape) return mismatchWithAll(value, shape.oneOf, path);
  if ('list' in shape) return Array.isArray(value) ? firstItemMismatch(value, shape.list, path) : wrong(value, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(value, path);
  if ('map' in shape)
    return shape.map === 'any' ? null : firstMemberMismatch(value, Object.keys(value), () => shape.map, path);
  return (
    firstMemberMismatch(value, Object.keys(shape.has), (name) => shape.has[name]!, path) ??
    firstMemberMismatch(
      value,
      Object.keys(shape.may).filter((name) => Object.hasOwn(value, name)),
      (name) => shape.may[name]!,
      path,
    )
  );
}

function firstItemMismatch(items: readonly unknown[], shape: Shape, path: string): string | null {
  for (let at = 0; at < items.length; at++) {
    if (shape === 'number' && typeof items[at] === 'number') continue;
    const fault = firstMismatch(items[at], shape, `${path}[${at}]`);
    if (fault !== null) return fault;
  }
  return null;
}

function firstMemberMismatch(
  value: object,
  names: string[],
  shapeOf: (name: string) => Shape,
  path: string,
): string | null {
  for (const name of names) {
    const member = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const fault = firstMismatch(member, shapeOf(name), path === '' ? name : `${path}.${name}`);
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
