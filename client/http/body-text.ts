import { assertJson, assertPlain } from './json-value.ts';

/** Fields that hold a vector, and fields whose items hold one. */
const VECTORS = ['values', 'vector'];
const HOLDERS = ['records', 'updates', 'queries'];

/**
 * Returns the JSON of a request. Typed arrays become lists, since `JSON.stringify` would write them
 * as objects. Throws a TypeError that names the place of a value that JSON cannot represent.
 */
export function bodyText(body: object): string {
  assertPlain(body, '');
  const whole: Record<string, unknown> = { ...withLists(body, '') };
  for (const name of HOLDERS) {
    const parts = whole[name];
    if (Array.isArray(parts)) whole[name] = parts.map((part, at) => withLists(part, `${name}[${at}]`));
  }
  assertJson(whole);
  return JSON.stringify(whole);
}

/** Returns the JSON of an imported record. `at`: its index in the source, for errors. */
export const recordText = (record: object, at: number): string => JSON.stringify(assertRecord(record, at));

/** Returns the record with its vector as a list. Throws the errors of `bodyText`. */
export function assertRecord(record: object, at: number): object {
  const path = `records[${at}]`;
  const whole = withLists(record, path);
  assertJson(whole, path);
  return whole;
}

/** Returns the part with its vector as a list. */
function withLists(part: object, path: string): object {
  for (const name of VECTORS) {
    const vector = (part as Record<string, unknown> | null)?.[name];
    if (!ArrayBuffer.isView(vector) || vector instanceof DataView) continue;
    assertPlain(part, path);
    return { ...part, [name]: Array.from(vector as Float32Array) };
  }
  return part;
}
