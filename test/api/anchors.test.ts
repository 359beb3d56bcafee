import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AnchorsPage, UpsertResult } from '../../contracts/actions/collections.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const WRITES = 7;

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/anchors-${shards}`;
  const written: AnchorsPage['anchors'] = [];
  const page = (search = '') => service.api<AnchorsPage>('GET', `${path}/anchors${search}`);

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `anchors-${shards}`, dimensions: 1, shards });
  });

  test('is empty at first', async () => {
    expect(await page()).toMatchObject({ status: 200, body: { anchors: [], dropped: 0, nextCursor: null } });
  });

  test('lists every confirmed root, newest first', async () => {
    for (let at = 0; at < WRITES; at++) {
      const records = [{ id: `r${at}`, values: [at + 1] }];
      const { body } = await service.api<UpsertResult>('POST', `${path}/upsert`, { records });
      const { version, merkleRoot, vectorCount, ledgerTx, ledgerExplorerUrl } = body;
      written.unshift({
        position: at + 1,
        version,
        merkleRoot,
        vectorCount,
        decisions: 0,
        ledgerTx: ledgerTx!,
        ledgerExplorerUrl,
        confirmedAt: expect.stringMatching(/^\d{4}-.*Z$/) as unknown as string,
        sealed: true,
      });
    }
    const { status, body } = await page();
    expect({ status, body }).toEqual({ status: 200, body: { anchors: written, dropped: 0, nextCursor: null } });
  });

  test.each([1, 2, 3, 6, 7, 8, 1_000])('lists them in pages of %i', async (limit) => {
    const pages: AnchorsPage['anchors'][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await page(`?limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      pages.push(body.anchors);
      cursor = body.nextCursor;
    }
    expect(pages.flat()).toEqual(written);
    expect(pages.map(({ length }) => length)).toEqual([
      ...Array(Math.ceil(WRITES / limit) - 1).fill(limit),
      WRITES % limit || limit,
    ]);
  });

  test('a root confirmed between two pages does not shift the next page', async () => {
    const first = (await page('?limit=3')).body;
    await service.api('POST', `${path}/upsert`, { records: [{ id: 'later', values: [1] }] });
    const second = (await page(`?limit=3&cursor=${first.nextCursor}`)).body;
    expect([...first.anchors, ...second.anchors]).toEqual(written.slice(0, 6));
  });

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?limit=-1', 'limit'],
    ['?limit=1.5', 'limit'],
    ['?limit=ten', 'limit'],
    ['?limit=', 'limit'],
    ['?cursor=', 'cursor'],
    ['?cursor=made-up', 'cursor'],
    [`?cursor=${'x'.repeat(600)}`, 'cursor'],
    ['?limit=1&limit=2', 'limit'],
    ['?offset=3', 'offset'],
  ])('%s is refused', async (search, field) => {
    expect(await page(search)).toEqual(refusalOf(field));
  });
});

test('returns none on the free plan', async () => {
  const { api } = await createTenant(service, 'free');
  await api('POST', '/collections', { name: 'free', dimensions: 1 });
  await api('POST', '/collections/free/upsert', { records: [{ id: 'a', values: [1] }] });
  expect((await api('GET', '/collections/free/anchors')).body).toEqual({ anchors: [], dropped: 0, nextCursor: null });
});

test('returns 404 for an unknown collection', async () => {
  expect(await service.api('GET', '/collections/never/anchors')).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
});
