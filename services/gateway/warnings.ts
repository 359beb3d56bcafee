/** Warnings of an answer: what the request says is allowed, but hardly meant. */
import type { WithAbsentFields } from '../../lib/actions/collections.ts';
import { shownName } from '../../lib/records/fields.ts';
import type { AbsentField } from '../../lib/shard/field-report.ts';
import type { FromText } from './bodies/decoders.ts';
import type { Warned } from './responses/splice.ts';
import type { RouteInput } from './route.ts';

/** What a request says, and whose it is. */
type Asked = Pick<RouteInput, 'mayRead'> & { body: FromText & { namespace?: string } };

/**
 * A sentence for each field that no record has, and for an integer that was rounded. Only a key
 * that may read learns the name of another field, the one that may be meant.
 */
export function warningsOf({ absentFields = [] }: WithAbsentFields, { body, mayRead }: Asked): Warned {
  const { namespace = '', roundedInteger } = body;
  const warnings = absentFields.map((absent) => sentence(absent, namespace, mayRead));
  if (roundedInteger !== undefined) warnings.push(roundingOf(roundedInteger));
  return warnings.length === 0 ? {} : { warnings };
}

export const roundingOf = (written: string): string =>
  `Provec reads ${shownNumber(written)} as ${JSON.stringify(Number(written))}: numbers are IEEE 754 doubles, which ` +
  'hold every integer only up to 2^53. Send it as a string to keep its digits.';

const shownNumber = (written: string): string => (written.length > 40 ? `${written.slice(0, 40)}...` : written);

function sentence({ field, meant }: AbsentField, namespace: string, mayRead: boolean): string {
  const where = namespace === '' ? 'No record' : `No record of the namespace ${shownName(namespace)}`;
  const hint = mayRead && meant !== null ? `; did you mean ${shownName(meant)}?` : '.';
  return `${where} has the field ${shownName(field)}${hint}`;
}

/** What an action gave, with its warnings as clients get them. */
export function withWarnings<R extends object>(result: R & WithAbsentFields, input: Asked): object & Warned {
  const { absentFields, ...rest } = result;
  return { ...rest, ...warningsOf({ absentFields }, input) };
}
