/**
 * Validators for stored documents. MongoDB accepts any value in any field, so documents without a
 * seal are checked against the form in which Provec writes them.
 */
import { damagedDocument } from './store-failure.ts';

export type Form = (value: unknown) => boolean;

export const text: Form = (value) => typeof value === 'string';
export const flag: Form = (value) => typeof value === 'boolean';
/** An integer. Servers round integers past 2^53. */
export const whole: Form = (value) => typeof value === 'number' && Number.isInteger(value);
/** A non-negative safe integer. */
export const count: Form = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
export const number: Form = (value) => typeof value === 'number';

export const optional =
  (form: Form): Form =>
  (value) =>
    value === undefined || form(value);
export const nullable =
  (form: Form): Form =>
  (value) =>
    value === null || form(value);
export const listOf =
  (form: Form): Form =>
  (value) =>
    Array.isArray(value) && value.every(form);

/** An object whose named fields have these forms; other fields are ignored. */
export const fields =
  (forms: Record<string, Form>): Form =>
  (value) =>
    isObject(value) && Object.entries(forms).every(([name, form]) => form(value[name]));

export const mapOf =
  (form: Form): Form =>
  (value) =>
    isObject(value) && Object.values(value).every(form);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('_bsontype' in value);
}

/**
 * Returns the value. Throws StoreError 'damaged' if it does not have the form; `what` names it in
 * the message.
 */
export function validated<T>(value: T, form: Form, what: string): T {
  if (!form(value)) throw damagedDocument(what);
  return value;
}

/** Returns the row of an untrusted document; an empty object if it is malformed. */
export function rowIn<Row extends object>({ row }: { row?: Row }): Row {
  return isObject(row) ? row : ({} as Row);
}
