import { parseJson } from '../../client/verify/json-text.ts';

/** Passed by V8 to a reviver, but not yet declared by TypeScript. */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

const INTEGER = /^-?\d+$/;
/** Finds integers of 16 digits or more. Vectors have many such fractions, so these do not match. */
const HAS_LONG_INTEGER = /[:,[]\s*-?\d{16,}\s*[,}\]]/;

/**
 * Parses a source's JSON. An integer that a double cannot represent becomes a bigint, so that it is
 * not rounded silently. Throws a SyntaxError.
 */
export const parseSourceJson = (text: string): unknown =>
  parseJson(text, (each) => (HAS_LONG_INTEGER.test(each) ? JSON.parse(each, keepInteger as never) : JSON.parse(each)));

const keepInteger: Reviver = (_, value, { source = '' }) =>
  typeof value === 'number' && INTEGER.test(source) && !Number.isSafeInteger(value) ? BigInt(source) : value;
