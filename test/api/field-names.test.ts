/** Names of metadata fields: how long they may be, and what becomes of longer ones in the store. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pineconeApi } from '../support/pinecone-api.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { TEST_KEY } from '../support/tenant.ts';

const MOST = 16_000;
const LONGEST = 'é'.repeat(MOST / 2);
const LONGER = `${LONGEST}x`;
/** A name as errors print it. */
const SHOWN = `${'é'.repeat(64)}...`;
const values = [1, 2];

let service: TestService;
beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off' });
  await service.api('POST', '/collections', { name: 'named', dimensions: 2 });
});
afterAll(() => service?.stop());

const at = (path: string, body: object, name = 'named') => service.api('POST', `/collections/${name}/${path}`, body);

type BodyOf = (name: string) => object;
const REQUESTS: readonly [string, BodyOf, string][] = [
  ['upsert', (n) => ({ records: [{ id: 'a', values, metadata: { [n]: 1 } }] }), `records[0].metadata.${SHOWN}`],
  [
    'upsert',
    (n) => ({ records: [{ id: 'b', values, metadata: { a: [{ [n]: 1 }] } }] }),
    `records[0].metadata.a[0].${SHOWN}`,
  ],
  ['update', (n) => ({ filter: { x: 1 }, setMetadata: { [n]: 1 } }), `setMetadata.${SHOWN}`],
  ['update', (n) => ({ filter: { x: 1 }, unsetMetadata: ['x', n] }), 'unsetMetadata[1]'],
  ['update', (n) => ({ updates: [{ id: 'a', unsetMetadata: [n] }] }), 'updates[0].unsetMetadata[0]'],
  ['count', (n) => ({ filter: { $or: [{ [n]: 1 }, { [n]: { $exists: true } }] } }), `filter.$or[0].${SHOWN}`],
  ['query', (n) => ({ vector: values, filter: { [n]: 1 } }), `filter.${SHOWN}`],
  ['facets', (n) => ({ field: n }), 'field'],
];

test.each(REQUESTS)('%s accepts a name of 16,000 bytes, and refuses one of 16,001 (%#)', async (path, body, where) => {
  expect((await at(path, body(LONGEST))).status).toBe(200);
  expect(await at(path, body(LONGER))).toEqual(refusalOf(where));
});

test('so does an import, by its line, and /pinecone with its own error', async () => {
  const line = (id: string, name: string) => JSON.stringify({ id, values, metadata: { [name]: 1 } });
  const imported = (text: string) =>
    fetch(`${service.url}/api/v1/collections/named/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/x-ndjson' },
      body: text,
    });
  const lines = (name: string) => `${line('c', 'x')}\n\n${line('d', name)}\n`;
  expect((await imported(lines(LONGEST))).status).toBe(200);
  expect(await (await imported(lines(LONGER))).json()).toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: [{ path: `line 3.metadata.${SHOWN}` }],
  });
  const { status, body } = await pineconeApi(service.url, TEST_KEY)('POST', '/indexes/named/vectors/upsert', {
    vectors: [{ id: 'e', values, metadata: { [LONGER]: 1 } }],
  });
  const message = `vectors[0].metadata.${SHOWN} must be named in at most 16,000 bytes, but is named in more.`;
  expect([status, body]).toEqual([
    400,
    { status, error: { code: 'INVALID_ARGUMENT', message }, code: 3, message, details: [] },
  ]);
});

test('an unknown member with a long name is refused for its name', async () => {
  expect(await at('count', { [LONGER]: 1 })).toEqual(refusalOf(SHOWN));
  expect(await service.api('POST', '/collections', { [LONGER]: 1 })).toEqual(refusalOf(SHOWN));
});

describe('a stored record with a longer name', () => {
  const metadata = { [LONGER]: 'kept', n: 1 };

  /** Writes the record past the gateway, as an earlier version did. */
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'old', dimensions: 2 });
    const [account] = await service.provec.store.catalog.listAccounts();
    const { id, name } = (await service.provec.store.catalog.findCollection(account!.id, 'old'))!;
    const batch = {
      ids: ['a'],
      dimensions: 2,
      vectors: new Float32Array(values),
      metadata: [JSON.stringify(metadata)],
    };
    await service.provec.broker.call('collections.import', { accountId: account!.id, collectionId: id, name, batch });
  });

  test('is fetched, found, counted, listed, exported, updated and deleted', async () => {
    expect((await at('fetch', { ids: ['a'] }, 'old')).body).toMatchObject({ vectors: { a: { metadata } } });
    expect((await at('query', { vector: values, filter: { n: 1 } }, 'old')).body).toMatchObject({
      matches: [{ metadata }],
    });
    expect((await at('count', { filter: { n: 1 } }, 'old')).body).toMatchObject({ count: 1 });
    expect((await at('list', { includeMetadata: true }, 'old')).body).toMatchObject({ records: [{ metadata }] });
    const exported = await fetch(`${service.url}/api/v1/collections/old/export`, {
      headers: { authorization: `Bearer ${TEST_KEY}` },
    });
    expect(await exported.text()).toContain(`"${LONGER}":"kept"`);
    expect((await service.api('GET', '/collections/old/verify')).status).toBe(200);
    const changed = await at('update', { updates: [{ id: 'a', setMetadata: { n: 2 } }] }, 'old');
    expect(changed.body).toMatchObject({ updatedCount: 1 });
    expect((await at('fetch', { ids: ['a'] }, 'old')).body).toMatchObject({
      vectors: { a: { metadata: { ...metadata, n: 2 } } },
    });
    expect((await at('delete', { filter: { n: 2 } }, 'old')).body).toMatchObject({ deletedCount: 1 });
  });

  test('its field can no longer be named', async () => {
    expect(await at('facets', { field: LONGER }, 'old')).toEqual(
      refusal(400, 'INVALID_ARGUMENT', { details: expect.any(Array) }),
    );
  });
});
