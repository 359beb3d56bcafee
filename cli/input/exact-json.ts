import { parseJson } from '../../client/verify/json-text.ts';

/** Passed by V8 to a reviver, but not yet declared by TypeScript. */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

/** An integer that a double may not hold. */
const LONG_INTEGER = /^-?\d{16,}$/;
const HAS_LONG_INTEGER = /\d{16}/;

/**
 * Parses JSON. The client sends a long integer with all its digits, so that the service can warn if
 * it has to round it. Throws a SyntaxError.
 */
export const exactJson = (text: string): unknown =>
  parseJson(text, (each) => (HAS_LONG_INTEGER.test(each) ? parseWith(each, keepDigits) : JSON.parse(each)));

const parseWith = (text: string, reviver: Reviver): unknown => JSON.parse(text, reviver as never);

const keepDigits: Reviver = (_, value, { source = '' }) =>
  typeof value === 'number' && LONG_INTEGER.test(source) ? rawJSON(source) : value;
