import type { FieldValue, SampleRecord } from './sample-record.ts';

/** A group of records with one value, in one colour and shape. */
interface Group {
  /** Null for the records with any other value, and for those without one. */
  value: { is: FieldValue } | null;
  kind: 'value' | 'other' | 'missing';
  count: number;
}

/** How the points of a map are coloured. */
export type Colouring =
  | { kind: 'plain' }
  | { kind: 'groups'; field: string; groups: readonly Group[]; groupOf: Uint8Array }
  /** `shareOf`: place between the least and the most; NaN without a number. */
  | { kind: 'numbers'; field: string; least: number; most: number; shareOf: Float32Array; missing: number };

/** Values with a colour of their own; the others share one. */
const GROUPS_MAX = 7;
/** A field with more numbers than this is shown as a gradient. */
const NUMBERS_AS_GROUPS_MAX = 6;
/** A field with more values than this says too little to begin with. */
const FIRST_VALUES_MAX = 64;

/** Returns the fields that the records have, in the order of their names, with their values. */
export function fieldsOf(records: readonly SampleRecord[]): Map<string, Map<FieldValue, number>> {
  const fields = new Map<string, Map<FieldValue, number>>();
  for (const record of records)
    for (const [name, value] of record.fields) {
      const values = fields.get(name) ?? new Map<FieldValue, number>();
      values.set(value, (values.get(value) ?? 0) + 1);
      fields.set(name, values);
    }
  return new Map([...fields].sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Returns the field to begin with: the texts with the fewest values, from 3 on; '' for none. */
export function firstField(fields: ReadonlyMap<string, ReadonlyMap<FieldValue, number>>): string {
  const few = [...fields].filter(
    ([, values]) => values.size >= 2 && values.size <= FIRST_VALUES_MAX && !isNumeric(values),
  );
  few.sort(([, left], [, right]) => rankOf(left.size) - rankOf(right.size));
  return few[0]?.[0] ?? '';
}

/** Two values say less than three. */
const rankOf = (size: number): number => (size === 2 ? FIRST_VALUES_MAX + 1 : size);

const isNumeric = (values: ReadonlyMap<FieldValue, number>): boolean =>
  [...values.keys()].every((value) => typeof value === 'number');

/** Returns how a field colours the records; '' for one colour. */
export function colouringBy(field: string, records: readonly SampleRecord[]): Colouring {
  if (field === '') return { kind: 'plain' };
  const values = fieldsOf(records).get(field) ?? new Map<FieldValue, number>();
  return isNumeric(values) && values.size > NUMBERS_AS_GROUPS_MAX
    ? byNumber(field, [...values.keys()] as number[], records)
    : byGroup(field, values, records);
}

function byNumber(field: string, values: readonly number[], records: readonly SampleRecord[]): Colouring {
  const least = values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
  const most = values.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY);
  const shareOf = Float32Array.from(records, ({ fields }) => {
    const value = fields.get(field);
    // Halves first: the difference of two numbers may exceed the largest one.
    return typeof value === 'number' ? (value / 2 - least / 2) / (most / 2 - least / 2) : Number.NaN;
  });
  const missing = shareOf.reduce((count, share) => count + (Number.isNaN(share) ? 1 : 0), 0);
  return { kind: 'numbers', field, least, most, shareOf, missing };
}

function byGroup(field: string, values: ReadonlyMap<FieldValue, number>, records: readonly SampleRecord[]): Colouring {
  const sorted = [...values].sort(([, left], [, right]) => right - left);
  const own = sorted.slice(0, GROUPS_MAX);
  const others = sorted.slice(own.length);
  const groups: Group[] = own.map(([is, count]) => ({ value: { is }, kind: 'value', count }));
  const present = sorted.reduce((sum, [, count]) => sum + count, 0);
  const numberOf = new Map(own.map(([value], at) => [value, at]));
  const other = groups.length;
  if (others.length > 0)
    groups.push({ value: null, kind: 'other', count: others.reduce((sum, [, count]) => sum + count, 0) });
  const missing = groups.length;
  if (present < records.length) groups.push({ value: null, kind: 'missing', count: records.length - present });
  const groupOf = Uint8Array.from(records, ({ fields }) =>
    fields.has(field) ? (numberOf.get(fields.get(field)!) ?? other) : missing,
  );
  return { kind: 'groups', field, groups, groupOf };
}
