/**
 * Compares counts, lists, facets, updates and deletes by filter of 100,000 random records with a
 * literal implementation of docs/filters.md. PROVEC_TEST_FILTERS sets the number of filters.
 */
import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { naiveFacets, naiveMatches } from '../support/naive-filter.ts';
import { fieldName, filter, metadata } from '../support/random-filters.ts';
import { seed } from '../support/seed.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

type Json = Record<string, unknown>;

const RECORDS = 100_000;
const BATCH = 1_000;
const FILTERS = Number(process.env.PROVEC_TEST_FILTERS ?? 200);
/** Every n-th filter changes or deletes its matches. */
const CHANGE_EVERY = 5;

let service: SharedService;
/** Records by id, in the order of ids. */
let records: Map<string, Json>;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'random', dimensions: 1, metric: 'dot', shards: 4 });
  const sampled = fc.sample(metadata, { numRuns: RECORDS, seed });
  records = new Map(sampled.map((each, at) => [String(at).padStart(6, '0'), sendable(each)]));
  const all = [...records];
  for (let from = 0; from < RECORDS; from += BATCH) {
    const batch = all.slice(from, from + BATCH).map(([id, each]) => ({ id, values: [1], metadata: each }));
    expect((await post('upsert', { records: batch })).vectorCount).toBe(from + BATCH);
  }
}, 300_000);

/** The value after a round trip through JSON, without the one name that bodies may not contain. */
const sendable = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto')) as Json;

interface Answers {
  count: number;
  vectorCount: number;
  deletedCount: number;
  matchedCount: number;
  records: { id: string; metadata: Json }[];
  nextCursor?: string;
  values: { value: unknown; count: number }[];
  missing: number;
}

async function post(operation: string, body: object): Promise<Answers> {
  const { status, body: answer } = await service.api<Answers>('POST', `/collections/random/${operation}`, body);
  expect([operation, status, status === 200 ? null : answer]).toEqual([operation, 200, null]);
  return answer;
}

async function listed(given: Json): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await post('list', { filter: given, limit: 1_000, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.records.map(({ id }) => id));
    cursor = page.nextCursor;
    if (cursor === undefined) return ids;
  }
}

/** Expects the most frequent values first; ties may be in any order. */
function expectFacets({ values, missing }: Answers, field: string, all: Json[], limit: number): void {
  const naive = naiveFacets(field, all);
  expect([field, missing]).toEqual([field, naive.missing]);
  const most = [...naive.counts.values()].sort((a, b) => b - a).slice(0, limit);
  expect([field, values.map(({ count }) => count)]).toEqual([field, most]);
  for (const { value, count } of values) expect([value, count]).toEqual([value, naive.counts.get(value)]);
}

async function update(given: Json, ids: string[], at: number): Promise<void> {
  const counts = { matchedCount: ids.length, updatedCount: ids.length };
  expect(await post('update', { filter: given, setMetadata: { changedBy: at } })).toMatchObject(counts);
  for (const id of ids) records.set(id, { ...records.get(id), changedBy: at });
  expect((await post('count', { filter: { changedBy: at } })).count).toBe(ids.length);
}

async function remove(given: Json, ids: string[]): Promise<void> {
  expect((await post('delete', { filter: given })).deletedCount).toBe(ids.length);
  for (const id of ids) records.delete(id);
  expect((await post('count', {})).count).toBe(records.size);
}

test(`${FILTERS} random filters select the right ones of ${RECORDS} random records`, async () => {
  const filters = fc.sample(filter, { numRuns: FILTERS, seed }).map(sendable);
  const fields = fc.sample(
    fieldName.filter((name) => name !== ''),
    { numRuns: FILTERS, seed },
  );
  for (const [at, given] of filters.entries()) {
    const matching = [...records].filter(([, each]) => naiveMatches(given, each));
    const ids = matching.map(([id]) => id);
    expect([given, (await post('count', { filter: given })).count]).toEqual([given, ids.length]);
    expect([given, await listed(given)]).toEqual([given, ids]);
    const asked = { field: fields[at], filter: given, limit: 20 };
    expectFacets(
      await post('facets', asked),
      fields[at],
      matching.map(([, each]) => each),
      asked.limit,
    );
    if (Object.keys(given).length === 0) continue;
    expect((await post('delete', { filter: given, dryRun: true })).deletedCount).toBe(ids.length);
    if (at % CHANGE_EVERY > 0 || ids.length > RECORDS / 3) continue;
    if (at % (2 * CHANGE_EVERY) > 0) await update(given, ids, at);
    else await remove(given, ids);
  }
}, 1_200_000);
