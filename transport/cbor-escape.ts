import { addExtension } from 'cbor-x';

/** From IANA's first-come-first-served CBOR tags. Used between nodes of this service only. */
const ESCAPED_TAG = 40_961;

/**
 * Replaces a value that cbor-x would change: a string with a lone surrogate (as JSON text), an
 * object with such a key or the key `__proto__` (as its entries), and -0 (as 0).
 */
class Escaped {
  readonly form: string | 0 | [key: unknown, value: unknown][];

  constructor(form: Escaped['form']) {
    this.form = form;
  }
}

addExtension<Escaped, Escaped['form']>({
  Class: Escaped,
  tag: ESCAPED_TAG,
  encode: ({ form }, encode) => encode(form),
  decode: (form) => unescaped(form) as Escaped,
});

/** Replaces everything in a value that CBOR would change. Copies only what it changes. */
export function escapeForCbor(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : new Escaped(JSON.stringify(value));
  if (typeof value === 'number') return Object.is(value, -0) ? new Escaped(0) : value;
  if (Array.isArray(value)) return escapeList(value);
  if (isPlainObject(value)) return escapeObject(value);
  return value;
}

function escapeList(list: unknown[]): unknown[] {
  let copy: unknown[] | null = null;
  for (let i = 0; i < list.length; i++) {
    const escaped = escapeForCbor(list[i]);
    if (escaped === list[i]) continue;
    copy ??= [...list];
    copy[i] = escaped;
  }
  return copy ?? list;
}

function escapeObject(object: Record<string, unknown>): unknown {
  const names = Object.keys(object);
  if (names.some((name) => name === '__proto__' || !name.isWellFormed()))
    return new Escaped(names.map((name) => [escapeForCbor(name), escapeForCbor(object[name])]));
  let copy: Record<string, unknown> | null = null;
  for (const name of names) {
    const escaped = escapeForCbor(object[name]);
    if (escaped === object[name]) continue;
    copy ??= { ...object };
    copy[name] = escaped;
  }
  return copy ?? object;
}

function unescaped(form: Escaped['form']): unknown {
  if (form === 0) return -0;
  if (typeof form === 'string') return JSON.parse(form);
  const object: Record<string, unknown> = {};
  for (const [name, value] of form) {
    Object.defineProperty(object, name as string, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
