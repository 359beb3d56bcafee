/** Maximum depth: more than any request has. A value that contains itself exceeds it. */
const DEPTH_MAX = 500;
const NAME = /^[A-Za-z_$][\w$]*$/;

/**
 * Throws a TypeError that names the first value that JSON cannot represent. `JSON.stringify` would
 * leave it out or write something else, so a filter would lose a condition.
 * `path` names the value itself, '' for a whole body.
 */
export function assertJson(value: unknown, path = '', depth = 0): void {
  const fault = scalarFault(value);
  if (fault !== null) throw new TypeError(`${path || 'The body'} ${fault}`);
  if (typeof value !== 'object' || value === null) return;
  if (depth > DEPTH_MAX) throw new TypeError(`${path} is nested too deeply, or contains itself.`);
  if (Array.isArray(value)) assertItems(value, path, depth);
  else if ('toJSON' in value && typeof value.toJSON === 'function') assertJson(written(value, path), path, depth + 1);
  else assertMembers(value, path, depth);
}

function assertItems(items: readonly unknown[], path: string, depth: number): void {
  for (let at = 0; at < items.length; at++) {
    // A vector has thousands of numbers, so paths are built only when needed.
    if (!Number.isFinite(items[at]) && typeof items[at] !== 'string')
      assertJson(items[at], `${path}[${at}]`, depth + 1);
  }
}

function assertMembers(value: object, path: string, depth: number): void {
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (kind !== 'Object') throw new TypeError(`${path || 'The body'} has the type ${kind}; JSON has no such value.`);
  const symbol = Object.getOwnPropertySymbols(value).find((key) =>
    Object.prototype.propertyIsEnumerable.call(value, key),
  );
  if (symbol !== undefined)
    throw new TypeError(`${path || 'The body'} has the key ${String(symbol)}; keys are strings.`);
  for (const [name, member] of Object.entries(value)) assertJson(member, memberPath(path, name), depth + 1);
}

/** Value that `JSON.stringify` writes for an object with `toJSON`, such as a Date. */
function written(value: object, path: string): unknown {
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError(`${path} is an invalid Date.`);
  return (value as { toJSON(key: string): unknown }).toJSON('');
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

const memberPath = (path: string, name: string): string => {
  if (!NAME.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
};
