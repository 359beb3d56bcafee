import { beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionDetail, CollectionView, UpsertResult } from '../../lib/actions/collections.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const EMPTY_ROOT = '0'.repeat(64);

let service: SharedService;
let other: Tenant;
beforeAll(async () => {
  service = await shareService('anchored');
  other = await createTenant(service, 'free');
});

const list = async (api = service.api) => (await api<{ collections: CollectionView[] }>('GET', '/collections')).body;
const get = async (name: string, api = service.api) =>
  (await api<{ collection: CollectionDetail }>('GET', `/collections/${name}`)).body.collection;

describe('the list', () => {
  test('is empty at first', async () => {
    expect(await list()).toEqual({ collections: [] });
  });

  test('has the newest first, each with what it was created with and its count', async () => {
    const made: object[] = [];
    for (const name of ['first', 'second', 'third']) {
      const { body } = await service.api('POST', '/collections', { name, dimensions: 2, shards: 4 });
      made.unshift({ ...(body.collection as object), vector_count: name === 'second' ? 2 : 0 });
    }
    const records = [
      { id: 'a', values: [1, 0] },
      { id: 'b', values: [0, 1] },
    ];
    await service.api('POST', '/collections/second/upsert', { records });
    expect(await list()).toEqual({ collections: made });
  });

  test('is that of the account alone', async () => {
    expect(await list(other.api)).toEqual({ collections: [] });
  });
});

describe.each([1, 8])('one of %i shards', (shards) => {
  const name = `read-${shards}`;

  test('empty: root, version, and an anchor that is not there yet', async () => {
    const { body } = await service.api('POST', '/collections', { name, dimensions: 2, shards });
    expect(await get(name)).toEqual({
      ...(body.collection as object),
      merkleRoot: EMPTY_ROOT,
      version: 0,
      anchor: {
        status: 'none',
        version: null,
        merkleRoot: null,
        ledgerTx: null,
        ledgerAddress: expect.any(String),
        ledgerExplorerUrl: null,
        confirmedAt: null,
      },
    });
  });

  test('written: what the upsert said, and its anchor', async () => {
    const records = Array.from({ length: 20 }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
    const { body } = await service.api<UpsertResult>('POST', `/collections/${name}/upsert`, { records });
    const { merkleRoot, version, ledgerTx, ledgerExplorerUrl } = body;
    expect(await get(name)).toMatchObject({
      vector_count: 20,
      merkleRoot,
      version,
      anchor: {
        status: 'confirmed',
        version,
        merkleRoot,
        ledgerTx,
        ledgerExplorerUrl,
        confirmedAt: expect.stringMatching(/Z$/),
      },
    });
  });
});

test('on a plan without anchoring there is nothing of a ledger', async () => {
  await other.api('POST', '/collections', { name: 'free', dimensions: 1 });
  await other.api('POST', '/collections/free/upsert', { records: [{ id: 'a', values: [1] }] });
  const { anchor, vector_count } = await get('free', other.api);
  expect(vector_count).toBe(1);
  expect(anchor).toEqual({
    status: 'none',
    version: null,
    merkleRoot: null,
    ledgerTx: null,
    ledgerAddress: null,
    ledgerExplorerUrl: null,
    confirmedAt: null,
  });
});

test("another account's is exactly as absent as one that never existed", async () => {
  for (const path of ['first', 'never', 'a%2Fb', 'a%00b', '%F0%9F%A7%AD', '%', 'x'.repeat(65)]) {
    const answer = await other.api('GET', `/collections/${path}`);
    expect([path, answer]).toEqual([path, refusal(404, 'COLLECTION_NOT_FOUND')]);
  }
  const messages = await Promise.all(
    ['first', 'third'].map(async (name) => (await other.api('GET', `/collections/${name}`)).body.error),
  );
  const never = (await other.api('GET', '/collections/never')).body.error as string;
  expect(messages).toEqual(['first', 'third'].map((name) => never.replace('never', name)));
});
