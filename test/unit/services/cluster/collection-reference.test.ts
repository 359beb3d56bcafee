import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ReferenceResolver } from '../../../../services/cluster/collection-reference.ts';
import type { AccountRow } from '../../../../store/catalog.ts';
import { newAccount, newCollection } from '../../../contract/store-rows.ts';
import { openTemporaryStore, type TemporaryStore } from '../../../support/world.ts';

const acme = newAccount({ name: 'acme' });
const globex = newAccount({ name: 'globex' });
const inAccount = ({ id: accountId }: AccountRow, name: string) => newCollection({ accountId, name });
const alone = inAccount(acme, 'alone');
const likeAnId = inAccount(globex, randomUUID());
const both = [inAccount(acme, 'both'), inAccount(globex, 'both')];

let opened: TemporaryStore;
let references: ReferenceResolver;
beforeAll(async () => {
  opened = await openTemporaryStore();
  const { catalog } = opened.store;
  for (const account of [acme, globex]) await catalog.createAccount(account);
  for (const row of [alone, likeAnId, ...both]) await catalog.createCollection(row, null);
  references = new ReferenceResolver(catalog);
});
afterAll(() => opened.destroy());

test('finds a collection by its id, by account and name, and by a name that only one account has', async () => {
  for (const reference of [alone.id, 'acme/alone', `${acme.id}/alone`, 'alone'])
    expect(await references.collection(reference)).toMatchObject({ id: alone.id });
  expect(await references.collection(likeAnId.name)).toMatchObject({ id: likeAnId.id });
  expect(await references.shard('alone.1')).toMatchObject({ row: { id: alone.id }, index: 1 });
});

test('refuses a name that several accounts have, with the candidates', async () => {
  await expect(references.collection('both')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/^2 accounts .*acme\/both, globex\/both\.$/),
  });
  expect(await references.collection('globex/both')).toMatchObject({ id: both[1]!.id });
});

test('does not find what does not exist', async () => {
  for (const reference of ['none', 'acme/none', randomUUID()])
    await expect(references.collection(reference)).rejects.toMatchObject({ code: 'COLLECTION_NOT_FOUND' });
});
