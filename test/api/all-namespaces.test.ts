/** Reads and deletes across all namespaces. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

interface Told {
  id: string;
  namespace: string;
  metadata?: { n: number };
}
interface Page {
  records: Told[];
  nextCursor?: string;
}

/** The same ids exist in each namespace. `a` is a prefix of `ab`. */
const NAMESPACES = ['', 'a', 'ab', 'é/#'];
const PER_NAMESPACE = 25;
const RECORDS: readonly Required<Told>[] = NAMESPACES.flatMap((namespace, at) =>
  Array.from({ length: PER_NAMESPACE }, (_, n) => ({ namespace, id: `r${n}`, metadata: { n: n + 100 * at } })),
);
const keyOf = ({ namespace, id }: Told) => `${namespace} ${id}`;
/** The order of the response, with the default namespace last. */
const compare = (a: Told, b: Told): number => {
  if (a.namespace !== b.namespace && (a.namespace === '' || b.namespace === '')) return a.namespace === '' ? 1 : -1;
  return (
    Buffer.compare(Buffer.from(a.namespace), Buffer.from(b.namespace)) ||
    Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))
  );
};
const keys = (records: readonly Told[]) => records.map(keyOf);
const ALL = keys([...RECORDS].sort(compare));

let service: SharedService;
let path = '';
let made = 0;
beforeAll(async () => {
  service = await shareService();
});
const post = async <T>(operation: string, body: object): Promise<T> => {
  const answer = await service.api<T>('POST', `${path}/${operation}`, body);
  expect(answer.status).toBe(200);
  return answer.body;
};
const inAll = (body: object) => ({ allNamespaces: true, ...body });

