import { beforeAll, describe, expect, test } from '@jest/globals';
import { SHARD_COUNTS } from '../support/effort.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

interface Listed {
  id: string;
  values?: number[];
  metadata?: Record<string, unknown>;
}
interface ListPage {
  records: Listed[];
  nextCursor?: string;
}

/**
 * Ids that sort differently in UTF-16 and UTF-8, that share a prefix, or that are hard to store.
 */
const STRANGE_IDS = [
  ...['b\0', '\n', ' ', '"', '\\', '%', '.', '..', '../x', '__proto__', 'constructor', 'a\0', 'a\0b', 'a', 'a/b'],
  ...['e\u0301', 'é', '\ud7ff', '\ue000', '\ufeff', '\ufeffr1', '\uffee', '\u{10000}', '\u{1f600}', '\u{10ffff}'],
  ...['x'.repeat(511), 'x'.repeat(512), 'é'.repeat(256), '\u{1f600}'.repeat(128), `a${'\0'.repeat(511)}`],
];
const IDS = [...STRANGE_IDS, ...Array.from({ length: 300 }, (_, at) => `r${at}`)];
const recordOf = (id: string) => ({ id, values: [1, IDS.indexOf(id)], metadata: { n: IDS.indexOf(id), id } });

const inOrder = (ids: Iterable<string>) => [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
const idsOf = (records: Listed[]) => records.map(({ id }) => id);

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each(SHARD_COUNTS)('over %i shards', (shards) => {
  const path = `/collections/listed-${shards}`;
  const list = async (body: object = {}) => (await service.api<ListPage>('POST', `${path}/list`, body)).body;
  const upsert = (ids: string[]) => service.api('POST', `${path}/upsert`, { records: ids.map(recordOf) });
  const remove = (ids: string[]) => service.api('POST', `${path}/delete`, { ids });

  /** Reads all pages; `between` runs between two pages. */
  async function listAll(body: object, between = async (_page: number): Promise<unknown> => undefined) {
    const pages = [await list(body)];
    for (let cursor = pages[0]!.nextCursor; cursor !== undefined; cursor = pages.at(-1)!.nextCursor) {
      // Stops a list that never ends.
      expect(pages.length).toBeLessThan(2 * IDS.length);
      await between(pages.length);
      pages.push(await list({ ...body, cursor }));
    }
    return pages;
  }
  const listIds = async (...given: Parameters<typeof listAll>) =>
    (await listAll(...given)).flatMap(({ records }) => idsOf(records));

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `listed-${shards}`, dimensions: 2, shards });
    await upsert(IDS);
  });

  test('lists every record once, in the order of UTF-8 bytes', async () => {
    expect(await list({ limit: 1_000 })).toEqual({ records: inOrder(IDS).map((id) => ({ id })) });
    expect(await list({ limit: 1_000, consistency: 'eventual' })).toEqual(await list({ limit: 1_000 }));
  });

  test('has 100 records to a page by default, and no cursor after the last', async () => {
    const pages = await listAll({});
    expect(pages.map(({ records }) => records.length)).toEqual([100, 100, 100, IDS.length - 300]);
    expect(pages.map((page) => 'nextCursor' in page)).toEqual([true, true, true, false]);
    expect('nextCursor' in (await list({ limit: IDS.length }))).toBe(false);
    expect('nextCursor' in (await list({ limit: IDS.length - 1 }))).toBe(true);
  });

  test.each([1, 7])('pages of %i have the same records', async (limit) => {
    const pages = await listAll({ limit });
    expect(pages.flatMap(({ records }) => idsOf(records))).toEqual(inOrder(IDS));
    expect(pages).toHaveLength(Math.ceil(IDS.length / limit));
  });

  test.each(['r', 'r1', 'r10', 'r100', 'a', 'a\0', 'b\0', 'é', '\ufeff', '\u{1f600}', 'none', 'rr'])(
    'lists only ids that begin with %j',
    async (prefix) => {
      const expected = inOrder(IDS.filter((id) => id.startsWith(prefix)));
      expect(await listIds({ prefix, limit: 7 })).toEqual(expected);
      expect(idsOf((await list({ prefix, limit: 1_000 })).records)).toEqual(expected);
    },
  );

  test('accepts a prefix as long as an id', async () => {
    const [short, long] = ['x'.repeat(511), 'x'.repeat(512)];
    expect(await listIds({ prefix: short, limit: 1 })).toEqual([short, long]);
    expect(await listIds({ prefix: long, limit: 1 })).toEqual([long]);
  });

  test('lists only matching records', async () => {
    const some = inOrder(IDS.filter((_, at) => at >= 100 && at < 250));
    expect(await listIds({ filter: { n: { $gte: 100, $lt: 250 } }, limit: 7 })).toEqual(some);
    const both = { filter: { n: { $lt: 250 } }, prefix: 'r1', limit: 7 };
    expect(await listIds(both)).toEqual(inOrder(IDS.filter((id, at) => id.startsWith('r1') && at < 250)));
    expect(await list({ filter: { n: -1 } })).toEqual({ records: [] });
    expect(await list({ filter: {}, limit: 3 })).toEqual(await list({ limit: 3 }));
    const last = inOrder(IDS).at(-1)!;
    expect(await list({ filter: { id: last }, limit: 1 })).toEqual({ records: [{ id: last }] });
  });

  test('includes values and metadata on request', async () => {
    for (const includeValues of [true, false]) {
      for (const includeMetadata of [true, false]) {
        const expected = inOrder(IDS).map((id) => {
          const { values, metadata } = recordOf(id);
          return { id, ...(includeValues && { values }), ...(includeMetadata && { metadata }) };
        });
        const pages = await listAll({ includeValues, includeMetadata, limit: 150 });
        expect(pages.flatMap(({ records }) => records)).toEqual(expected);
      }
    }
  });

  test('filter, prefix and limit may differ from page to page', async () => {
    const first = await list({ filter: { n: { $exists: true } }, limit: 20 });
    const rest = await list({ prefix: 'r2', limit: 1_000, cursor: first.nextCursor });
    expect(idsOf(rest.records)).toEqual(inOrder(IDS.filter((id) => id.startsWith('r2'))));
    const last = await list({ prefix: 'r29', limit: 20, cursor: first.nextCursor });
    expect(await list({ prefix: 'a', cursor: (await list({ prefix: 'r', limit: 1 })).nextCursor })).toEqual({
      records: [],
    });
    expect(idsOf(last.records)).toEqual(idsOf(rest.records).filter((id) => id.startsWith('r29')));
  });

  test('during writes, unchanged records are listed once, and a cursor survives the deletion of its record', async () => {
    const staying = IDS.filter((_, at) => at % 3 !== 0);
    const going = IDS.filter((_, at) => at % 3 === 0);
    const coming = Array.from({ length: 200 }, (_, at) => `r${at}-new`);
    const listed = await listIds({ limit: 7 }, async (page) => {
      await remove(going.splice(0, 5));
      const mine = coming.splice(0, 5);
      if (mine.length > 0) await upsert(mine);
      // Each rewritten record moves to another place in its shard.
      await upsert(staying.filter((_, at) => at % 11 === page % 11));
    });
    const kept = new Set(staying);
    expect(listed.filter((id) => kept.has(id))).toEqual(inOrder(staying));
    expect(listed).toEqual(inOrder(new Set(listed)));
    await service.api('POST', `${path}/delete`, { all: true });
    expect(await list()).toEqual({ records: [] });
    await upsert(IDS);
    expect(await listIds({ limit: 100 }, async (page) => page === 1 && remove(IDS))).toEqual(
      inOrder(IDS).slice(0, 100),
    );
    await upsert(IDS);
  });
});

