import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { SHARD_COUNTS } from '../support/effort.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

type Json = Record<string, unknown>;
interface Updated {
  matchedCount: number;
  updatedCount: number;
  version: number;
  vectorCount: number;
  merkleRoot: string;
}

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

describe.each(SHARD_COUNTS)('over %i shards', (shards) => {
  const path = `/collections/updated-${shards}`;
  const update = async (body: Json) => (await service.api<Updated>('POST', `${path}/update`, body)).body;
  const writes = async () => (await service.api<{ usage: Json }>('GET', '/usage')).body.usage.write_count as number;
  const stored = async (...ids: string[]) =>
    (await service.api<{ vectors: Json }>('POST', `${path}/fetch`, { ids })).body.vectors;
  const root = async () => (await service.api<{ collection: Json }>('GET', path)).body.collection.merkleRoot;

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `updated-${shards}`, dimensions: 2, shards });
  });
  beforeEach(async () => {
    const records = Array.from({ length: 50 }, (_, at) => ({
      id: `r${at}`,
      values: [1, at],
      metadata: { n: at, kind: at % 2 === 0 ? 'even' : 'odd', deep: { a: 1, b: 2 } },
    }));
    await service.api('POST', `${path}/upsert`, { records });
  });

  test('merges each key as a whole, sets null, removes keys, and changes vectors', async () => {
    const before = await writes();
    const answer = await update({
      updates: [
        { id: 'r1', setMetadata: { deep: { c: 3 }, kind: null, new: [1] } },
        { id: 'r2', unsetMetadata: ['deep', 'absent'] },
        { id: 'r3', values: [5, 6] },
        { id: 'r4', values: [7, 8], setMetadata: { n: -4 }, unsetMetadata: ['kind'] },
        { id: 'absent', setMetadata: { n: 1 } },
      ],
    });
    expect(answer).toMatchObject({ matchedCount: 4, updatedCount: 4, vectorCount: 50 });
    expect(answer.merkleRoot).toBe(await root());
    expect(await stored('r1', 'r2', 'r3', 'r4', 'absent')).toEqual({
      r1: { id: 'r1', values: [1, 1], metadata: { n: 1, kind: null, deep: { c: 3 }, new: [1] } },
      r2: { id: 'r2', values: [1, 2], metadata: { n: 2, kind: 'even' } },
      r3: { id: 'r3', values: [5, 6], metadata: { n: 3, kind: 'odd', deep: { a: 1, b: 2 } } },
      r4: { id: 'r4', values: [7, 8], metadata: { n: -4, deep: { a: 1, b: 2 } } },
    });
    expect(await writes()).toBe(before + 4);
  });

  test('an unchanged record is found, not written, and costs nothing', async () => {
    const [before, beforeRoot] = [await writes(), await root()];
    const { version } = (await service.api<{ collection: Json }>('GET', path)).body.collection;
    const answer = await update({
      updates: [
        { id: 'r1', setMetadata: { n: 1 } },
        { id: 'r2', values: [1, 2], unsetMetadata: ['absent'] },
      ],
    });
    expect(answer).toMatchObject({ matchedCount: 2, updatedCount: 0, version, merkleRoot: beforeRoot });
    expect(await writes()).toBe(before);
  });

  test('two concurrent updates of different keys of one record both take effect', async () => {
    const keys = Array.from({ length: 40 }, (_, at) => `key${at}`);
    await Promise.all(keys.map((key) => update({ updates: [{ id: 'r7', setMetadata: { [key]: key } }] })));
    const { r7 } = await stored('r7');
    expect((r7 as { metadata: Json }).metadata).toMatchObject(Object.fromEntries(keys.map((key) => [key, key])));
  });

  test('by filter changes the matching records, and counts them', async () => {
    const before = await writes();
    const filter = { kind: 'odd', n: { $lt: 20 } };
    expect(await update({ filter, setMetadata: { small: true }, unsetMetadata: ['deep'], dryRun: true })).toMatchObject(
      {
        matchedCount: 10,
        updatedCount: 0,
      },
    );
    expect(await writes()).toBe(before);
    expect(await update({ filter, setMetadata: { small: true }, unsetMetadata: ['deep'] })).toMatchObject({
      matchedCount: 10,
      updatedCount: 10,
      vectorCount: 50,
    });
    expect(await writes()).toBe(before + 10);
    const counted = await service.api('POST', `${path}/count`, { filter: { small: true, deep: { $exists: false } } });
    expect(counted.body).toEqual({ count: 10 });
    expect(await update({ filter, setMetadata: { small: true } })).toMatchObject({ matchedCount: 10, updatedCount: 0 });
    expect(await update({ filter: { n: 'nothing' }, setMetadata: { a: 1 } })).toMatchObject({ matchedCount: 0 });
  });

  test('refuses a merge that makes metadata too long, and changes nothing', async () => {
    const long = { text: 'x'.repeat(40_000) };
    await update({ updates: [{ id: 'r9', setMetadata: long }] });
    const before = await stored('r9', 'r10');
    const refused = await service.api('POST', `${path}/update`, {
      updates: [{ id: 'r9', setMetadata: { more: 'x'.repeat(2_000) } }],
    });
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { code: 'INVALID_ARGUMENT', details: [{ path: 'updates[0]', got: expect.stringMatching(/^\d+ bytes$/) }] },
    ]);
    expect(await stored('r9', 'r10')).toEqual(before);
    // A record of another shard is not written either.
    const mixed = await service.api('POST', `${path}/update`, {
      updates: [
        { id: 'r9', setMetadata: { more: 'x'.repeat(2_000) } },
        { id: 'r10', setMetadata: { n: -1 } },
      ],
    });
    expect([mixed.status, mixed.body]).toMatchObject([400, { details: [{ path: 'updates[0]' }] }]);
    expect(await stored('r9', 'r10')).toEqual(before);
    // Other requests sent at the same time succeed.
    const together = await Promise.all([
      service.api('POST', `${path}/update`, { updates: [{ id: 'r9', setMetadata: { more: 'x'.repeat(2_000) } }] }),
      service.api('POST', `${path}/update`, { updates: [{ id: 'r9', unsetMetadata: ['text'] }] }),
    ]);
    expect(together[1].status).toBe(200);
  });
});

