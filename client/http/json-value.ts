/** Maximum nesting depth; deeper than any valid request. */
const LEVELS_MAX = 100;
const NAME = /^[A-Za-z_$][\w$]*$/;

/**
 * Throws a TypeError that names the first value that JSON cannot represent. Allowed are null,
 * booleans, finite numbers, text, arrays, plain objects, and objects whose `toJSON` returns one of
 * them. `JSON.stringify` would drop or change other values, and a filter could lose a condition.
 * `path`: name of the value in errors, '' for a whole body.
 */
export function assertJson(value: unknown, path = ''): void {
  assertValue(value, path, []);
}

/**
 * Throws a TypeError unless the value is a plain object: one with only enumerable fields of its
 * own, so that a spread copies all of it.
 */
export function assertPlain(value: unknown, path: string): asserts value is object {
  if (typeof value !== 'object' || value === null) throw fault(path, `is ${value}; give a plain object.`);
  if (!isPlain(value)) throw fault(path, `has ${kindOf(value)}`);
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === 'symbol') throw fault(path, `has the key ${String(key)}; keys are strings.`);
    const { enumerable, get, set } = Reflect.getOwnPropertyDescriptor(value, key)!;
    if (get !== undefined || set !== undefined) throw fault(memberPath(path, key), 'is a getter. Give its value.');
    if (!enumerable) throw fault(memberPath(path, key), 'is not enumerable, so JSON would leave it out.');
  }
}

/** `holders`: the objects that contain the value, to detect cycles. */
function assertValue(given: unknown, path: string, holders: object[]): void {
  const value = toJsonResult(given, path);
  const scalar = scalarFault(value);
  if (scalar !== null) throw fault(path, scalar);
  if (typeof value !== 'object' || value === null) return;
  if (holders.includes(value)) throw fault(path, 'contains itself; JSON has no such value.');
  if (holders.length === LEVELS_MAX) throw fault(path, `is nested too deeply; ${LEVELS_MAX} levels are the maximum.`);
  holders.push(value);
  if (Array.isArray(value)) assertItems(value, path, holders);
  else {
    assertPlain(value, path);
    for (const [name, member] of Object.entries(value)) assertValue(member, memberPath(path, name), holders);
  }
  holders.pop();
}

function assertItems(items: readonly unknown[], path: string, holders: object[]): void {
  for (let at = 0; at < items.length; at++) {
    // A vector has thousands of numbers, so paths are built only when needed.
    if (!Number.isFinite(items[at]) && typeof items[at] !== 'string') assertValue(items[at], `${path}[${at}]`, holders);
  }
}

/** Whether the object inherits only from `Object.prototype`, of any frame or context. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf');
}

function kindOf(value: object): string {
  const builtIn = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (builtIn === 'Array') return 'the type Array. Give a plain object.';
  if (builtIn !== 'Object') return `the type ${builtIn}; JSON has no such value.`;
  const name = (value.constructor as { name?: unknown } | undefined)?.name;
  const type =
    typeof name === 'string' && name !== '' && name !== 'Object' ? `the type ${name}` : 'a prototype of its own';
  return `${type}. Give a plain object.`;
}

/** Returns the value that `JSON.stringify` writes for an object with `toJSON`, such as a Date. */
function toJsonResult(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null || !('toJSON' in value)) return value;
  if (value instanceof Date && Number.isNaN(value.getTime())) throw fault(path, 'is an invalid Date.');
  return typeof value.toJSON === 'function' ? value.toJSON('') : value;
}

function scalarFault(value: unknown): string | null {
  switch (typeof value) {
    case 'undefined':
      return 'is undefined. Leave it out, or give null.';
    case 'number':
      return Number.isFinite(value) ? null : `is ${value}; numbers are finite.`;
    case 'bigint':
    case 'function':
    case 'symbol':
      return `has the type ${typeof value}; JSON has no such value.`;
    default:
      return null;
  }
}

const fault = (path: string, is: string): TypeError => new TypeError(`${path || 'The body'} ${is}`);

const memberPath = (path: string, name: string): string => {
  if (!NAME.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
};