test('counts against no limit of the plan', async () => {
  const used = async () => (await service.api<{ usage: Record<string, number> }>('GET', '/usage')).body.usage;
  const before = await used();
  expect((await service.api('POST', '/collections/listed-4/list', { includeValues: true })).status).toBe(200);
  expect(await used()).toEqual(before);
});

describe('refuses', () => {
  const cursorOf = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64url');
  test.each<[string, object, string]>([
    ['no records wanted', { limit: 0 }, 'limit'],
    ['1,001 records wanted', { limit: 1_001 }, 'limit'],
    ['half a record', { limit: 1.5 }, 'limit'],
    ['a limit in quotes', { limit: '7' }, 'limit'],
    ['an empty prefix', { prefix: '' }, 'prefix'],
    ['a prefix of 513 bytes', { prefix: `${'é'.repeat(256)}x` }, 'prefix'],
    ['half a character as a prefix', { prefix: '\ud83d' }, 'prefix'],
    ['a prefix that is not a string', { prefix: ['a'] }, 'prefix'],
    ['an unknown field', { topK: 3 }, 'topK'],
    ['a flag in quotes', { includeValues: 'true' }, 'includeValues'],
    ['a flag that is a number', { includeMetadata: 1 }, 'includeMetadata'],
    ['an unknown consistency', { consistency: 'weak' }, 'consistency'],
    ['an empty cursor', { cursor: '' }, 'cursor'],
    ['a cursor that is not a string', { cursor: 7 }, 'cursor'],
    ['a cursor that no page gave', { cursor: 'YQ' }, 'cursor'],
    ['a cursor after no id', { cursor: cursorOf('after ') }, 'cursor'],
    ['a cursor after what is no UTF-8', { cursor: cursorOf(Buffer.from('after \xff', 'latin1')) }, 'cursor'],
    ['a cursor with a suffix', { cursor: `${cursorOf('after abc')}=` }, 'cursor'],
    ['a cursor after an id of 513 bytes', { cursor: cursorOf(`after ${'x'.repeat(513)}`) }, 'cursor'],
    ['the cursor of a list of collections', { cursor: cursorOf('before 3') }, 'cursor'],
  ])('%s', async (_, body, field) => {
    expect(await service.api('POST', '/collections/listed-1/list', body)).toEqual(refusalOf(field));
  });

  test.each([null, { n: { $near: 1 } }])('%j for a filter', async (filter) => {
    const answer = await service.api('POST', '/collections/listed-1/list', { filter });
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_FILTER' } });
  });

  test('an unknown collection', async () => {
    const answer = await service.api('POST', '/collections/nowhere/list', {});
    expect(answer).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
  });
});
