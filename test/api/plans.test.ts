/** Plans that the operator makes. */
import { beforeAll, expect, test } from '@jest/globals';
import type { AuditEntriesPage } from '../../contracts/actions/audit.ts';
import type { PlanView } from '../../contracts/actions/keys.ts';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import { DEFAULT_PLANS, PLAN_NAMES } from '../../lib/plans.ts';
import type { Api } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, operatorApi } from '../support/tenant.ts';
import { until } from '../support/until.ts';

let service: SharedService;
let operator: Api;
beforeAll(async () => {
  service = await shareService('anchored');
  operator = operatorApi(service);
});

const LIMITS = { ...DEFAULT_PLANS.pro, vectors: 3, collections: 2, keys: 2 };
const put = (name: string, change: object = {}) => operator('PUT', `/admin/plans/${name}`, { ...LIMITS, ...change });
const list = async () => (await operator<{ plans: PlanView[] }>('GET', '/admin/plans')).body.plans;
const records = (...ids: string[]) => ({ records: ids.map((id) => ({ id, values: [1] })) });

test('a plan is made, applies to the accounts that get it, and is deleted when none has it', async () => {
  const made = await put('gold');
  expect(made).toMatchObject({ status: 200, body: { plan: { name: 'gold', ...LIMITS, source: 'stored' } } });
  const plans = await list();
  expect(plans.slice(0, 4)).toEqual(
    PLAN_NAMES.map((name) => ({ name, ...DEFAULT_PLANS[name], source: expect.stringMatching(/built-in|environment/) })),
  );
  expect(plans).toContainEqual({ name: 'gold', ...LIMITS, source: 'stored' });
  const { account, api } = await createTenant(service, 'gold', 'golden');
  expect((await api<UsageReport>('GET', '/usage')).body).toMatchObject({
    plan: 'gold',
    limits: { vector_count: 3, collection_count: 2, key_count: 2 },
  });
  expect(await operator('DELETE', '/admin/plans/gold')).toEqual(refusal(409, 'PLAN_IN_USE'));
  expect((await operator('PATCH', `/admin/accounts/${account.id}`, { plan: 'free' })).status).toBe(200);
  expect((await operator('DELETE', '/admin/plans/gold')).body).toEqual({ deleted: true });
  expect(await operator('DELETE', '/admin/plans/gold')).toEqual(refusal(404, 'PLAN_NOT_FOUND'));
  expect(await operator('PATCH', `/admin/accounts/${account.id}`, { plan: 'gold' })).toEqual(refusalOf('plan'));
  expect((await list()).map(({ name }) => name)).not.toContain('gold');
});

test('limits change at once; an account above them keeps what it has and gets no more', async () => {
  await put('shrinking');
  const { api } = await createTenant(service, 'shrinking', 'shrunk');
  await api('POST', '/collections', { name: 'docs', dimensions: 1 });
  expect((await api('POST', '/collections/docs/upsert', records('a', 'b', 'c'))).status).toBe(200);
  await put('shrinking', { vectors: 1, collections: 0, keys: 1 });
  const full = refusal(429, 'PLAN_LIMIT_REACHED', { pricingUrl: expect.any(String) });
  expect(await api('POST', '/collections/docs/upsert', records('d'))).toEqual(full);
  expect(await api('POST', '/collections', { name: 'more', dimensions: 1 })).toEqual(full);
  expect(await api('POST', '/keys', { name: 'more' })).toEqual(full);
  expect((await api('GET', '/collections/docs')).body).toMatchObject({ collection: { vector_count: 3 } });
  await put('shrinking', { vectors: 4 });
  expect((await api('POST', '/collections/docs/upsert', records('d'))).status).toBe(200);
});

test('a plan that gets anchoring has its collections anchored without another write', async () => {
  await put('later', { anchoring: false });
  const { api } = await createTenant(service, 'later', 'anchored later');
  await api('POST', '/collections', { name: 'docs', dimensions: 1 });
  expect((await api('POST', '/collections/docs/upsert', records('a'))).body).toMatchObject({
    anchor: { status: 'none' },
  });
  await put('later', { anchoring: true });
  await until('its root is anchored', async () => {
    const { body } = await api<{ anchors: unknown[] }>('GET', '/collections/docs/anchors');
    return body.anchors.length === 1;
  });
  expect((await api('GET', '/collections/docs/verify')).body).toMatchObject({ state: 'match' });
});

test.each<[string, object, ...string[]]>([
  ['no limits', {}, 'vectors', 'writes', 'queries', 'collections', 'keys', 'shards', 'anchoring'],
  ['a negative limit', { ...LIMITS, vectors: -1 }, 'vectors'],
  ['a fraction', { ...LIMITS, writes: 0.5 }, 'writes'],
  ['text', { ...LIMITS, queries: '7' }, 'queries'],
  ['keys without a limit', { ...LIMITS, keys: null }, 'keys'],
  ['no keys', { ...LIMITS, keys: 0 }, 'keys'],
  ['too many shards', { ...LIMITS, shards: 257 }, 'shards'],
  ['anchoring that is no flag', { ...LIMITS, anchoring: 'on' }, 'anchoring'],
  ['another field', { ...LIMITS, name: 'x' }, 'name'],
])('refuses %s', async (_, body, ...paths) => {
  expect(await operator('PUT', '/admin/plans/refused', body)).toEqual(refusalOf(...paths));
  expect((await list()).map(({ name }) => name)).not.toContain('refused');
});

test.each(['Gold', '-', 'a%20b', '%00', 'x'.repeat(41), '__proto__'])('refuses the name %s', async (name) => {
  expect(await put(name)).toEqual(refusalOf('plan'));
  expect(await operator('DELETE', `/admin/plans/${name}`)).toEqual(refusalOf('plan'));
});

test('the operator’s trail has each change with the limits before and after', async () => {
  await put('traced', { vectors: 1 });
  await put('traced', { vectors: 2 });
  await operator('DELETE', '/admin/plans/traced');
  const entries: AuditEntriesPage['entries'] = [];
  for (let cursor = ''; ; ) {
    const { body } = await operator<AuditEntriesPage>('GET', `/admin/audit${cursor && `?cursor=${cursor}`}`);
    entries.push(...body.entries);
    if (body.nextCursor === undefined) break;
    cursor = body.nextCursor;
  }
  const traced = entries.filter((each) => 'target' in each && each.target === 'traced').map(({ id }) => id);
  const changes = [...new Set(traced)].map((id) => Object.assign({}, ...entries.filter((each) => each.id === id)));
  expect(changes).toMatchObject([
    { action: 'plan.set', before: null, asked: { vectors: 1, keys: 2 }, after: { vectors: 1 }, outcome: 'done' },
    { action: 'plan.set', before: { vectors: 1 }, after: { ...LIMITS, vectors: 2 }, outcome: 'done' },
    { action: 'plan.delete', before: { vectors: 2 }, outcome: 'done' },
  ]);
});
