import { beforeAll, describe, expect, test } from '@jest/globals';
import { verifyProof } from '../../client/index.ts';
import type { RecordProof } from '../../contracts/actions/collections.ts';
import { rawRequest } from '../support/raw-request.ts';
import { referenceLeaf, referenceRoot } from '../support/reference-root.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

/** In the order of their UTF-8 bytes. U+FFFD sorts before the emoji, unlike in UTF-16. */
const NAMES = ['', ' ', 'a/b', 'tenant-1', 'tenant-10', 'tenant-2', 'ü', '\ufffd', '🧭'];
const IDS = ['1', '2', '3', 'only'];

const recordsOf = (name: string) =>
  IDS.slice(0, name === '' ? 4 : 3).map((id, at) => ({
    id,
    values: [1, at, NAMES.indexOf(name)],
    metadata: { of: name, at, first: at === 0 },
  }));

interface Answer {
  matches: { id: string; metadata: { of: string } }[];
  namespaces: { name: string; vectorCount: number }[];
  records: { id: string }[];
  nextCursor?: string;
  vectors: Record<string, { id: string }>;
}

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

describe.each([1, 4])('over %i shards', (shards) => {
  const path = `/collections/spaced-${shards}`;
  const post = (operation: string, body: object) => service.api<Answer>('POST', `${path}/${operation}`, body);
  const answer = async (operation: string, body: object) => (await post(operation, body)).body;
  const listed = async (query = '') => (await service.api<Answer>('GET', `${path}/namespaces${query}`)).body;
  const held = new Map<string, ReturnType<typeof recordsOf>>();
  const all = () => [...held].flatMap(([name, records]) => records.map((record) => ({ ...record, name })));
  const root = () =>
    referenceRoot(
      all().map(({ id, name, values, metadata }) =>
        referenceLeaf(name === '' ? id : `\0${name}\0${id}`, values, metadata),
      ),
    );

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `spaced-${shards}`, dimensions: 3, shards });
    for (const name of NAMES) {
      const records = recordsOf(name);
      held.set(name, records);
      const written = await post('upsert', { records, ...(name !== '' && { namespace: name }) });
      expect(written).toMatchObject({ status: 200, body: { merkleRoot: root(), vectorCount: all().length } });
    }
  });

  test.each(NAMES)('the namespace %j holds its own records, whatever ids others have', async (namespace) => {
    const records = recordsOf(namespace);
    expect(await answer('fetch', { namespace, ids: ['only', '2', '4'] })).toEqual({
      vectors: Object.fromEntries(
        records.filter(({ id }) => ['only', '2'].includes(id)).map((each) => [each.id, each]),
      ),
    });
    expect(await answer('count', { namespace })).toEqual({ count: records.length });
    expect(await answer('count', { namespace, filter: { at: { $gte: 1 } } })).toEqual({ count: records.length - 1 });
    expect(await answer('facets', { namespace, field: 'of' })).toEqual({
      values: [{ value: namespace, count: records.length }],
      missing: 0,
    });
    for (const exact of [true, false]) {
      const near = { vector: [1, 2, 3], topK: 50, exact };
      const { matches } = await answer('query', { namespace, ...near });
      expect(matches.map(({ id }) => id).sort()).toEqual(records.map(({ id }) => id).sort());
      for (const match of matches) expect(match.metadata.of).toBe(namespace);
      const filtered = await answer('query', { namespace, ...near, filter: { first: true } });
      expect(filtered.matches).toMatchObject([{ id: '1', metadata: { of: namespace } }]);
    }
    const listed = await answer('list', { namespace, includeMetadata: true });
    expect(listed).toEqual({ records: records.map(({ id, metadata }) => ({ id, metadata })) });
    const paged: string[] = [];
    for (let cursor = {}; ; ) {
      const page = await answer('list', { namespace, limit: 1, filter: { at: { $gte: 1 } }, ...cursor });
      paged.push(...page.records.map(({ id }) => id));
      if (page.nextCursor === undefined) break;
      cursor = { cursor: page.nextCursor };
    }
    expect(paged).toEqual(records.slice(1).map(({ id }) => id));
    expect(await answer('list', { namespace, prefix: '2' })).toEqual({ records: [{ id: '2' }] });
    const byId = await answer('query', { namespace, id: '3', topK: 1, includeValues: true });
    expect(byId.matches).toMatchObject([{ id: '3', values: records[2]!.values }]);
  });

  test('a request without a namespace uses the default one', async () => {
    expect(await answer('count', {})).toEqual({ count: 4 });
    expect((await answer('query', { id: 'only', topK: 50 })).matches).toHaveLength(4);
    expect(await service.api('GET', path)).toMatchObject({ body: { collection: { vector_count: all().length } } });
  });

  test('a namespace without records reads as empty, and its records are not found', async () => {
    expect(await answer('query', { namespace: 'tenant', vector: [1, 2, 3] })).toEqual({ matches: [] });
    expect(await answer('count', { namespace: 'tenant' })).toEqual({ count: 0 });
    expect(await answer('fetch', { namespace: 'tenant', ids: ['1'] })).toEqual({ vectors: {} });
    expect(await post('query', { namespace: 'tenant-1', id: 'only' })).toMatchObject({
      status: 404,
      body: { code: 'RECORD_NOT_FOUND' },
    });
  });

  test('lists them by name, in pages, and by prefix', async () => {
    const expected = NAMES.map((name) => ({ name, vectorCount: name === '' ? 4 : 3 }));
    expect(await listed()).toEqual({ namespaces: expected });
    for (const limit of [1, 4, 8, 9]) {
      const found: Answer['namespaces'] = [];
      for (let cursor = ''; ; ) {
        const page = await listed(`?limit=${limit}${cursor}`);
        expect(page.namespaces.length).toBeLessThanOrEqual(limit);
        found.push(...page.namespaces);
        if (page.nextCursor === undefined) break;
        cursor = `&cursor=${page.nextCursor}`;
      }
      expect(found).toEqual(expected);
    }
    expect((await listed('?prefix=tenant-1')).namespaces.map(({ name }) => name)).toEqual(['tenant-1', 'tenant-10']);
    expect(await listed('?prefix=nobody')).toEqual({ namespaces: [] });
  });

  test("a proof shows a record's presence in its namespace and its absence in others", async () => {
    const proofOf = async (id: string, namespace: string) => {
      const query = `id=${id}&namespace=${encodeURIComponent(namespace)}`;
      const { body } = await service.api<{ proof: RecordProof }>('GET', `${path}/proof?${query}`);
      expect((await service.api('GET', `${path}/verify?${query}`)).body.proof).toMatchObject({ id, namespace });
      return body.proof;
    };
    for (const namespace of ['', 'a/b', '🧭']) {
      const [{ id, values, metadata }] = recordsOf(namespace) as [ReturnType<typeof recordsOf>[0]];
      const proof = await proofOf(id, namespace);
      expect(proof).toMatchObject({ id, namespace, present: true });
      expect(verifyProof(root(), proof, { id, namespace, values, metadata })).toBe('present');
      for (const other of NAMES.filter((name) => name !== namespace)) {
        expect(() => verifyProof(root(), proof, { id, namespace: other })).toThrow('another namespace');
        expect(() => verifyProof(root(), { ...proof, namespace: other })).toThrow();
      }
    }
    const absent = await proofOf('only', 'tenant-1');
    expect(verifyProof(root(), absent, { id: 'only', namespace: 'tenant-1' })).toBe('absent');
    const inTenant = await proofOf('1', 'tenant-1');
    expect(() => verifyProof(root(), inTenant, { id: '1' })).toThrow('another namespace');
  });

  test('updates and deletes leave other namespaces unchanged', async () => {
    const namespace = 'tenant-2';
    const records = held.get(namespace)!;
    const update = {
      updates: [
        { id: '1', setMetadata: { at: 7 } },
        { id: 'only', setMetadata: { at: 7 } },
      ],
    };
    expect(await answer('update', { namespace, ...update, dryRun: true })).toMatchObject({ matchedCount: 1 });
    const updated = await answer('update', { namespace, ...update });
    records[0]!.metadata.at = 7;
    expect(updated).toMatchObject({ matchedCount: 1, updatedCount: 1, merkleRoot: root() });
    const merged = await answer('update', { namespace, filter: { at: 2 }, setMetadata: { at: 8 } });
    records[2]!.metadata.at = 8;
    expect(merged).toMatchObject({ matchedCount: 1, updatedCount: 1, merkleRoot: root() });

    expect(await answer('delete', { namespace, filter: { at: 8 }, dryRun: true })).toMatchObject({ deletedCount: 1 });
    const byFilter = await answer('delete', { namespace, filter: { at: { $lt: 9 } } });
    held.delete(namespace);
    expect(byFilter).toMatchObject({ deletedCount: 3, merkleRoot: root() });
    expect(await answer('delete', { namespace: 'ü', ids: ['1', 'only', 'none'] })).toMatchObject({ deletedCount: 1 });
    expect(await answer('delete', { namespace: 'ü', all: true })).toMatchObject({ deletedCount: 2 });
    held.delete('ü');
    expect((await listed()).namespaces.map(({ name }) => name)).toEqual([...held.keys()]);
    expect(await service.api('GET', path)).toMatchObject({ body: { collection: { merkleRoot: root() } } });
  });

  test('deletes an entire namespace, once', async () => {
    const remove = (segment: string) => service.api('DELETE', `${path}/namespaces/${segment}`);
    const removed = await remove(encodeURIComponent('a/b'));
    held.delete('a/b');
    expect(removed).toMatchObject({
      status: 200,
      body: { deleted: true, deletedCount: 3, merkleRoot: root(), vectorCount: all().length },
    });
    expect(await remove(encodeURIComponent('a/b'))).toMatchObject({
      status: 404,
      body: { code: 'NAMESPACE_NOT_FOUND' },
    });
    expect(await remove('tenant')).toMatchObject({ status: 404, body: { code: 'NAMESPACE_NOT_FOUND' } });
    // Undecodable bytes are not a name, and in particular not the replacement character.
    expect(await remove('%FF')).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
    expect(await answer('count', { namespace: '\ufffd' })).toEqual({ count: 3 });
    const verified = await service.api('GET', `${path}/verify`);
    expect(verified.body).toMatchObject({ state: 'match', computedRoot: root(), vectorCount: all().length });
  });
});

