import { countedRecords } from '../output/counted.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import { type Issue, issueText, losesRecord } from '../sources/issues.ts';
import type { Plan, PlanOptions } from './plan.ts';
import type { Survey } from './survey.ts';

/** Returns what `--json` prints of a plan. */
export function planDocument(
  { description, target, found, survey, refused }: Plan,
  { collection, leaveOut, limit }: PlanOptions,
): object {
  const { identity, count, metric, mapping } = description;
  const issues = [...(survey?.issues ?? [])].map(([issue, { records, examples }]) => ({
    issue,
    records,
    loses: losesRecord(issue) ? 'record' : 'part',
    isLeftOut: leaveOut.includes(issue),
    examples,
  }));
  return {
    source: { ...identity, count, metric: metric?.there ?? null },
    target: { collection, exists: found !== null, recordsBefore: found?.vector_count ?? 0, ...target },
    limit: limit === Number.POSITIVE_INFINITY ? null : limit,
    mapping,
    survey: survey && { read: survey.read, movable: survey.movable, objectsInLists: survey.objectsInLists, issues },
    refused,
  };
}

/** Returns the lines of a plan for people. */
export function planLines(plan: Plan, { collection, leaveOut, limit, namespace }: PlanOptions): string[] {
  const { description, target, found, survey } = plan;
  const { identity, count, metric, mapping } = description;
  const state = found === null ? 'to be created' : `exists with ${countedRecords(found.vector_count)}`;
  return [
    ...fieldLines({
      from: Object.entries(identity)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
      to: `collection ${collection} (${state})`,
      records: count === null ? 'not counted by the source' : count.toLocaleString('en'),
      limit: limit === Number.POSITIVE_INFINITY ? undefined : limit.toLocaleString('en'),
      dimensions: target.dimensions,
      metric: metric === null ? target.metric : `${metric.there} there, ${target.metric} here`,
      namespace: namespace === '' ? undefined : `${namespace}, unless the source names one`,
    }),
    '',
    ...tableLines(
      ['there', 'here'],
      mapping.map(({ there, here }) => [there, here]),
    ),
    '',
    ...(survey === null ? ['not surveyed'] : surveyLines(survey, leaveOut)),
  ];
}

function surveyLines({ read, movable, issues, objectsInLists }: Survey, leaveOut: readonly Issue[]): string[] {
  const rows = [...issues].map(([issue, { records, examples }]) => [
    issue,
    records.toLocaleString('en'),
    issueText(issue),
    losesRecord(issue) ? 'the record' : 'that part',
    leaveOut.includes(issue) ? 'left out' : 'refused',
    examples.join(', '),
  ]);
  return [
    `read ${countedRecords(read)}: ${countedRecords(movable)} can be moved`,
    ...(objectsInLists > 0
      ? [
          `${countedRecords(objectsInLists)} with objects in lists: stored as they are, but no filter finds what is in them`,
        ]
      : []),
    ...(rows.length > 0
      ? tableLines(['--leave-out', 'records', 'with', 'loses', 'here', 'such as'], rows)
      : ['nothing is left out']),
  ];
}
