/** Warnings about requests that are valid but probably a mistake. */
import type { UnusedField, WithAbsentFields } from '../../contracts/actions/collections.ts';
import { printableName } from '../../lib/records/fields.ts';
import type { TextFindings } from './bodies/decoders.ts';
import type { Warned } from './responses/json-pieces.ts';
import type { RouteInput } from './route.ts';

/** Parts of a request that its warnings depend on. */
type WarnedRequest = Pick<RouteInput, 'mayRead'> & { body: TextFindings & { namespace?: string } };

/**
 * Returns a sentence for each field that no record has, and for a rounded integer. Only a key with
 * the scope `read` gets suggestions, because they name fields of records.
 */
export function warningsOf({ absentFields = [] }: WithAbsentFields, { body, mayRead }: WarnedRequest): Warned {
  const { namespace = '', roundedInteger } = body;
  const warnings = absentFields.map((absent) => sentence(absent, namespace, mayRead));
  if (roundedInteger !== undefined) warnings.push(roundingWarning(roundedInteger));
  return warnings.length === 0 ? {} : { warnings };
}

export const roundingWarning = (written: string): string =>
  `Provec reads ${shownNumber(written)} as ${shownDouble(Number(written))}: numbers are IEEE 754 doubles, which ` +
  'hold every integer only up to 2^53. Send it as a string to keep its digits.';

/** Maximum number of characters of a number that a warning shows as a whole. */
const SHOWN_MAX = 40;
const shownNumber = (written: string): string =>
  written.length > SHOWN_MAX ? `${written.slice(0, SHOWN_MAX)}...` : written;

/** All digits of the double: JSON writes zeros for the last ones, so it may be what was sent. */
function shownDouble(integer: number): string {
  const digits = BigInt(integer).toString();
  return digits.length > SHOWN_MAX ? String(integer) : digits;
}

function sentence({ field, meant, isEverywhere }: UnusedField, namespace: string, mayRead: boolean): string {
  const one = namespace === '' ? 'the default namespace' : `the namespace ${printableName(namespace)}`;
  const where = namespace === '' && isEverywhere ? 'No record' : `No record of ${one}`;
  const hint = mayRead && meant !== null ? `; did you mean ${printableName(meant)}?` : '.';
  return `${where} has the field ${printableName(field)}${hint}`;
}

/** Replaces the absent fields in an action's result with warnings for the client. */
export function withWarnings<R extends object>(result: R & WithAbsentFields, input: WarnedRequest): object & Warned {
  const { absentFields, ...rest } = result;
  return { ...rest, ...warningsOf({ absentFields }, input) };
}
