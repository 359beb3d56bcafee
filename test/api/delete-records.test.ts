import { beforeAll, describe, expect, test } from '@jest/globals';
import type { DeleteResult } from '../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../contracts/actions/verification.ts';
import { Content } from '../support/content.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/delete-${shards}`;
  const records = Array.from({ length: 50 }, (_, at) => ({ id: `r${at}`, values: [1, at], metadata: { at } }));
  const content = new Content();
  let version = 0;

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `delete-${shards}`, dimensions: 2, shards });
    await service.api('POST', `${path}/upsert`, { records });
    content.upsert(records);
  });

  /** Deletes records and compares the whole response with the expected rest. */
  async function remove(ids: string[]): Promise<DeleteResult> {
    const deletedCount = content.delete(ids);
    const { status, body } = await service.api<DeleteResult>('POST', `${path}/delete`, { ids });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        deleted: true,
        deletedCount,
        merkleRoot: content.root,
        vectorCount: content.size,
        version: expect.any(Number),
        ledgerProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
        ledgerTx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/),
        ledgerExplorerUrl: null,
        anchor: { status: 'confirmed' },
      },
    });
    expect(body.version).toBeGreaterThanOrEqual(version);
    version = body.version;
    return body;
  }

  test('counts each existing record once', async () => {
    expect((await remove(['r1', 'r2', 'r3'])).deletedCount).toBe(3);
    expect((await remove(['r3', 'r4', 'absent', 'r5', 'r4', '__proto__'])).deletedCount).toBe(2);
    expect((await remove(['r1', 'r2', 'never'])).deletedCount).toBe(0);
  });

  test('is anchored: the ledger has the root without the records', async () => {
    const before = version;
    const { merkleRoot } = await remove(['r6']);
    expect(version).toBeGreaterThan(before);
    expect((await service.api<VerifyResult>('GET', `${path}/verify`)).body).toMatchObject({
      state: 'match',
      onChainRoot: merkleRoot,
      vectorCount: content.size,
    });
  });

  test('deleted records are no longer found, and can be written again', async () => {
    const { body } = await service.api('POST', `${path}/query`, { vector: [1, 6], topK: 100 });
    const ids = (body.matches as { id: string }[]).map(({ id }) => id);
    expect(ids).toHaveLength(content.size);
    expect(ids).not.toContain('r6');
    content.upsert([records[6]]);
    expect((await service.api('POST', `${path}/upsert`, { records: [records[6]] })).body).toMatchObject({
      merkleRoot: content.root,
      vectorCount: content.size,
    });
  });

  test('deleting the last record leaves the empty root', async () => {
    expect(await remove(records.map(({ id }) => id))).toMatchObject({ merkleRoot: '0'.repeat(64), vectorCount: 0 });
    expect((await service.api('GET', `${path}/verify`)).body).toMatchObject({
      state: 'match',
      onChainRoot: '0'.repeat(64),
      vectorCount: 0,
    });
  });
});

test('returns 404 for an unknown collection', async () => {
  expect(await service.api('POST', '/collections/never/delete', { ids: ['a'] })).toEqual(
    refusal(404, 'COLLECTION_NOT_FOUND'),
  );
});
