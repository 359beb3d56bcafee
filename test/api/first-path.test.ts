import { beforeAll, describe, expect, test } from '@jest/globals';
import { verifyProof } from '../../client/index.ts';
import type { RecordProof } from '../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../contracts/actions/verification.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const RECORDS = [
  { id: 'north', values: [0, 1, 0], metadata: { text: 'up', rank: 1 } },
  { id: 'east', values: [1, 0, 0], metadata: { text: 'right', rank: 2 } },
  { id: 'a/b …🧭', values: [0.6, 0.8, 0], metadata: { nested: { list: [null, true, 'x'] } } },
];

const WRITTEN = {
  merkleRoot: expect.stringMatching(/^[0-9a-f]{64}$/),
  ledgerProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  ledgerTx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/),
  ledgerExplorerUrl: null,
  anchor: { status: 'confirmed' },
};

describe.each([1, 8])('the first path over %i shards', (shards) => {
  let service: SharedService;
  let root = '';
  const path = '/collections/demo';

  beforeAll(async () => {
    service = await shareService('anchored');
  });

  test('creates a collection', async () => {
    const answer = await service.api('POST', '/collections', { name: 'demo', dimensions: 3, shards });
    expect(answer).toMatchObject({ status: 201, body: { collection: { name: 'demo', vector_count: 0, shards } } });
  });

  test('upserts and anchors', async () => {
    const answer = await service.api('POST', `${path}/upsert`, { records: RECORDS });
    expect(answer).toMatchObject({ status: 200, body: { upsertedCount: 3, vectorCount: 3, ...WRITTEN } });
    root = answer.body.merkleRoot as string;
  });

  test('finds them, with exact scores and metadata as sent', async () => {
    const { status, body } = await service.api('POST', `${path}/query`, { vector: [0, 2, 0], topK: 2 });
    expect(status).toBe(200);
    expect(body).toEqual({
      matches: [
        { id: 'north', score: 1, metadata: RECORDS[0].metadata },
        { id: 'a/b …🧭', score: expect.closeTo(0.8, 6), metadata: RECORDS[2].metadata },
      ],
    });
    const like = await service.api('POST', `${path}/query`, { id: 'north', topK: 1, includeMetadata: false });
    expect(like.body).toEqual({ matches: [{ id: 'north', score: 1 }] });
    const filtered = await service.api<{ matches: { id: string }[] }>('POST', `${path}/query`, {
      vector: [0, 2, 0],
      filter: { rank: { $gte: 2 } },
    });
    expect(filtered.body.matches.map(({ id }) => id)).toEqual(['east']);
  });

  test('fetches them', async () => {
    const { body } = await service.api('POST', `${path}/fetch`, { ids: ['a/b …🧭', 'absent'] });
    expect(body).toEqual({ vectors: { 'a/b …🧭': RECORDS[2] } });
  });

  test('proves presence and absence offline', async () => {
    const prove = async (id: string) =>
      (await service.api<{ proof: RecordProof }>('GET', `${path}/proof?id=${encodeURIComponent(id)}`)).body.proof;
    for (const { id, values, metadata } of RECORDS) {
      expect(verifyProof(root, await prove(id), { values, metadata })).toBe('present');
    }
    for (let at = 0; at < 16; at++) expect(verifyProof(root, await prove(`absent-${at}`))).toBe('absent');
  });

  test('verifies against the ledger', async () => {
    const { status, body } = await service.api<VerifyResult>('GET', `${path}/verify`);
    expect(status).toBe(200);
    expect(body).toEqual({
      verified: true,
      match: true,
      state: 'match',
      onChainRoot: root,
      computedRoot: root,
      vectorCount: 3,
      version: body.anchoredVersion,
      anchoredVersion: expect.any(Number),
      ledgerAddress: expect.any(String),
      ledgerExplorerUrl: null,
      checkedAt: expect.stringMatching(/Z$/),
    });
  });

  test('deletes', async () => {
    const { status, body } = await service.api('POST', `${path}/delete`, { ids: ['east', 'absent'] });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { deleted: true, deletedCount: 1, vectorCount: 2, ...WRITTEN },
    });
    expect(body.merkleRoot).not.toBe(root);
    root = body.merkleRoot as string;
  });

  test('has everything except the deleted record', async () => {
    const { body } = await service.api<{ collection: object }>('GET', path);
    expect(body.collection).toMatchObject({ merkleRoot: root, vector_count: 2, anchor: { status: 'confirmed' } });
    const fetched = await service.api('POST', `${path}/fetch`, { ids: RECORDS.map(({ id }) => id) });
    expect(fetched.body).toEqual({ vectors: { north: RECORDS[0], 'a/b …🧭': RECORDS[2] } });
    expect((await service.api('GET', `${path}/verify`)).body).toMatchObject({ state: 'match', onChainRoot: root });
  });

  test('pages through every confirmed root', async () => {
    type Page = { anchors: { merkleRoot: string; vectorCount: number }[]; nextCursor: string | null };
    const first = await service.api<Page>('GET', `${path}/anchors?limit=1`);
    expect(first.body.anchors).toMatchObject([{ merkleRoot: root, vectorCount: 2 }]);
    const second = await service.api<Page>('GET', `${path}/anchors?limit=1&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ anchors: [{ vectorCount: 3 }], nextCursor: null });
  });

  test('deletes the collection; a new one with its name starts empty', async () => {
    expect((await service.api('DELETE', path)).body).toEqual({ deleted: true });
    expect(await service.api('GET', path)).toMatchObject({ status: 404, body: { code: 'COLLECTION_NOT_FOUND' } });
    await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
    expect((await service.api('POST', `${path}/fetch`, { ids: ['north'] })).body).toEqual({ vectors: {} });
  });
});
