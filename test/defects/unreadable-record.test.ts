/** Seen in earlier systems: one record that cannot be decoded makes the whole collection answer 500. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { shardKey } from '../../lib/shard/shard-key.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const VALUES = [0.25, 0.5, -0.75];

/** Cuts the stored vector of a record short by a byte; the number of records it did that to. */
function garble(dataDir: string, id: string): number {
  const records = new DatabaseSync(join(dataDir, 'records.db'), { timeout: 5_000 });
  const sql = 'UPDATE records SET vector = substr(vector, 1, length(vector) - 1) WHERE id = CAST(? AS BLOB)';
  const { changes } = records.prepare(sql).run(id);
  records.close();
  return Number(changes);
}

describe.each(['while the service runs', 'while it is stopped'])('a stored record garbled %s', (when) => {
  let service: TestService;
  const post = (path: string, body: object) => service.api('POST', `/collections/vault/${path}`, body);
  const verify = async () => (await service.api<VerifyResult>('GET', '/collections/vault/verify')).body;

  beforeAll(async () => {
    service = await startService();
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
      name: 'vault',
      dimensions: 3,
    });
    const records = ['first', 'victim', 'last'].map((id) => ({ id, values: VALUES, metadata: {} }));
    await post('upsert', { records });
    const { store } = service.provec;
    const key = shardKey(body.collection.id, 0);
    await until('the records are materialised', async () => (await store.records.appliedSeq(key)) === 1);
    expect((await verify()).state).toBe('match');
    if (when === 'while it is stopped') await service.provec.stop();
    expect(garble(service.dataDir, 'victim')).toBe(1);
    if (when === 'while it is stopped') await service.restart();
  });
  afterAll(() => service.stop());

  test('is named by verify, and the others are served and written', async () => {
    const unreadable = { state: 'mismatch', verified: false, differences: [{ id: 'victim', what: 'unreadable' }] };
    expect(await verify()).toMatchObject(unreadable);
    expect(await post('fetch', { ids: ['first', 'last'] })).toMatchObject({
      status: 200,
      body: { vectors: { first: { values: VALUES }, last: { values: VALUES } } },
    });
    expect(await post('query', { vector: VALUES, topK: 2 })).toMatchObject({ status: 200 });
    expect(await post('delete', { ids: ['first'] })).toMatchObject({ status: 200, body: { deletedCount: 1 } });
    expect(await verify()).toMatchObject(unreadable);
  });

  test('is well again once it was written again, and the operator has decided', async () => {
    await post('upsert', { records: [{ id: 'victim', values: VALUES, metadata: {} }] });
    if (when === 'while it is stopped') {
      const after = await verify();
      expect(after).toMatchObject({ state: 'mismatch', reason: expect.stringContaining('operator') });
      expect(after.differences).toBeUndefined();
      const [account] = await service.provec.store.catalog.listAccounts();
      const row = await service.provec.store.catalog.findCollection(account!.id, 'vault');
      await service.provec.broker.call('anchoring.resume', { collectionId: row!.id });
    }
    expect(await verify()).toMatchObject({ state: 'match', verified: true, vectorCount: 2 });
  });
});
