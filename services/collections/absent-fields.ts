import type { WithAbsentFields } from '../../lib/actions/collections.ts';
import { nearest } from '../../lib/nearest.ts';
import type { FieldReport } from '../../lib/shard/field-report.ts';

/**
 * Joins what all shards report. If they hold no records at all, it reports no fields, because the
 * filter is not what is wrong.
 */
export function absentIn(reports: Iterable<FieldReport | undefined>): WithAbsentFields {
  let joined: Map<string, string[]> | null = null;
  for (const report of reports) {
    if (report === undefined) return {};
    if (report.records === 0) continue;
    const own = new Map(report.absent.map(({ field, meant }) => [field, meant === null ? [] : [meant]]));
    joined = joined === null ? own : inBoth(joined, own);
  }
  if (joined === null || joined.size === 0) return {};
  return { absentFields: [...joined].map(([field, meant]) => ({ field, meant: nearest(field, meant) })) };
}

/** Fields with what each shard suggests for them. */
function inBoth(fields: Map<string, string[]>, others: Map<string, string[]>): Map<string, string[]> {
  const shared = [...fields].filter(([field]) => others.has(field));
  return new Map(shared.map(([field, meant]) => [field, [...meant, ...others.get(field)!]]));
}
