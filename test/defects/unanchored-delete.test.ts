/** Seen in earlier systems: a delete changes the root, and the ledger never hears of it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DeleteResult } from '../../lib/actions/collections.ts';
import { LedgerRelay } from '../support/ledger-relay.ts';
import { referenceLeaf, referenceRoot } from '../support/reference-root.ts';
import { startService, type TestService } from '../support/service.ts';

const RECORDS = ['a', 'b', 'c', 'd'].map((id, at) => ({ id, values: [1, at], metadata: { at } }));
const rootWithout = (...gone: string[]) =>
  referenceRoot(
    RECORDS.filter(({ id }) => !gone.includes(id)).map(({ id, values, metadata }) =>
      referenceLeaf(id, values, metadata),
    ),
  );

let relay: LedgerRelay;
let service: TestService;
let collectionId: string;

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '60000' });
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'demo',
    dimensions: 2,
    shards: 2,
  });
  collectionId = body.collection.id;
  await service.api('POST', '/collections/demo/upsert', { records: RECORDS });
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

test.each([
  ['of some', ['b', 'absent'], ['b'], 3],
  ['of the rest', ['a', 'c', 'd'], ['a', 'b', 'c', 'd'], 0],
])('a delete %s is on the ledger when it is acknowledged', async (_, ids, gone, vectorCount) => {
  const merkleRoot = rootWithout(...gone);
  const { status, body } = await service.api<DeleteResult>('POST', '/collections/demo/delete', { ids });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { deleted: true, merkleRoot, vectorCount, anchor: { status: 'confirmed' }, ledgerTx: expect.any(String) },
  });
  const account = await (await relay.client('authority')).read(collectionId);
  expect(account).toEqual({ status: 'found', fields: { merkleRoot, version: body.version, vectorCount } });
});

test('a delete of nothing anchors nothing anew', async () => {
  const { body } = await service.api<DeleteResult>('POST', '/collections/demo/delete', { ids: ['absent'] });
  expect(body).toMatchObject({ deletedCount: 0, merkleRoot: '0'.repeat(64), anchor: { status: 'confirmed' } });
  const account = await (await relay.client('authority')).read(collectionId);
  expect(account).toMatchObject({ fields: { version: body.version } });
});
