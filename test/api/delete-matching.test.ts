import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { SHARD_COUNTS } from '../support/effort.ts';
import { naiveMatches } from '../support/naive-filter.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

type Json = Record<string, unknown>;
interface Deleted {
  deleted: boolean;
  deletedCount: number;
  version: number;
  vectorCount: number;
  merkleRoot: string;
}

const RECORDS = Array.from({ length: 300 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at],
  metadata: { n: at, kind: at % 3 === 0 ? 'third' : 'other', ...(at % 5 === 0 && { list: [at, 'x'] }) },
}));

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each(SHARD_COUNTS)('over %i shards', (shards) => {
  const path = `/collections/emptied-${shards}`;
  const remove = async (body: Json) => (await service.api<Deleted>('POST', `${path}/delete`, body)).body;
  const count = async () => (await service.api<{ count: number }>('POST', `${path}/count`, {})).body.count;

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `emptied-${shards}`, dimensions: 2, shards });
  });
  beforeEach(async () => {
    await service.api('POST', `${path}/upsert`, { records: RECORDS });
  });

  test.each<Json>([
    { kind: 'third' },
    { list: 'x', n: { $gte: 100 } },
    { kind: { $ne: 'third' } },
    { list: { $exists: false } },
    { n: 'absent' },
  ])('deletes exactly the records that %j matches', async (filter) => {
    const going = RECORDS.filter(({ metadata }) => naiveMatches(filter, metadata)).map(({ id }) => id);
    const before = (await service.api<{ collection: Json }>('GET', path)).body.collection;
    const counted = await remove({ filter, dryRun: true });
    expect(counted).toMatchObject({
      deleted: false,
      deletedCount: going.length,
      vectorCount: 300,
      merkleRoot: before.merkleRoot,
      version: before.version,
    });
    const answer = await remove({ filter });
    expect(answer).toMatchObject({ deleted: true, deletedCount: going.length, vectorCount: 300 - going.length });
    const ids = RECORDS.map(({ id }) => id);
    const left = await service.api<{ vectors: object }>('POST', `${path}/fetch`, { ids });
    expect(Object.keys(left.body.vectors).sort()).toEqual(ids.filter((id) => !going.includes(id)).sort());
    const { merkleRoot } = (await service.api<{ collection: Json }>('GET', path)).body.collection;
    expect(answer.merkleRoot).toBe(merkleRoot);
  });

  test('deletes all records', async () => {
    expect(await remove({ all: true, dryRun: true })).toMatchObject({ deleted: false, deletedCount: 300 });
    expect(await remove({ all: true })).toMatchObject({ deleted: true, deletedCount: 300, vectorCount: 0 });
    expect(await count()).toBe(0);
    expect(await remove({ all: true })).toMatchObject({ deleted: true, deletedCount: 0, vectorCount: 0 });
  });

  test('a dry run reports which of the given ids exist', async () => {
    expect(await remove({ ids: ['r1', 'r2', 'absent'], dryRun: true })).toMatchObject({
      deleted: false,
      deletedCount: 2,
    });
    expect(await count()).toBe(300);
  });

  test('skips a record that no longer matches when its turn comes', async () => {
    const flips = RECORDS.map(({ id }) => ({ id, setMetadata: { kind: 'kept' } }));
    const [{ deletedCount }] = await Promise.all([
      remove({ filter: { kind: 'third' } }),
      service.api('POST', `${path}/update`, { updates: flips }),
    ]);
    // Whichever came first, no record to keep is gone, and no other record is left.
    expect(await count()).toBe(300 - deletedCount);
    const kept = await service.api('POST', `${path}/count`, { filter: { kind: 'kept' } });
    expect(kept.body).toEqual({ count: 300 - deletedCount });
  });
});

describe('refuses', () => {
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'kept', dimensions: 2 });
  });

  test.each<[string, Json, string, string]>([
    ['a filter without a condition', { filter: {} }, 'INVALID_ARGUMENT', 'filter'],
    ['an empty part of a filter', { filter: { $and: [{}] } }, 'INVALID_ARGUMENT', 'filter'],
    ['one field among others', { filter: { $or: [{ a: 1 }, {}] } }, 'INVALID_ARGUMENT', 'filter'],
    ['one that is negated', { filter: { $not: { $not: {} } } }, 'INVALID_ARGUMENT', 'filter'],
    ['ids and a filter', { ids: ['a'], filter: { a: 1 } }, 'INVALID_ARGUMENT', 'ids'],
    ['all and a filter', { all: true, filter: { a: 1 } }, 'INVALID_ARGUMENT', 'filter'],
    ['nothing', {}, 'INVALID_ARGUMENT', 'ids'],
    ['all: false', { all: false }, 'INVALID_ARGUMENT', 'all'],
    ['an unknown operator', { filter: { a: { $near: 1 } } }, 'INVALID_FILTER', 'filter.a.$near'],
    ['text for dryRun', { all: true, dryRun: 'yes' }, 'INVALID_ARGUMENT', 'dryRun'],
  ])('%s', async (_, body, code, path) => {
    const { status, body: answer } = await service.api('POST', '/collections/kept/delete', body);
    expect([status, answer]).toMatchObject([400, { code, details: [{ path }] }]);
  });
});