test.each([
  ['namespace', { namespace: 'a\0b' }],
  ['namespace', { namespace: '\ud800' }],
  ['namespace', { namespace: 'x'.repeat(513) }],
  ['namespace', { namespace: null }],
  ['namespace', { namespace: 7 }],
])('refuses %s of %j in every operation', async (field, body) => {
  await service.api('POST', '/collections', { name: 'refusing', dimensions: 1 });
  const requests = {
    upsert: { records: [{ id: 'a', values: [1] }] },
    delete: { ids: ['a'] },
    update: { updates: [{ id: 'a', setMetadata: { a: 1 } }] },
    fetch: { ids: ['a'] },
    count: {},
    facets: { field: 'a' },
    list: {},
    query: { vector: [1] },
  };
  for (const [operation, request] of Object.entries(requests)) {
    const refused = await service.api('POST', `/collections/refusing/${operation}`, { ...request, ...body });
    expect(refused).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT', details: [{ path: field }] } });
  }
});

test('an id or a namespace may be 512 bytes long, and an id may not begin with U+0000', async () => {
  await service.api('POST', '/collections', { name: 'longest', dimensions: 1, shards: 2 });
  const [id, namespace] = ['🧭'.repeat(128), 'n'.repeat(512)];
  const one = { namespace, ids: [id] };
  const written = { namespace, records: [{ id, values: [1] }] };
  expect(await service.api('POST', '/collections/longest/upsert', written)).toMatchObject({ status: 200 });
  expect(await service.api('POST', '/collections/longest/fetch', one)).toMatchObject({
    body: { vectors: { [id]: { id } } },
  });
  expect(await service.api('GET', '/collections/longest/verify')).toMatchObject({ body: { state: 'match' } });
  expect((await service.api('GET', '/collections/longest/namespaces?limit=1')).body).toEqual({
    namespaces: [{ name: namespace, vectorCount: 1 }],
  });
  for (const namespace of ['', 'n']) {
    const records = [{ id: '\0n\0x', values: [1] }];
    expect(await service.api('POST', '/collections/longest/upsert', { namespace, records })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'records[0].id' }] },
    });
  }
  expect(await service.api('GET', '/collections/longest/proof?id=%00a')).toMatchObject({ status: 400 });
  expect(await service.api('GET', '/collections/longest/verify?namespace=n')).toMatchObject({
    status: 400,
    body: { details: [{ path: 'namespace' }] },
  });
  expect(await service.api('GET', '/collections/longest/namespaces?cursor=x')).toMatchObject({ status: 400 });
  expect(await service.api('GET', '/collections/longest/namespaces?prefix=%00')).toMatchObject({ status: 400 });
});

