import { beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionDetail } from '../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../contracts/actions/verification.ts';
import { type Api, apiClient } from '../support/api-client.ts';
import { Content } from '../support/content.ts';
import { ledgerAccount } from '../support/ledger-account.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const SENTENCE = /^[A-Z].*\.$/;

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

const verify = (path: string, api: Api = service.api) => api<VerifyResult>('GET', `${path}/verify`);

describe.each([1, 8])('over %i shards', (shards) => {
  const path = `/collections/verify-${shards}`;
  const content = new Content();
  const batch = (from: number, length: number) =>
    Array.from({ length }, (_, at) => ({ id: `r${from + at}`, values: [1, from + at], metadata: { at } }));
  const matching = (version: number) => ({
    verified: true,
    onChainRoot: content.root,
    computedRoot: content.root,
    match: true,
    vectorCount: content.size,
    ledgerExplorerUrl: null,
    state: 'match',
    version,
    anchoredVersion: version,
    ledgerAddress: expect.stringMatching(ADDRESS),
    checkedAt: expect.stringMatching(TIME),
  });

  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `verify-${shards}`, dimensions: 2, shards });
  });

  test('a collection without writes: none; a verify with a read-only key anchors nothing', async () => {
    const { body: created } = await service.api<{ key: { secret: string } }>('POST', '/keys', {
      name: 'reader',
      scopes: ['read'],
    });
    const { status, body } = await verify(path, apiClient(service.url, created.key.secret));
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        ...matching(0),
        verified: false,
        onChainRoot: null,
        match: false,
        state: 'none',
        anchoredVersion: null,
        reason: expect.stringMatching(SENTENCE),
      },
    });
    expect(await ledgerAccount(service, body.ledgerAddress!)).toBeNull();
    const { collection } = (await service.api<{ collection: CollectionDetail }>('GET', path)).body;
    expect(collection.anchor).toMatchObject({ status: 'none' });
  });

  test('after every write the recomputed root is on the ledger', async () => {
    for (const records of [batch(0, 30), batch(10, 30), batch(500, 1)]) {
      content.upsert(records);
      const { version } = (await service.api('POST', `${path}/upsert`, { records })).body;
      const { status, body } = await verify(path);
      expect({ status, body }).toEqual({ status: 200, body: matching(version as number) });
    }
    content.delete(['r3', 'r4']);
    const { version } = (await service.api('POST', `${path}/delete`, { ids: ['r3', 'r4'] })).body;
    expect((await verify(path)).body).toEqual(matching(version as number));
  });

  test('during writes, no verify is a mismatch', async () => {
    const writes = Array.from({ length: 10 }, async (_, at) => {
      const records = batch(1_000 + 20 * at, 20);
      content.upsert(records);
      return service.api('POST', `${path}/upsert`, { records });
    });
    const verdicts = await Promise.all(Array.from({ length: 10 }, () => verify(path)));
    await Promise.all(writes);
    expect(verdicts.map(({ status, body }) => [status, body.state])).toEqual(
      Array(10).fill([200, expect.stringMatching(/^(match|pending)$/)]),
    );
    expect((await verify(path)).body).toMatchObject({ state: 'match', onChainRoot: content.root });
  });
});

test('not_anchored on the free plan: recomputed, with nothing to compare', async () => {
  const { api } = await createTenant(service, 'free');
  const content = new Content();
  const records = [{ id: 'a', values: [1] }];
  content.upsert(records);
  await api('POST', '/collections', { name: 'free', dimensions: 1 });
  const { version } = (await api('POST', '/collections/free/upsert', { records })).body;
  const { status, body } = await verify('/collections/free', api);
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      verified: false,
      onChainRoot: null,
      computedRoot: content.root,
      match: false,
      vectorCount: 1,
      ledgerExplorerUrl: null,
      state: 'not_anchored',
      version,
      anchoredVersion: null,
      ledgerAddress: null,
      checkedAt: expect.stringMatching(TIME),
      reason: expect.stringMatching(SENTENCE),
    },
  });
});

test('returns 404 for an unknown collection', async () => {
  expect(await verify('/collections/never')).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
});
