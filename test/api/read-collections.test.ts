import { beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionDetail, CollectionView, UpsertResult } from '../../contracts/actions/collections.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
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

  test('has the newest first, each with its settings and count', async () => {
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

  test("has only the account's collections", async () => {
    expect(await list(other.api)).toEqual({ collections: [] });
  });
});

describe('the list in pages', () => {
  const NAMES = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
  const newest = NAMES.toReversed();
  let tenant: Tenant;
  const page = async (query: string) =>
    (await tenant.api<{ collections: CollectionView[]; nextCursor?: string }>('GET', `/collections${query}`)).body;
  const namesOf = ({ collections }: { collections: CollectionView[] }) => collections.map(({ name }) => name);

  beforeAll(async () => {
    tenant = await createTenant(service, 'pro');
    for (const name of NAMES) await tenant.api('POST', '/collections', { name, dimensions: 1 });
  });

  test.each([1, 2, 4, 6, 1_000])(
    'pages of %i have each collection once, and a cursor if there are more',
    async (limit) => {
      const pages: string[][] = [];
      let cursor: string | undefined;
      do {
        const found = await page(`?limit=${limit}${cursor === undefined ? '' : `&cursor=${cursor}`}`);
        expect(Object.keys(found)).toEqual(
          found.nextCursor === undefined ? ['collections'] : ['collections', 'nextCursor'],
        );
        pages.push(namesOf(found));
        cursor = found.nextCursor;
      } while (cursor !== undefined);
      expect(pages.flat()).toEqual(newest);
      expect(pages.map(({ length }) => length)).toEqual(
        Array.from({ length: Math.ceil(6 / limit) }, (_, at) => Math.min(limit, 6 - at * limit)),
      );
    },
  );

  test('continues where it was if collections are created and deleted in between', async () => {
    const { nextCursor } = await page('?limit=2');
    await tenant.api('POST', '/collections', { name: 'p7', dimensions: 1 });
    for (const name of ['p5', 'p4']) await tenant.api('DELETE', `/collections/${name}`);
    expect(namesOf(await page(`?limit=2&cursor=${nextCursor}`))).toEqual(['p3', 'p2']);
    expect(namesOf(await page(`?cursor=${nextCursor}`))).toEqual(['p3', 'p2', 'p1']);
  });

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=ten', 'limit'],
    ['?limit=', 'limit'],
    ['?limit=1&limit=2', 'limit'],
    ['?cursor=', 'cursor'],
    ['?cursor=made-up', 'cursor'],
    [`?cursor=${'x'.repeat(600)}`, 'cursor'],
    ['?offset=1', 'offset'],
  ])('%s is refused', async (query, path) => {
    expect(await tenant.api('GET', `/collections${query}`)).toEqual(refusalOf(path));
  });

  test('refuses a cursor of another list', async () => {
    const cursor = Buffer.from('before 3').toString('base64url');
    expect(await tenant.api('GET', `/collections?cursor=${cursor}`)).toEqual(refusalOf('cursor'));
  });
});

describe.each([1, 8])('one collection of %i shards', (shards) => {
  const name = `read-${shards}`;

  test('empty: root, version, and no anchor yet', async () => {
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

  test('written: the values that the upsert returned, and its anchor', async () => {
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

test('a plan without anchoring has no ledger fields', async () => {
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

test("another account's collection gets the same 404 as one that never existed", async () => {
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
