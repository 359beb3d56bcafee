import { expect, test } from '@jest/globals';
import { Provec } from '../../../client/index.ts';
import { shareService } from '../../support/shared-service.ts';
import { until } from '../../support/until.ts';

interface Numbered {
  at: number;
}

test('waits for the anchor of its root unless told not to', async () => {
  const service = await shareService('strict');
  const provec = new Provec({ url: service.url, apiKey: service.key });
  await provec.createCollection({ name: 'awaited', dimensions: 1 });
  const awaited = provec.collection('awaited');
  const write = (waitForAnchor?: boolean) => awaited.upsert({ records: [{ id: 'a', values: [1] }], waitForAnchor });
  expect(await write(false)).toMatchObject({ ledgerTx: null, anchor: { status: 'pending' } });
  await until('it is anchored', async () => (await awaited.describe()).anchor.status === 'confirmed');
});

test('upserts more records than one request may have', async () => {
  const service = await shareService('plain');
  const provec = new Provec({ url: service.url, apiKey: service.key });
  await provec.createCollection({ name: 'many', dimensions: 1, metric: 'dot' });
  const many = provec.collection<Numbered>('many');
  const records = Array.from({ length: 2_001 }, (_, at) => ({ id: `r${at}`, values: [at], metadata: { at } }));
  expect(await many.upsert({ records })).toMatchObject({ upsertedCount: 2_001, vectorCount: 2_001 });
  const { matches } = await many.query({ vector: [1], topK: 1 });
  expect(matches[0]!.metadata!.at).toBe(2_000);
  records[1_500]!.values = [1, 2];
  await expect(many.upsert({ records })).rejects.toMatchObject({
    code: 'DIMENSION_MISMATCH',
    message: expect.stringContaining('The first 1000 of 2001 records were stored before.'),
    storedCount: 1_000,
    details: [{ path: expect.stringContaining('records[1500]') }],
  });
});
