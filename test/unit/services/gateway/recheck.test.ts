/**
 * Keys that are revoked, and aliases that are switched, while their requests wait in the gateway;
 * and the cost for requests that do not wait.
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { unauthenticated } from '../../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { shardUnavailableError } from '../../../../lib/shard/shard-unavailable.ts';
import type { Scope } from '../../../../store/keys.ts';
import { eventually, ManualClock } from '../../../support/accounts.ts';
import { ADMIN_TOKEN, type Edge, startEdge, until } from './harness.ts';

const REMEMBERED_MS = INTERNAL_LIMITS.keyCacheMaxAgeMs;
/** The collection that the alias `docs` points to. */
const COLLECTION = { id: 'c1', accountId: 'a1', name: 'docs-1', dimensions: 3, metric: 'cosine', shards: 1 };
const UPSERT = { records: [{ id: 'a', values: [1, 2, 3] }] };

let clock: ManualClock;
let edge: Edge;
/** Null when the key is revoked. */
let scopes: Scope[] | null;
let isAway: boolean;
/** Parts still to be returned. */
let exported: object[];
let answer: PromiseWithResolvers<void>;
let ready: PromiseWithResolvers<void>;

const asked = (action = 'keys.authenticate') => edge.calls.get(action)?.length ?? 0;
const upsert = () => edge.request('POST', '/api/v1/collections/docs/upsert', UPSERT);

beforeEach(async () => {
  clock = new ManualClock();
  scopes = ['read', 'write'];
  isAway = false;
  answer = Promise.withResolvers();
  answer.resolve();
  ready = Promise.withResolvers();
  edge = await startEdge({
    clock,
    env: { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN },
    bounds: { queues: { write: { permits: 1 } } },
    actions: {
      'keys.authenticate': () => {
        if (scopes === null) throw unauthenticated();
        return { accountId: 'a1', keyId: 'k1', scopes };
      },
      'collections.resolve': () => COLLECTION,
      'collections.upsert': async () => {
        if (isAway) throw shardUnavailableError(0, 'is being opened');
        await answer.promise;
        return { upsertedCount: 1 };
      },
      'collections.delete': () => {
        if (isAway) throw shardUnavailableError(0, 'is being opened');
        return { deleted: false, deletedCount: 1 };
      },
      'collections.export': () => exported.shift(),
      'collections.whenReady': () => ready.promise,
    },
  });
});
afterEach(() => edge.stop());

test('a request that does not wait reads its key once', async () => {
  clock.advance(REMEMBERED_MS + 1);
  expect((await upsert()).status).toBe(200);
  expect(asked()).toBe(1);
});

test("an operator's request reads no key", async () => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  expect((await edge.request('GET', '/api/v1/admin/accounts', undefined, headers)).status).toBe(200);
  expect(asked()).toBe(0);
});

/**
 * Sends one request that holds the only permit and one that waits for it, and runs `change`
 * meanwhile.
 */
async function whileWaiting(waitedMs: number, change: () => void): Promise<number> {
  answer = Promise.withResolvers();
  const first = upsert();
  await until(() => asked('collections.upsert') === 1);
  const second = upsert();
  await eventually(async () => {
    const { text } = await edge.request('GET', '/metrics');
    return text.includes('provec_gateway_waiting_requests{queue="write"} 1');
  });
  clock.advance(waitedMs);
  change();
  answer.resolve();
  expect((await first).status).toBe(200);
  return (await second).status;
}

test('a key revoked while its request waits for its turn does nothing', async () => {
  const status = await whileWaiting(REMEMBERED_MS + 1, () => {
    scopes = null;
  });
  expect([status, asked('collections.upsert')]).toEqual([401, 1]);
});

test('a key that lost its scope meanwhile does nothing', async () => {
  const status = await whileWaiting(REMEMBERED_MS + 1, () => {
    scopes = ['read'];
  });
  expect([status, asked('collections.upsert')]).toEqual([403, 1]);
});

test('a key that lost the additional scope of a dry run reveals nothing', async () => {
  isAway = true;
  const request = edge.request('POST', '/api/v1/collections/docs/delete', { ids: ['a'], dryRun: true });
  await until(() => asked('collections.whenReady') === 1);
  clock.advance(REMEMBERED_MS + 1);
  scopes = ['write'];
  isAway = false;
  ready.resolve();
  const { status, json } = await request;
  expect([status, json.error]).toEqual([403, expect.stringContaining('"read"')]);
  expect(asked('collections.delete')).toBe(1);
});

test('a key is not read again if the wait was shorter than its cache time', async () => {
  const status = await whileWaiting(REMEMBERED_MS, () => undefined);
  expect([status, asked()]).toEqual([200, 2]);
});

test('a request that waited continues with the collection that its body was read for', async () => {
  await whileWaiting(REMEMBERED_MS + 1, () => undefined);
  const named = edge.calls
    .get('collections.upsert')!
    .map(({ name, collection, collectionId }) => ({ name, collection, collectionId }));
  // The action looks up a waiting request's collection again, by its id.
  expect(named).toEqual([
    { name: 'docs', collection: COLLECTION, collectionId: undefined },
    { name: 'docs', collection: undefined, collectionId: COLLECTION.id },
  ]);
});

test('all parts of an export come from the collection on which it began', async () => {
  const next = { collectionId: COLLECTION.id, rests: [], merkleRoot: '', count: 0 };
  exported = [
    { records: [], next },
    { records: [], end: { count: 0, merkleRoot: '' } },
  ];
  expect((await edge.request('GET', '/api/v1/collections/docs/export')).status).toBe(200);
  expect(edge.calls.get('collections.export')).toEqual([
    { accountId: 'a1', name: 'docs' },
    { accountId: 'a1', name: 'docs', collectionId: COLLECTION.id, at: next },
  ]);
});

test('a key revoked while its request waits for a shard does nothing', async () => {
  isAway = true;
  const request = upsert();
  await until(() => asked('collections.whenReady') === 1);
  clock.advance(REMEMBERED_MS + 1);
  scopes = null;
  isAway = false;
  ready.resolve();
  expect((await request).status).toBe(401);
  expect(asked('collections.upsert')).toBe(1);
});
