import { InputError } from '../../client/cli/json-file.ts';
import { NotFoundError } from '../../client/http/errors.ts';
import type { Api, Provec } from '../../client/index.ts';
import { countedRecords } from '../output/counted.ts';
import { fieldLines, tableLines } from '../output/table.ts';
import type { Session } from '../session.ts';
import { type Issue, issueText, losesRecord } from '../sources/issues.ts';
import type { Metric, Source, SourceDescription } from '../sources/port.ts';
import type { Target } from './record-checker.ts';
import { type Survey, surveyed } from './survey.ts';

const DIMENSIONS_MAX = 8_192;
/** Numbers in a page, which bounds its size, and the most records that one upsert takes. */
const PAGE_NUMBERS = 200_000;
const PAGE_RECORDS_MAX = 1_000;

export interface PlanOptions {
  collection: string;
  metric?: Metric;
  namespace: string;
  leaveOut: readonly Issue[];
  /** Infinity for all records. */
  limit: number;
  page?: number;
  /** Whether to read the source before the start. */
  survey: boolean;
}

/** What an import is going to do. */
export interface Plan {
  description: SourceDescription;
  target: Target;
  /** The collection; null if it is to be created. */
  found: Api.CollectionDetail | null;
  pageRecords: number;
  /** Null without a survey. */
  survey: Survey | null;
  /** Issues that the user did not allow to leave out. */
  refused: readonly Issue[];
}

/** Looks at the source and the collection, and makes a plan. `isResumed`: without a survey. */
export async function planned(
  session: Session,
  client: Provec,
  source: Source,
  options: PlanOptions,
  isResumed: boolean,
): Promise<Plan> {
  const [description, found] = await Promise.all([
    source.describe(),
    describedOrNull(session, client, options.collection),
  ]);
  const dimensions = found?.dimensions ?? description.dimensions ?? (await firstLength(source));
  if (dimensions < 1 || dimensions > DIMENSIONS_MAX)
    throw new InputError(`The vectors have ${dimensions} numbers; Provec stores 1 to ${DIMENSIONS_MAX}.`);
  if (description.dimensions !== null && description.dimensions !== dimensions)
    throw new InputError(
      `The collection ${options.collection} has ${dimensions} dimensions, and the source ${description.dimensions}.`,
    );
  const target: Target = { dimensions, metric: metricOf(description, found, options), namespace: options.namespace };
  const pageRecords = options.page ?? Math.max(1, Math.min(PAGE_RECORDS_MAX, Math.floor(PAGE_NUMBERS / dimensions)));
  const { count } = description;
  const isSurveyed = options.survey && !isResumed;
  const survey = isSurveyed ? await surveyed(source, target, { limit: options.limit, pageRecords, count }) : null;
  const refused = [...(survey?.issues.keys() ?? [])].filter((issue) => !options.leaveOut.includes(issue));
  return { description, target, found, pageRecords, survey, refused };
}

function metricOf(
  description: SourceDescription,
  found: Api.CollectionDetail | null,
  { metric, collection }: PlanOptions,
): Metric {
  const wanted = metric ?? description.metric?.here ?? undefined;
  if (found === null && wanted === undefined && description.metric !== null)
    throw new InputError(
      `The source compares by ${description.metric.there}, which Provec does not have. To use another metric, give --metric.`,
    );
  if (found === null) return wanted ?? 'cosine';
  if (wanted === undefined || wanted === found.metric) return found.metric;
  throw new InputError(
    `The collection ${collection} compares by ${found.metric}, and the source by ${wanted}. To accept that, give --metric ${found.metric}.`,
  );
}

async function describedOrNull(
  { request }: Session,
  client: Provec,
  name: string,
): Promise<Api.CollectionDetail | null> {
  try {
    return await client.collection(name).describe(request);
  } catch (error) {
    if (error instanceof NotFoundError && error.code === 'COLLECTION_NOT_FOUND') return null;
    throw error;
  }
}

/** Returns the length of the first vector, for a source that does not say. */
async function firstLength(source: Source): Promise<number> {
  for await (const { records } of source.pages({ position: null, pageRecords: 10 })) {
    const found = records.find(({ values }) => values !== null);
    if (found?.values != null) return found.values.length;
  }
  throw new InputError('The source has no vectors, and the collection does not exist.');
}

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

/** Throws an InputError if something would be lost that the user did not allow. */
export function assertAllowed({ refused, survey }: Plan): void {
  if (refused.length === 0) return;
  const named = refused.map(
    (issue) => `${countedRecords(survey?.issues.get(issue)?.records ?? 0)} with ${issueText(issue)}`,
  );
  const options = refused.map((issue) => `--leave-out ${issue}`).join(' ');
  throw new InputError(`Provec does not have, or refuses: ${named.join('; ')}. To leave that out, give ${options}.`);
}
