import { beforeAll, describe, expect, test } from '@jest/globals';
import type { KeyView } from '../../../contracts/actions/keys.ts';
import { apiClient } from '../../support/api-client.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { createTenant, type Tenant } from '../../support/tenant.ts';

const RECORDS = [{ id: 'secret', values: [1, 2], metadata: { of: 'ann' } }];

let service: SharedService;
let ann: Tenant;
let ben: Tenant;
let annsCollection: string;

beforeAll(async () => {
  service = await shareService();
  ann = await createTenant(service, 'business', 'ann');
  ben = await createTenant(service, 'business', 'ben');
  const { body } = await ann.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'private',
    dimensions: 2,
  });
  annsCollection = body.collection.id;
  await ann.api('POST', '/collections/private/upsert', { records: RECORDS });
});

/** A response as the client sees it, without parts that differ between any two requests. */
const seen = ({ status, body }: { status: number; body: Record<string, unknown> }, name = '') => ({
  status,
  body: { ...body, requestId: '', error: String(body.error).replaceAll(name || /$^/g, '') },
});

const OPERATIONS: [string, string, unknown][] = [
  ['GET', '', undefined],
  ['DELETE', '', undefined],
  ['POST', '/upsert', { records: [{ id: 'mine', values: [1, 2], metadata: {} }] }],
  ['POST', '/query', { vector: [1, 2] }],
  ['POST', '/query', { id: 'secret' }],
  ['POST', '/fetch', { ids: ['secret'] }],
  ['POST', '/delete', { ids: ['secret'] }],
  ['GET', '/verify', undefined],
  ['GET', '/proof?id=secret', undefined],
  ['GET', '/verify?id=secret', undefined],
  ['GET', '/anchors', undefined],
  ['POST', '/verifications', undefined],
  ['GET', '/verifications/some-id', undefined],
];

describe.each(OPERATIONS)('%s /collections/{name}%s', (method, rest, body) => {
  test('another account’s collection gets the same 404 as one that never existed, by name and by id', async () => {
    const absent = await ben.api(method, `/collections/never-was${rest}`, body);
    expect(absent).toMatchObject({ status: 404, body: { code: 'COLLECTION_NOT_FOUND' } });
    for (const name of ['private', annsCollection, `${annsCollection}.0`, `${ann.account.id}.private`]) {
      expect(seen(await ben.api(method, `/collections/${name}${rest}`, body), name)).toEqual(seen(absent, 'never-was'));
    }
  });
});

test('none of them changed anything', async () => {
  const { body } = await ann.api('POST', '/collections/private/fetch', { ids: ['secret', 'mine'] });
  expect(body).toEqual({ vectors: { secret: RECORDS[0] } });
});

test('a request cannot choose its account', async () => {
  for (const [method, path, body] of [
    ['POST', '/collections', { name: 'x', dimensions: 2, accountId: ann.account.id }],
    ['POST', '/collections/private/query', { vector: [1, 2], accountId: ann.account.id }],
    ['GET', `/collections?accountId=${ann.account.id}`, undefined],
    ['GET', `/usage?account=${ann.account.id}`, undefined],
  ] as const) {
    expect((await ben.api(method, path, body)).status).toBeGreaterThanOrEqual(400);
  }
});

test('lists, usage and keys show only the caller’s own', async () => {
  expect((await ben.api('GET', '/collections')).body).toEqual({ collections: [] });
  const { body } = await ben.api<{ usage: object }>('GET', '/usage');
  expect(body.usage).toMatchObject({ write_count: 0, query_count: 0, vector_count: 0, collection_count: 0 });
  const keys = await ben.api<{ keys: KeyView[] }>('GET', '/keys');
  expect(keys.body.keys.map(({ id }) => id)).toEqual([ben.key.id]);
});

test('another account’s key gets the same 404 as an unknown one, and keeps working', async () => {
  const other = (await ann.api<{ key: KeyView }>('POST', '/keys', { name: 'second' })).body.key;
  const absent = await ben.api('DELETE', '/keys/00000000-0000-4000-8000-000000000000');
  expect(absent).toMatchObject({ status: 404, body: { code: 'KEY_NOT_FOUND' } });
  for (const { id } of [ann.key, other]) {
    expect(seen(await ben.api('DELETE', `/keys/${id}`))).toEqual(seen(absent));
  }
  const withOther = apiClient(service.url, other.secret!);
  expect(await withOther('GET', '/collections/private')).toMatchObject({ status: 200 });
});

test('one name in two accounts means two collections', async () => {
  await ben.api('POST', '/collections', { name: 'private', dimensions: 3 });
  expect((await ben.api('POST', '/collections/private/fetch', { ids: ['secret'] })).body).toEqual({ vectors: {} });
  expect(await ben.api('DELETE', '/collections/private')).toMatchObject({ status: 200 });
  expect(await ann.api('GET', '/collections/private')).toMatchObject({
    status: 200,
    body: { collection: { id: annsCollection, vector_count: 1 } },
  });
});
