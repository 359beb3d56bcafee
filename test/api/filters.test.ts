import { beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

type Json = Record<string, unknown>;
interface Answered {
  warnings?: string[];
  matches: { id: string }[];
}

const RECORDS: Record<string, Json> = {
  novel: { kind: 'book', pages: 320, tags: ['fiction', 'long'], author: { name: 'Ada', born: 1815 }, sold: true },
  essay: { kind: 'book', pages: 40, tags: ['short'], author: { name: 'Bob' }, sold: false },
  map: { kind: 'sheet', pages: 1, tags: [], 'author.name': 'Cem', sold: null },
  text: { kind: 'note', pages: '40', tags: 'short', author: null },
  list: { kind: ['book', 'note'], pages: [1, 40, null], tags: [['short'], { a: 1 }, true] },
  bare: {},
  odd: { __proto__x: 1, '': 'empty', 'a.b': { c: 1 }, a: { b: 2, 'b.c': 3 }, kind: 'Book', pages: -0.5, unicode: '🧭' },
};
const ALL = Object.keys(RECORDS);
const allBut = (...ids: string[]) => ALL.filter((id) => !ids.includes(id));

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/filter-${shards}`;
  const matching = async (filter: Json, options: Json = {}) => {
    const request = { vector: [1, 0], topK: 100, filter, ...options };
    const { status, body } = await service.api<Answered>('POST', `${path}/query`, request);
    const { warnings: _, ...rest } = body;
    expect([status, rest]).toEqual([200, { matches: expect.any(Array) }]);
    return body.matches.map(({ id }) => id).sort();
  };

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `filter-${shards}`, dimensions: 2, shards });
    const records = Object.entries(RECORDS).map(([id, metadata], at) => ({ id, values: [1, at], metadata }));
    await service.api('POST', `${path}/upsert`, { records });
  });

  test.each<[string, Json, string[]]>([
    ['no filter', {}, ALL],
    ['shorthand', { kind: 'sheet' }, ['map']],
    ['shorthand null is an explicit null', { sold: null }, ['map']],
    ['shorthand boolean', { sold: true }, ['novel']],
    ['several fields are all meant', { kind: 'book', sold: false }, ['essay']],
    ['$eq', { pages: { $eq: 40 } }, ['essay', 'list']],
    ['$eq tells a number from its text', { pages: { $eq: '40' } }, ['text']],
    ['$eq on a list, where one element suffices', { tags: { $eq: 'short' } }, ['essay', 'text']],
    ['$eq does not look into lists of lists', { tags: { $eq: true } }, ['list']],
    ['$eq tells case', { kind: { $eq: 'Book' } }, ['odd']],
    ['$ne: also without the field', { kind: { $ne: 'book' } }, allBut('novel', 'essay', 'list')],
    ['$ne on a list, where no element may equal it', { tags: { $ne: 'short' } }, allBut('essay', 'text')],
    ['$gt', { pages: { $gt: 40 } }, ['novel']],
    ['$gte', { pages: { $gte: 40 } }, ['novel', 'essay']],
    ['$lt', { pages: { $lt: 40 } }, ['map', 'odd']],
    ['$lte', { pages: { $lte: -0.5 } }, ['odd']],
    ['$gt of text with text', { kind: { $gt: 'book' } }, ['map', 'text']],
    ['$lte of text with text', { pages: { $lte: '5' } }, ['text']],
    ['$gt of one type with another', { kind: { $gt: 0 } }, []],
    ['a range', { pages: { $gte: 1, $lt: 100 } }, ['essay', 'map']],
    ['$in', { kind: { $in: ['note', 'sheet'] } }, ['list', 'map', 'text']],
    ['$in of several types', { pages: { $in: [1, '40', null, true] } }, ['list', 'map', 'text']],
    ['$in of nothing', { kind: { $in: [] } }, []],
    ['$nin: also without the field', { kind: { $nin: ['book', 'Book'] } }, ['map', 'text', 'bare']],
    ['$nin of nothing', { kind: { $nin: [] } }, ALL],
    ['$exists true', { sold: { $exists: true } }, ['novel', 'essay', 'map']],
    ['$exists false', { sold: { $exists: false } }, ['text', 'list', 'bare', 'odd']],
    ['$and', { $and: [{ kind: 'book' }, { pages: { $lt: 100 } }] }, ['essay']],
    ['$or', { $or: [{ kind: 'sheet' }, { sold: true }] }, ['novel', 'map']],
    ['$or next to a field', { kind: 'book', $or: [{ sold: true }, { pages: 1 }] }, ['novel', 'list']],
    ['$not of a filter', { $not: { kind: 'book' } }, allBut('novel', 'essay', 'list')],
    ['$not of operators', { pages: { $not: { $gte: 40 } } }, allBut('novel', 'essay')],
    ['a dotted path', { 'author.name': 'Ada' }, ['novel']],
    ['a literal key with a dot', { 'author.name': 'Cem' }, ['map']],
    ['a literal key comes before a path', { 'a.b': { $exists: true } }, ['odd']],
    ['and hides it', { 'a.b': 2 }, []],
    ['only a whole name is literal', { 'a.b.c': { $exists: true } }, []],
    ['a path through null or a list is absent', { 'author.born': { $exists: true } }, ['novel']],
    ['a list is not indexed', { 'tags.0': { $exists: true } }, []],
    ['names of prototypes are absent', { toString: { $exists: true } }, []],
    ['and absent for $ne', { 'constructor.name': { $ne: 'Object' } }, ALL],
    ['the empty name', { '': 'empty' }, ['odd']],
    ['text outside the BMP', { unicode: { $gte: '🧭' } }, ['odd']],
    [
      'eight levels',
      { $and: [{ $or: [{ $not: { $and: [{ $or: [{ $not: { $and: [{ kind: 'book' }] } }] }] } }] }] },
      ['novel', 'essay', 'list'],
    ],
    ['256 conditions', { $or: Array.from({ length: 256 }, (_, at) => ({ pages: at + 100 })) }, ['novel']],
    ['10,000 values', { pages: { $in: Array.from({ length: 10_000 }, (_, at) => at + 100) } }, ['novel']],
  ])('%s', async (_, filter, ids) => {
    expect(await matching(filter)).toEqual(ids.toSorted());
    expect(await matching(filter, { exact: true })).toEqual(ids.toSorted());
  });

  test('a changed record is matched by its new metadata', async () => {
    const upsert = (metadata: Json) =>
      service.api('POST', `${path}/upsert`, { records: [{ id: 'changing', values: [1, 1], metadata }] });
    await upsert({ state: 'old' });
    expect(await matching({ state: 'old' })).toEqual(['changing']);
    await upsert({ state: 'new' });
    expect([await matching({ state: 'old' }), await matching({ state: 'new' })]).toEqual([[], ['changing']]);
    await service.api('POST', `${path}/delete`, { ids: ['changing'] });
    expect(await matching({ state: 'new' })).toEqual([]);
  });
});

describe.each([1, 8])('as many matches as exist, up to topK, over %i shards', (shards) => {
  const path = `/collections/many-${shards}`;
  const COUNT = 5_000;
  const selective = [1, 7, 50, 333, 2_500, COUNT];

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `many-${shards}`, dimensions: 8, shards });
    const records = Array.from({ length: COUNT }, (_, at) => ({
      id: `m${at}`,
      values: Array.from({ length: 8 }, (_, axis) => Math.sin(at * (axis + 1) + axis)),
      metadata: { at, of: selective.filter((count) => at % COUNT < count) },
    }));
    for (let at = 0; at < COUNT; at += 1_000) {
      await service.api('POST', `${path}/upsert`, { records: records.slice(at, at + 1_000) });
    }
  });

  test.each(selective.flatMap((count) => [1, 10, 100, 3_000].map((topK) => [count, topK])))(
    '%i matching records, topK %i',
    async (count, topK) => {
      const vector = [-0.3, 0.2, 0.9, -0.1, 0.4, 0.5, -0.6, 0.7];
      const ask = async (exact: boolean) => {
        const request = { vector, topK, filter: { of: count }, includeMetadata: false, exact };
        return (await service.api<Answered>('POST', `${path}/query`, request)).body.matches;
      };
      const matches = await ask(false);
      expect(matches).toHaveLength(Math.min(topK, count));
      expect(matches.every(({ id }) => Number(id.slice(1)) < count)).toBe(true);
      if (count <= 50) expect(matches).toEqual(await ask(true));
    },
  );
});
