import type { FieldValue, SampleRecord } from './sample-record.ts';

/** Values of a filter in an address; more numbers than this become a range. */
export const VALUES_MAX = 50;

/** Returns a filter for the values of some records; null if they have none, or too many. */
export function filterFor(field: string, records: readonly SampleRecord[]): Record<string, unknown> | null {
  // At the top of a filter, `$` begins an operator.
  if (field === '' || field.startsWith('$')) return null;
  const values = new Set<FieldValue>();
  for (const { fields } of records) if (fields.has(field)) values.add(fields.get(field)!);
  const numbers = [...values].filter((value) => typeof value === 'number');
  if (values.size > VALUES_MAX && numbers.length === values.size) {
    const $gte = numbers.reduce((low, value) => Math.min(low, value));
    return { [field]: { $gte, $lte: numbers.reduce((high, value) => Math.max(high, value)) } };
  }
  if (values.size === 0 || values.size > VALUES_MAX) return null;
  return { [field]: values.size === 1 ? [...values][0]! : { $in: [...values] } };
}
