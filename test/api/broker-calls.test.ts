import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call } from '../../contracts/actions/call.ts';
import { startService, type TestService } from '../support/service.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';

/** The calls that a request makes to the services behind the gateway: each action at most once. */

/**
 * Not caused by a request: the metrics page calls the first two, and anchoring calls the last one
 * before it signs.
 */
const NOT_OF_A_REQUEST = new Set(['shards.stats', 'anchoring.stats', 'shards.headAt']);

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service?.stop());

/** Number of action calls so far, by name. */
async function calls(): Promise<Map<string, number>> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const lines = text.matchAll(/^provec_action_duration_seconds_count\{action="([\w.]+)".*\} (\d+)$/gm);
  const counts = new Map<string, number>();
  for (const [, action, count] of lines)
    if (!NOT_OF_A_REQUEST.has(action!)) counts.set(action!, (counts.get(action!) ?? 0) + Number(count));
  return counts;
}

/** Returns the actions called by the request, including the work that it leaves behind. */
async function callsOf(request: () => Promise<unknown>, last: string): Promise<string[]> {
  const before = await calls();
  await request();
  await until(`${last} is called`, async () => ((await calls()).get(last) ?? 0) > (before.get(last) ?? 0));
  return [...(await calls())]
    .flatMap(([action, count]) => Array(count - (before.get(action) ?? 0)).fill(action))
    .sort();
}

async function plan(name: string): Promise<void> {
  const accounts = await service.provec.store.catalog.listAccounts();
  await service.provec.broker.call('keys.setPlan', { id: accounts[0]!.id, plan: name });
}

const upsert = () =>
  service.api('POST', '/collections/docs/upsert', { records: [{ id: 'a', values: [1, 0, 0], metadata: { a: 1 } }] });
const query = () => service.api('POST', '/collections/docs/query', { vector: [1, 0, 0], filter: { a: { $gte: 1 } } });

test('each request resolves the collection, the key and its plan once', async () => {
  await service.api('POST', '/collections', { name: 'docs', dimensions: 3 });
  await plan('free');
  // Work left behind by one request must not count for the next.
  await callsOf(upsert, 'metering.settle');

  const asked = ['collections.resolve', 'keys.authenticate'];
  expect(await callsOf(query, 'shards.query')).toEqual(
    [...asked, 'collections.query', 'metering.takeQuery', 'shards.query'].sort(),
  );
  expect(await callsOf(upsert, 'metering.settle')).toEqual(
    [...asked, 'collections.upsert', 'metering.reserveWrite', 'metering.settle', 'shards.upsert'].sort(),
  );

  await plan('enterprise');
  await callsOf(upsert, 'anchoring.submit');
  expect(await callsOf(upsert, 'anchoring.submit')).toEqual(
    [...asked, 'anchoring.submit', 'collections.upsert', 'metering.reserveWrite', 'shards.upsert'].sort(),
  );
});

test('an export fetches pages from shards one by one, and releases what it does not read', async () => {
  const SHARDS = 2;
  await service.api('POST', '/collections', { name: 'large', dimensions: 1, shards: SHARDS });
  // Enough for two parts of an export.
  const text = 'x'.repeat(38_000);
  const records = Array.from({ length: 10 }, (_, at) => ({ id: `r${at}`, values: [1], metadata: { text } }));
  await service.api('POST', '/collections/large/upsert', { records });
  const exported = async (method: string): Promise<string> => {
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    return (await fetch(`${service.url}/api/v1/collections/large/export`, { method, headers })).text();
  };
  const each = (action: string): string[] => Array(SHARDS).fill(action);

  const get = await callsOf(() => exported('GET'), 'shards.next');
  expect(get.filter((action) => /export|shards/i.test(action))).toEqual(
    ['collections.export', 'collections.export', ...each('shards.next'), ...each('shards.read')].sort(),
  );
  const head = await callsOf(() => exported('HEAD'), 'collections.leaveExport');
  expect(head.filter((action) => /export|shards/i.test(action))).toEqual(
    ['collections.export', 'collections.leaveExport', ...each('shards.leave'), ...each('shards.read')].sort(),
  );

  const { broker, store } = service.provec;
  const [account] = await store.catalog.listAccounts();
  const named = { accountId: account!.id, name: 'large' };
  const { next: at } = await call(broker, 'collections.export', named);
  expect(await callsOf(() => call(broker, 'collections.keepExport', { ...named, at: at! }), 'shards.next')).toEqual(
    ['collections.keepExport', ...each('shards.next')].sort(),
  );
  await call(broker, 'collections.leaveExport', { ...named, at: at! });
  await expect(call(broker, 'collections.export', { ...named, at: at! })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
});