describe('refuses', () => {
  const refusal = async (body: unknown) => {
    const { status, body: answer } = await service.api<Json>('POST', '/collections/refused/update', body as Json);
    return [status, answer.code, (answer.details as { path: string }[] | undefined)?.[0]?.path];
  };
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'refused', dimensions: 2 });
    const records = Array.from({ length: 5 }, (_, at) => ({ id: `r${at}`, values: [1, at], metadata: { n: at } }));
    await service.api('POST', '/collections/refused/upsert', { records });
  });

  test.each<[string, Json, string]>([
    ['neither updates nor a filter', {}, 'updates'],
    ['both', { updates: [{ id: 'a', setMetadata: { a: 1 } }], filter: { a: 1 } }, 'updates'],
    ['no update', { updates: [] }, 'updates'],
    [
      '1,001 updates',
      { updates: Array.from({ length: 1_001 }, (_, at) => ({ id: `${at}`, values: [1, 1] })) },
      'updates',
    ],
    ['an update of nothing', { updates: [{ id: 'r1' }] }, 'updates[0]'],
    ['an update that sets nothing', { updates: [{ id: 'r1', setMetadata: {} }] }, 'updates[0].setMetadata'],
    ['an update without an id', { updates: [{ values: [1, 1] }] }, 'updates[0].id'],
    ['an unknown field', { updates: [{ id: 'r1', metadata: {} }] }, 'updates[0].metadata'],
    [
      'an id twice',
      {
        updates: [
          { id: 'r1', values: [1, 1] },
          { id: 'r1', values: [1, 2] },
        ],
      },
      'updates[1].id',
    ],
    [
      'a key set and removed',
      { updates: [{ id: 'r1', setMetadata: { a: 1 }, unsetMetadata: ['a'] }] },
      'updates[0].unsetMetadata',
    ],
    ['null for metadata', { updates: [{ id: 'r1', setMetadata: null }] }, 'updates[0].setMetadata'],
    ['a vector of zeros', { updates: [{ id: 'r1', values: [0, 0] }] }, 'updates[0].values'],
    ['nothing to merge', { filter: { n: 1 } }, 'setMetadata'],
    ['a filter without a condition', { filter: {}, setMetadata: { a: 1 } }, 'filter'],
    ['a filter with an empty part', { filter: { $and: [{}] }, setMetadata: { a: 1 } }, 'filter'],
    ['a merge next to updates', { updates: [{ id: 'r1', values: [1, 1] }], setMetadata: { a: 1 } }, 'setMetadata'],
    ['a key that is not a string', { filter: { n: 1 }, unsetMetadata: [1] }, 'unsetMetadata[0]'],
  ])('%s', async (_, body, path) => {
    expect(await refusal(body)).toEqual([400, 'INVALID_ARGUMENT', path]);
  });

  test('a vector of another length', async () => {
    expect(await refusal({ updates: [{ id: 'r1', values: [1] }] })).toEqual([
      400,
      'DIMENSION_MISMATCH',
      'updates[0].values',
    ]);
  });
});
