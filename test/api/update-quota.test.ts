/** Updates near the plan's limit on writes: each changed record counts as one write. */
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import { DEFAULT_PLANS } from '../../lib/plans.ts';
import type { Api } from '../support/api-client.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const LIMIT = DEFAULT_PLANS.free.writes!;
const LEFT = 5;
const STORED = LIMIT - LEFT;

let service: SharedService;
let api: Api;
beforeAll(async () => {
  service = await shareService();
});
beforeEach(async () => {
  ({ api } = await createTenant(service, 'free'));
  await api('POST', '/collections', { name: 'near', dimensions: 1, metric: 'dot', shards: 4 });
  const records = Array.from({ length: STORED }, (_, at) => ({ id: `r${at}`, values: [1], metadata: { a: 1, at } }));
  expect((await api('POST', '/collections/near/upsert', { records })).status).toBe(200);
});

const update = (body: object) => api<Record<string, unknown>>('POST', '/collections/near/update', body);
const fifty = <T>(of: (at: number) => T): T[] => Array.from({ length: 50 }, (_, at) => of(at));
const writes = async () => (await api<UsageReport>('GET', '/usage')).body.usage.write_count;

test('absent and unchanged records cost nothing', async () => {
  const absent = await update({ updates: fifty((at) => ({ id: `absent${at}`, setMetadata: { a: 2 } })) });
  expect(absent).toMatchObject({ status: 200, body: { matchedCount: 0, updatedCount: 0 } });
  const same = await update({ updates: fifty((at) => ({ id: `r${at}`, values: [1], setMetadata: { a: 1 } })) });
  expect(same).toMatchObject({ status: 200, body: { matchedCount: 50, updatedCount: 0 } });
  const matching = await update({ filter: { a: 1 }, setMetadata: { a: 1 }, unsetMetadata: ['none'] });
  expect(matching).toMatchObject({ status: 200, body: { matchedCount: STORED, updatedCount: 0 } });
  expect(await writes()).toBe(STORED);
});

test('by id, counts records whose metadata or values change', async () => {
  const two = fifty((at) => ({ id: `r${at}`, values: [at === 7 ? 2 : 1], setMetadata: { a: at === 9 ? 2 : 1 } }));
  expect(await update({ updates: two })).toMatchObject({ status: 200, body: { matchedCount: 50, updatedCount: 2 } });
  expect(await writes()).toBe(STORED + 2);
  const four = await update({ updates: fifty((at) => ({ id: `r${100 + at}`, setMetadata: { a: at < 4 ? 2 : 1 } })) });
  expect(four).toMatchObject({ status: 429, body: { code: 'PLAN_LIMIT_REACHED' } });
  expect(four.body.error).toContain(`${STORED + 2} are used and this request needs 4 more`);
  expect(await writes()).toBe(STORED + 2);
});

test('by filter, counts the records that change', async () => {
  const rest = await update({ filter: { at: { $gte: LEFT } }, setMetadata: { a: 2 } });
  expect(rest.body.error).toContain(`${STORED} are used and this request needs ${STORED - LEFT} more`);
  const few = await update({ filter: { at: { $lt: LEFT } }, setMetadata: { a: 2 } });
  expect(few).toMatchObject({ status: 200, body: { updatedCount: LEFT } });
  expect(await writes()).toBe(LIMIT);
  expect(await update({ filter: { a: 2 }, setMetadata: { a: 2 } })).toMatchObject({ body: { matchedCount: LEFT } });
});

test('concurrent requests never exceed the limit together', async () => {
  const answers = await Promise.all(
    fifty((at) => update({ updates: fifty((id) => ({ id: `r${id}`, setMetadata: { a: id === at ? 2 : 1 } })) })),
  );
  const changed = answers.filter(({ status }) => status === 200).map(({ body }) => body.updatedCount);
  expect(changed.every((count) => Number(count) <= 2)).toBe(true);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  expect(await writes()).toBeLessThanOrEqual(LIMIT);
  expect(await writes()).toBeGreaterThanOrEqual(LIMIT - 1);
});
