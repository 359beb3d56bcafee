import type * as Api from '../../../../../../../client/api/generated.ts';
import { ask } from '../../../data/service.ts';
import { fieldsIn, type SampleRecord } from './sample-record.ts';

/** Some records of a namespace with their vectors, in the order of their ids. */
export interface Sample {
  records: readonly SampleRecord[];
  /** The vectors one after another. */
  values: Float32Array;
  /** Number of records that the sample was taken from. */
  total: number;
}

/** What to sample. */
export interface SampleWish {
  namespace: string;
  filter: Api.Filter | undefined;
}

const RECORDS_MAX = 5_000;
/** Numbers of all vectors of a sample: 32 MB. */
const NUMBERS_MAX = 8_000_000;
/** Numbers of the vectors on a page, which keeps the work on each short. */
const PAGE_NUMBERS = 100_000;
const PAGE_MAX = 1_000;

/** Returns how many records a sample of vectors with so many dimensions has at most. */
const sampleMax = (dimensions: number): number =>
  Math.min(RECORDS_MAX, Math.max(1, Math.floor(NUMBERS_MAX / dimensions)));

/** Reads a sample page by page; each page has the deadline of a request. Rejects as `ask` does. */
export async function readSample(
  { name, dimensions }: Pick<Api.CollectionDetail, 'name' | 'dimensions'>,
  { namespace, filter }: SampleWish,
  report: (done: number, wanted: number) => void,
  signal: AbortSignal,
): Promise<Sample> {
  const which = { ...(namespace !== '' && { namespace }), ...(filter !== undefined && { filter }) };
  const { count: total } = await ask('countRecords', { path: { name }, body: which }, signal);
  const wanted = Math.min(total, sampleMax(dimensions));
  const values = new Float32Array(wanted * dimensions);
  const records: SampleRecord[] = [];
  const pageMax = Math.min(PAGE_MAX, Math.max(1, Math.floor(PAGE_NUMBERS / dimensions)));
  for (let cursor: string | undefined; records.length < wanted; ) {
    report(records.length, wanted);
    const limit = Math.min(pageMax, wanted - records.length);
    const body = {
      ...which,
      limit,
      includeValues: true,
      includeMetadata: true,
      ...(cursor !== undefined && { cursor }),
    };
    const page = await ask('listRecords', { path: { name }, body }, signal);
    for (const { id, values: vector = [], metadata = {} } of page.records) {
      values.set(vector.slice(0, dimensions), records.length * dimensions);
      records.push({ id, fields: fieldsIn(metadata) });
    }
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  // Records may have been deleted meanwhile.
  return { records, values: values.subarray(0, records.length * dimensions), total: Math.max(total, records.length) };
}
