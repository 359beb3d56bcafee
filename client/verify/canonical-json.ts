const LEVELS_MAX = 64;

/**
 * Canonical JSON (RFC 8785): no whitespace, object keys in order of their UTF-16 code units,
 * numbers as ECMAScript prints them. Throws TypeError for values that JSON cannot represent
 * (undefined, NaN, infinities, bigints, functions, lone surrogates, class instances) and RangeError
 * for more than 64 levels.
 */
export function canonicalJson(value: unknown, level = 0): string {
  if (level > LEVELS_MAX) throw new RangeError(`JSON nests deeper than ${LEVELS_MAX} levels`);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return canonicalString(value);
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item: unknown) => canonicalJson(item, level + 1)).join(',')}]`;
  }
  if (isPlainObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((key) => `${canonicalString(key)}:${canonicalJson(value[key], level + 1)}`);
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`JSON cannot represent the ${typeof value} ${String(value)}`);
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('JSON text must be well-formed Unicode');
  return JSON.stringify(text);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