describe.each([1, 4])('over %i shards', (shards) => {
  beforeEach(async () => {
    path = `/collections/all-${made++}`;
    await service.api('POST', '/collections', { name: path.slice(13), dimensions: 1, metric: 'dot', shards });
    for (const namespace of NAMESPACES) {
      const own = RECORDS.filter((record) => record.namespace === namespace);
      const records = own.map(({ id, metadata }) => ({ id, values: [metadata.n], metadata }));
      await post('upsert', { namespace, records });
    }
  });

  const listed = async (limit: number, more: object = {}): Promise<Told[]> => {
    const found: Told[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await post<Page>('list', inAll({ limit, ...more, ...(cursor && { cursor }) }));
      expect(page.records.length).toBeLessThanOrEqual(limit);
      found.push(...page.records);
      if (page.nextCursor === undefined) return found;
      cursor = page.nextCursor;
    }
  };

  test('count and facets cover the whole collection', async () => {
    expect(await post('count', inAll({}))).toEqual({ count: RECORDS.length });
    expect(await post('count', { allNamespaces: false })).toEqual({ count: PER_NAMESPACE });
    expect(await post('count', inAll({ filter: { n: { $gte: 100 } } }))).toEqual({ count: 75 });
    expect(await post('facets', inAll({ field: 'n', limit: 1 }))).toEqual({
      values: [{ value: 0, count: 1 }],
      missing: 0,
    });
    expect(await post('count', inAll({ filter: { m: 1 } }))).toMatchObject({
      warnings: ['No record has the field m.'],
    });
  });

  test('a query returns the best matches of all namespaces, each with its namespace, even with many namespaces', async () => {
    const matchesOf = async (body: object) => (await post<{ matches: Told[] }>('query', inAll(body))).matches;
    const best = [...RECORDS].sort((a, b) => b.metadata.n - a.metadata.n);
    const found = await matchesOf({ vector: [1], topK: 40, includeMetadata: true });
    expect(keys(found)).toEqual(keys(best.slice(0, 40)));
    expect(found[0]).toEqual({ id: 'r24', namespace: 'é/#', score: 324, metadata: { n: 324 } });
    const filter = { n: { $lt: 100 } };
    expect(keys(await matchesOf({ vector: [1], topK: 3, filter, exact: true }))).toEqual([' r24', ' r23', ' r22']);
    expect(await matchesOf({ vector: [1], topK: 1, consistency: 'eventual', allowPartial: true })).toHaveLength(1);
    const queries = [inAll({ vector: [1], topK: 1 }), { vector: [1], topK: 1 }];
    expect(await post('queries', { queries })).toMatchObject({
      results: [{ matches: [{ namespace: 'é/#' }] }, { matches: [{ id: 'r24', score: 24 }] }],
    });
  });

  test.each([1, 7, 1_000])('a list in pages of %i returns every record once, in order', async (limit) => {
    const found = await listed(limit, { includeMetadata: true });
    expect(keys(found)).toEqual(ALL);
    for (const { namespace, id, metadata } of found)
      expect(metadata).toEqual(RECORDS.find((record) => record.namespace === namespace && record.id === id)!.metadata);
    expect(keys(await listed(limit, { filter: { n: { $gte: 120, $lt: 205 } } }))).toEqual(
      keys(RECORDS.filter(({ metadata: { n } }) => n >= 120 && n < 205).sort(compare)),
    );
  });

  test('a cursor stays valid while records and namespaces are added and removed', async () => {
    const first = await post<Page>('list', inAll({ limit: 30 }));
    await post('delete', {
      namespace: 'ab',
      ids: first.records.filter(({ namespace }) => namespace === 'ab').map(({ id }) => id),
    });
    await post('delete', { namespace: 'a', all: true });
    await post('upsert', { namespace: 'aa', records: [{ id: 'early', values: [1] }] });
    await post('upsert', { namespace: 'z', records: [{ id: 'late', values: [1] }] });
    const rest = await post<Page>('list', inAll({ limit: 1_000, cursor: first.nextCursor }));
    const late = { namespace: 'z', id: 'late' };
    const expected = [...RECORDS.filter((record) => !keys(first.records).includes(keyOf(record))), late].sort(compare);
    expect(keys(rest.records)).toEqual(keys(expected));
  });

  test('a delete by filter deletes matches in every namespace', async () => {
    const filter = { n: { $gte: 20, $lt: 310 } };
    const going = RECORDS.filter(({ metadata: { n } }) => n >= 20 && n < 310).length;
    expect(await post('delete', inAll({ filter, dryRun: true }))).toMatchObject({
      deleted: false,
      deletedCount: going,
    });
    expect(await post('count', inAll({}))).toEqual({ count: RECORDS.length });
    expect(await post('delete', inAll({ filter }))).toMatchObject({
      deletedCount: going,
      vectorCount: RECORDS.length - going,
    });
    const left = RECORDS.filter(({ metadata: { n } }) => n < 20 || n >= 310);
    expect(keys(await listed(10))).toEqual(keys([...left].sort(compare)));
  });

  test('a cursor from a list of one kind is refused by the other', async () => {
    const [of, all] = [await post<Page>('list', { limit: 1 }), await post<Page>('list', inAll({ limit: 1 }))];
    for (const body of [inAll({ cursor: of.nextCursor }), { cursor: all.nextCursor }, inAll({ cursor: 'x' })])
      expect(await service.api('POST', `${path}/list`, body)).toEqual(refusalOf('cursor'));
  });
});

test('answers about one namespace do not name it', async () => {
  expect((await post<{ matches: Told[] }>('query', { vector: [1], topK: 1 })).matches[0]).not.toHaveProperty(
    'namespace',
  );
  expect((await post<Page>('list', { namespace: 'a' })).records[0]).not.toHaveProperty('namespace');
});

test.each<[string, object, string]>([
  ['count', { namespace: '' }, 'namespace'],
  ['facets', { field: 'n', namespace: 'a' }, 'namespace'],
  ['list', { namespace: 'a' }, 'namespace'],
  ['list', { prefix: 'r' }, 'prefix'],
  ['query', { vector: [1], namespace: 'a' }, 'namespace'],
  ['query', { id: 'r1' }, 'id'],
  [
    'queries',
    { queries: [{ vector: [1] }, { vector: [1], allNamespaces: true, namespace: 'a' }] },
    'queries[1].namespace',
  ],
  ['delete', { filter: { n: 1 }, namespace: 'a' }, 'namespace'],
  ['delete', { ids: ['r1'] }, 'ids'],
  ['delete', { all: true }, 'all'],
])('%s of all namespaces refuses %j', async (operation, body, field) => {
  const asked = operation === 'queries' ? body : inAll(body);
  expect(await service.api('POST', `${path}/${operation}`, asked)).toEqual(refusalOf(field));
  if (operation === 'queries') return;
  const { status } = await service.api('POST', `${path}/${operation}`, { ...body, allNamespaces: 1 });
  expect(status).toBe(400);
});
