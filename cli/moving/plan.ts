import { InputError } from '../../client/cli/json-file.ts';
import { NotFoundError } from '../../client/http/errors.ts';
import type { Api, Provec } from '../../client/index.ts';
import { countedRecords } from '../output/counted.ts';
import type { Session } from '../session.ts';
import { type Issue, issueText } from '../sources/issues.ts';
import type { Metric, Source, SourceDescription } from '../sources/port.ts';
import type { Target } from './record-checker.ts';
import { type Survey, surveyed } from './survey.ts';

/** What the service accepts. It would refuse other names only after the source was read. */
const COLLECTION_NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/;
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
  if (found === null) assertName(options.collection);
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

function assertName(name: string): void {
  if (!COLLECTION_NAME.test(name))
    throw new InputError(
      `${JSON.stringify(name)} cannot be the name of a collection: it needs 1 to 64 of A-Z a-z 0-9 . _ -, a letter or digit first and last. The name in the source may be another one.`,
    );
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

/** Throws an InputError if something would be lost that the user did not allow. */
export function assertAllowed({ refused, survey }: Plan): void {
  if (refused.length === 0) return;
  const named = refused.map(
    (issue) => `${countedRecords(survey?.issues.get(issue)?.records ?? 0)} with ${issueText(issue)}`,
  );
  const options = refused.map((issue) => `--leave-out ${issue}`).join(' ');
  throw new InputError(`Provec does not have, or refuses: ${named.join('; ')}. To leave that out, give ${options}.`);
}
