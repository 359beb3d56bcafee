/**
 * Warnings about fields that no record has. Without them a misspelt name would look like a valid
 * condition.
 */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

interface Warned {
  warnings?: string[];
  results?: Warned[];
}

let service: SharedService;
let path = '';
let made = 0;
beforeAll(async () => {
  service = await shareService();
});

const post = async (operation: string, body: object, api = service.api) => {
  const answer = await api<Warned>('POST', `${path}/${operation}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
};
const put = (records: Record<string, object>, namespace = '') =>
  post('upsert', {
    records: Object.entries(records).map(([id, metadata]) => ({ id, values: [1], metadata })),
    namespace,
  });
async function create(shards: number) {
  path = `/collections/warned-${made++}`;
  const { status } = await service.api('POST', '/collections', { name: path.slice(13), dimensions: 1, shards });
  expect(status).toBe(201);
}
const filter = { yaer: { $ne: 2026 } };
const REPORT = 'No record has the field yaer; did you mean year?';
const many = (count: number, metadata: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`r${at}`, metadata]));

/** Every operation that takes a filter; those that change records come last. */
const OPERATIONS: readonly [string, (filter: object, rest?: object) => object][] = [
  ['query', (filter, rest) => ({ vector: [1], filter, ...rest })],
  ['count', (filter, rest) => ({ filter, ...rest })],
  ['facets', (filter, rest) => ({ field: 'known', filter, ...rest })],
  ['list', (filter, rest) => ({ filter, ...rest })],
  ['update', (filter, rest) => ({ filter, setMetadata: { year: 1 }, dryRun: true, ...rest })],
  ['update', (filter, rest) => ({ filter, setMetadata: { year: 1 }, ...rest })],
  ['delete', (filter, rest) => ({ filter, dryRun: true, ...rest })],
  ['delete', (filter, rest) => ({ filter, ...rest })],
];
/** Runs all operations in turn and returns their warnings. */
async function warningsOf(filter: object, rest: object = {}): Promise<Set<string>> {
  const all = new Set<string>();
  for (const [operation, bodyOf] of OPERATIONS) {
    const { warnings } = await post(operation, bodyOf(filter, rest));
    all.add(warnings === undefined ? 'none' : warnings.join(' '));
  }
  return all;
}

describe.each([1, 4])('over %i shards', (shards) => {
  beforeEach(() => create(shards));

  test('every operation with a filter names fields that no record has, even in dry runs', async () => {
    await put(many(30, { known: 1, year: 2026, author: { name: 'Ada' } }));
    expect(await warningsOf(filter)).toEqual(new Set([REPORT]));
    await put(many(30, { known: 1, year: 2026, author: { name: 'Ada' } }));
    expect(await warningsOf({ $or: [{ year: 1 }, { $not: { 'author.nmae': 'Ada' } }, { zzz: 1 }] })).toEqual(
      new Set(['No record has the field author.nmae; did you mean author.name? No record has the field zzz.']),
    );
    await put(many(30, { year: 2026 }));
    const { results } = await post('queries', { queries: [{ vector: [1], filter }, { vector: [1] }] });
    expect(results!.map(({ warnings }) => warnings)).toEqual([[REPORT], undefined]);
    expect(await post('facets', { field: 'yaer' })).toMatchObject({ values: [], warnings: [REPORT] });
    for (const rest of [{ allowPartial: true }, { consistency: 'eventual' }])
      expect(await post('query', { vector: [1], filter, ...rest })).toMatchObject({ warnings: [REPORT] });
  });

  test('a field that one record of one shard has causes no warning, whatever its value', async () => {
    for (const value of [null, false, 0, '', [], {}, 'x']) {
      await put({ ...many(30, { known: 1, other: 1 }), one: { year: value } });
      expect(await warningsOf({ year: { $exists: true }, other: 5 })).toEqual(new Set(['none']));
      await put({ ...many(30, { known: 1, other: 1 }), one: { deep: { year: value } } });
      expect(await warningsOf({ 'deep.year': 'none', other: 5 })).toEqual(new Set(['none']));
    }
  });

  test('a shard without records suppresses no warning', async () => {
    await put({ one: { known: 1, year: 2026 } });
    expect(await warningsOf(filter)).toEqual(new Set([REPORT]));
  });

  test('warnings follow writes', async () => {
    await put(many(30, { other: 1 }));
    const counted = async () => (await post('count', { filter: { year: 1 } })).warnings;
    expect(await counted()).toEqual(['No record has the field year.']);
    expect(await counted()).toEqual(['No record has the field year.']);
    await put({ one: { year: 2 } });
    expect(await counted()).toBeUndefined();
    await post('delete', { ids: ['one'] });
    expect(await counted()).toEqual(['No record has the field year.']);
  });

  test('covers the records of the namespace, and does not appear for an empty namespace', async () => {
    expect(await warningsOf(filter)).toEqual(new Set(['none']));
    await put(many(30, { known: 1, yaer: 1 }), 'others');
    expect(await warningsOf(filter)).toEqual(new Set(['none']));
    await put(many(30, { known: 1, year: 1 }), 'own');
    expect(await warningsOf(filter, { namespace: 'own' })).toEqual(
      new Set(['No record of the namespace own has the field yaer; did you mean year?']),
    );
    expect(await warningsOf({ year: 9 }, { namespace: 'absent' })).toEqual(new Set(['none']));
    await put(many(30, { known: 1, year: 1 }));
    const told = 'No record of the default namespace has the field yaer; did you mean year?';
    const { results } = await post('queries', { queries: [{ vector: [1], filter }] });
    expect(results![0]!.warnings).toEqual([told]);
    expect(await warningsOf(filter)).toEqual(new Set([told]));
    const zero = { filter: { zero: 1 }, allNamespaces: true };
    expect(await post('count', zero)).toMatchObject({ warnings: ['No record has the field zero.'] });
    expect(await post('query', { vector: [1], ...zero })).toMatchObject({
      warnings: ['No record has the field zero.'],
    });
  });
});

test('a namespace so small that its records are read gets the same warnings', async () => {
  await create(1);
  const texts = Array.from({ length: 3 }, (_, part) => `${part}`);
  for (const part of texts)
    await put(Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`${part}-${at}`, { yaer: 1 }])));
  await put({ one: { year: 1, other: 2 } }, 'small');
  const small = { namespace: 'small' };
  expect((await post('count', { filter: { yaer: 1, other: 3 }, ...small })).warnings).toEqual([
    'No record of the namespace small has the field yaer; did you mean year?',
  ]);
  expect((await post('count', { filter: { year: 1, other: 3 }, ...small })).warnings).toBeUndefined();
  expect((await post('count', { filter: { yaer: 1 } })).warnings).toBeUndefined();
});

test('a write-only key learns no names of other fields', async () => {
  await create(2);
  await put(many(30, { year: 2026 }));
  const { body } = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'w', scopes: ['write'] });
  const writer = apiClient(service.url, body.key.secret);
  const told = ['No record has the field yaer.'];
  const change = { filter: { yaer: 2 }, setMetadata: { a: 1 } };
  expect(await post('update', change, writer)).toMatchObject({ updatedCount: 0, warnings: told });
  expect(await post('update', { ...change, filter }, writer)).toMatchObject({ updatedCount: 30, warnings: told });
  expect(await post('delete', { filter: { yaer: 2 } }, writer)).toMatchObject({ deletedCount: 0, warnings: told });
  expect(await post('delete', { filter }, writer)).toMatchObject({ deletedCount: 30, warnings: told });
});

test('limits the number and length of named fields', async () => {
  await create(1);
  await put(many(3, { year: 1 }));
  const fields = Array.from({ length: 200 }, (_, at) => [`field${at}`, at]);
  expect((await post('count', { filter: Object.fromEntries(fields) })).warnings).toHaveLength(32);
  const long = 'y'.repeat(500);
  expect((await post('count', { filter: { [long]: 1 } })).warnings).toEqual([
    `No record has the field ${'y'.repeat(64)}....`,
  ]);
  expect((await post('count', { filter: { ['y'.repeat(5_000)]: 1 } })).warnings).toBeUndefined();
});