test('a namespace in a path is percent-encoded UTF-8', async () => {
  await service.api('POST', '/collections', { name: 'coded', dimensions: 1 });
  for (const bytes of ['%FF', '%C3%28', '%ED%A0%80', '%00']) {
    const { status, text } = await rawRequest(service.url, 'DELETE', `/api/v1/collections/coded/namespaces/${bytes}`, {
      authorization: `Bearer ${service.key}`,
    });
    expect([status, text]).toEqual([400, expect.stringContaining('namespace must be percent-encoded UTF-8')]);
  }
});

test.each(['.', '..'])(
  'a client that truncates the path of the namespace %s does not delete the collection',
  async (namespace) => {
    const path = '/collections/dotted';
    await service.api('POST', '/collections', { name: 'dotted', dimensions: 1 });
    const records = [{ id: 'a', values: [1] }];
    await service.api('POST', `${path}/upsert`, { namespace, records });
    // fetch resolves the dots in the path.
    const { status } = await service.api('DELETE', `${path}/namespaces/${encodeURIComponent(namespace)}`);
    expect(status).toBe(404);
    const named = { namespaces: [{ name: namespace, vectorCount: 1 }] };
    expect((await service.api('GET', `${path}/namespaces`)).body).toEqual(named);
    const deleted = await service.api('POST', `${path}/delete`, { namespace, all: true });
    expect(deleted).toMatchObject({ status: 200, body: { deletedCount: 1 } });
  },
);
