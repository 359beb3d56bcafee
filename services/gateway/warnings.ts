/** Warnings of an answer: what the request says is allowed, but hardly meant. */
import type { WithAbsentFields } from '../../lib/actions/collections.ts';
import { shownName } from '../../lib/records/fields.ts';
import type { AbsentField } from '../../lib/shard/field-report.ts';
import type { Warned } from './responses/splice.ts';
import type { RouteInput } from './route.ts';

/**
 * A sentence for each field that no record has. Only a key that may read learns the name of another
 * field, the one that may be meant.
 */
export function warningsOf(
  { absentFields = [] }: WithAbsentFields,
  { body, mayRead }: Pick<RouteInput, 'mayRead'> & { body: { namespace?: string } },
): Warned {
  if (absentFields.length === 0) return {};
  return { warnings: absentFields.map((absent) => sentence(absent, body.namespace ?? '', mayRead)) };
}

function sentence({ field, meant }: AbsentField, namespace: string, mayRead: boolean): string {
  const where = namespace === '' ? 'No record' : `No record of the namespace ${shownName(namespace)}`;
  const hint = mayRead && meant !== null ? `; did you mean ${shownName(meant)}?` : '.';
  return `${where} has the field ${shownName(field)}${hint}`;
}

/** What an action gave, with its warnings as clients get them. */
export function withWarnings<R extends WithAbsentFields>(
  result: R,
  input: Parameters<typeof warningsOf>[1],
): Omit<R, 'absentFields'> & Warned {
  const { absentFields, ...rest } = result;
  return { ...rest, ...warningsOf({ absentFields }, input) };
}
