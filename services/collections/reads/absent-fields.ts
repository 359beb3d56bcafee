import type { WithAbsentFields } from '../../../contracts/actions/collections.ts';
import { nearest } from '../../../lib/nearest.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';

/**
 * Merges the reports of all shards. Returns no fields if the shards searched no records, since then
 * the filter is not the mistake.
 */
export function mergeFieldReports(reports: Iterable<FieldReport | undefined>): WithAbsentFields {
  let joined: Map<string, string[]> | null = null;
  let isEverywhere = true;
  for (const report of reports) {
    if (report === undefined) return {};
    isEverywhere &&= report.isWhole === true;
    if (report.records === 0) continue;
    const own = new Map(report.absent.map(({ field, meant }) => [field, meant === null ? [] : [meant]]));
    joined = joined === null ? own : intersectFields(joined, own);
  }
  if (joined === null || joined.size === 0) return {};
  return { absentFields: [...joined].map(([field, meant]) => ({ field, meant: nearest(field, meant), isEverywhere })) };
}

/** Intersects the fields, and joins the suggestions of both sides. */
function intersectFields(fields: Map<string, string[]>, others: Map<string, string[]>): Map<string, string[]> {
  const shared = [...fields].flatMap(([field, meant]): [string, string[]][] => {
    const other = others.get(field);
    return other === undefined ? [] : [[field, [...meant, ...other]]];
  });
  return new Map(shared);
}
