import { beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionDetail, UpsertResult } from '../../contracts/actions/collections.ts';
import { Content, type SentRecord } from '../support/content.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/upsert-${shards}`;
  const content = new Content();
  let version = 0;

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `upsert-${shards}`, dimensions: 3, shards });
  });

  /** Upserts records and compares the whole response with the expected content. */
  async function upsert(records: SentRecord[], upsertedCount: number): Promise<UpsertResult> {
    content.upsert(records);
    const { status, body } = await service.api<UpsertResult>('POST', `${path}/upsert`, { records });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        upsertedCount,
        merkleRoot: content.root,
        vectorCount: content.size,
        version: expect.any(Number),
        ledgerProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
        ledgerTx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/),
        ledgerExplorerUrl: null,
        anchor: { status: 'confirmed' },
      },
    });
    expect(body.version).toBeGreaterThan(version);
    version = body.version;
    return body;
  }
  const fetchOne = async (id: string) =>
    (await service.api<{ vectors: Record<string, SentRecord> }>('POST', `${path}/fetch`, { ids: [id] })).body.vectors[
      id
    ];

  test('counts its records, and returns the root of the stored ones', async () => {
    await upsert([{ id: 'one', values: [1, 2, 3], metadata: { n: 1 } }], 1);
    const many = Array.from({ length: 60 }, (_, at) => ({ id: `r${at}`, values: [at, 1, -0.1], metadata: { at } }));
    await upsert(many, 60);
  });

  test('replaces the whole record', async () => {
    await upsert([{ id: 'one', values: [3, 2, 1] }], 1);
    expect(await fetchOne('one')).toEqual({ id: 'one', values: [3, 2, 1], metadata: {} });
    await upsert([{ id: 'one', values: [3, 2, 1], metadata: { other: true } }], 1);
    expect(await fetchOne('one')).toEqual({ id: 'one', values: [3, 2, 1], metadata: { other: true } });
  });

  test('of duplicate ids the last wins, and counts once', async () => {
    const twice = [
      { id: 'twice', values: [1, 0, 0], metadata: { at: 'first' } },
      { id: 'between', values: [0, 1, 0] },
      { id: 'twice', values: [0, 0, 1], metadata: { at: 'last' } },
    ];
    await upsert(twice, 2);
    expect(await fetchOne('twice')).toEqual(twice[2]);
  });

  test('sent again, changes only the version', async () => {
    const records = [{ id: 'again', values: [1, 1, 1], metadata: { a: 1 } }];
    const first = await upsert(records, 1);
    const second = await upsert(records, 1);
    expect(second.merkleRoot).toBe(first.merkleRoot);
    expect(second.vectorCount).toBe(first.vectorCount);
  });

  test('concurrent upserts all count, and the ledger has them all', async () => {
    const batches = Array.from({ length: 12 }, (_, batch) =>
      Array.from({ length: 5 }, (_, at) => ({ id: `c${batch}-${at}`, values: [batch, at, 1] })),
    );
    for (const records of batches) content.upsert(records);
    const answers = await Promise.all(
      batches.map((records) => service.api<UpsertResult>('POST', `${path}/upsert`, { records })),
    );
    expect(answers.map(({ status, body }) => [status, body.upsertedCount])).toEqual(Array(12).fill([200, 5]));
    const { collection } = (await service.api<{ collection: CollectionDetail }>('GET', path)).body;
    expect(collection).toMatchObject({
      merkleRoot: content.root,
      vector_count: content.size,
      anchor: { status: 'confirmed', merkleRoot: content.root, version: collection.version },
    });
    version = collection.version;
  });

  test('a request with one invalid record writes nothing', async () => {
    const records = [
      { id: 'good', values: [1, 2, 3] },
      { id: 'bad', values: [1, 2] },
    ];
    expect(await service.api('POST', `${path}/upsert`, { records })).toEqual(
      refusal(400, 'DIMENSION_MISMATCH', {
        details: [{ path: 'records[1].values', expected: '3 numbers', got: 'an array of 2' }],
      }),
    );
    expect(await fetchOne('good')).toBeUndefined();
    expect((await service.api('GET', path)).body).toMatchObject({ collection: { merkleRoot: content.root, version } });
  });
});

test('returns 404 for an unknown collection', async () => {
  const records = [{ id: 'a', values: [1] }];
  expect(await service.api('POST', '/collections/never/upsert', { records })).toEqual(
    refusal(404, 'COLLECTION_NOT_FOUND'),
  );
});
