/** Seen in earlier systems: a delete changes the root, but the ledger never learns of it. */
import { beforeAll, expect, test } from '@jest/globals';
import { verifyAccount } from '../../client/index.ts';
import type { CollectionDetail, DeleteResult } from '../../contracts/actions/collections.ts';
import { ledgerAccount } from '../support/ledger-account.ts';
import { referenceLeaf, referenceRoot } from '../support/reference-root.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const RECORDS = ['a', 'b', 'c', 'd'].map((id, at) => ({ id, values: [1, at], metadata: { at } }));
const rootWithout = (...gone: string[]) =>
  referenceRoot(
    RECORDS.filter(({ id }) => !gone.includes(id)).map(({ id, values, metadata }) =>
      referenceLeaf(id, values, metadata),
    ),
  );

let service: SharedService;
let collectionId: string;

beforeAll(async () => {
  service = await shareService('anchored');
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'demo',
    dimensions: 2,
    shards: 2,
  });
  collectionId = body.collection.id;
  await service.api('POST', '/collections/demo/upsert', { records: RECORDS });
});

/** The collection's state on the ledger, read directly. */
async function onLedger() {
  const { collection } = (await service.api<{ collection: CollectionDetail }>('GET', '/collections/demo')).body;
  const account = await ledgerAccount(service, collection.anchor.ledgerAddress!);
  return verifyAccount(account!, { authority: service.ledger!.authority, collectionId });
}

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
  expect(await onLedger()).toMatchObject({ merkleRoot, version: body.version, vectorCount });
});

test('a delete of nothing anchors nothing', async () => {
  const { body } = await service.api<DeleteResult>('POST', '/collections/demo/delete', { ids: ['absent'] });
  expect(body).toMatchObject({ deletedCount: 0, merkleRoot: '0'.repeat(64), anchor: { status: 'confirmed' } });
  expect(await onLedger()).toMatchObject({ version: body.version });
});
