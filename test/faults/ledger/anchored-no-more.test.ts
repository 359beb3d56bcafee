/**
 * Records wait in the log until their root is anchored. When anchoring ends for a collection, they
 * are materialised anyway, and they are anchored when anchoring resumes.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { startService, type TestService } from '../../support/service.ts';
import { ADMIN_TOKEN, createTenant, operatorApi, type Tenant } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

let service: TestService;
let tenant: Tenant;
let collectionId: string;

const verify = async () => (await tenant.api<VerifyResult>('GET', '/collections/demo/verify')).body;
const upsert = async (id: string) => {
  const records = [{ id, values: [1, 2], metadata: {} }];
  return (await tenant.api('POST', '/collections/demo/upsert', { records })).body;
};
const setPlan = (plan: string) => operatorApi(service)('PATCH', `/admin/accounts/${tenant.account.id}`, { plan });
const materialised = () =>
  until('all is materialised', async () => {
    const { records, log } = service.provec.store;
    const key = shardKey(collectionId, 0);
    return (await records.appliedSeq(key)) === (await log.head(key))?.seq;
  });

beforeAll(async () => {
  service = await startService({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
  tenant = await createTenant(service, 'pro');
  const { body } = await tenant.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'demo',
    dimensions: 2,
  });
  collectionId = body.collection.id;
});
afterAll(() => service.stop());

test.each([
  {
    what: 'the plan has no anchoring',
    end: () => setPlan('free'),
    begin: () => setPlan('pro'),
  },
  {
    what: 'the ledger is off',
    end: () => service.restart({ PROVEC_LEDGER: 'off' }),
    begin: () => service.restart({ PROVEC_LEDGER: 'on' }),
  },
])('while $what', async ({ what, end, begin }) => {
  expect(await upsert(`before ${what}`)).toMatchObject({ anchor: { status: 'confirmed' } });
  expect(await verify()).toMatchObject({ state: 'match' });
  const anchors = async () =>
    (await tenant.api<{ anchors: object[] }>('GET', '/collections/demo/anchors')).body.anchors;
  const history = await anchors();
  await end();
  expect(await upsert(`while ${what}`)).toMatchObject({ anchor: { status: 'none' } });
  expect(await verify()).toMatchObject({ state: 'not_anchored' });
  await materialised();
  await service.restart();
  expect(await verify()).toMatchObject({ state: 'not_anchored' });
  await begin();
  await until('what was written meanwhile is anchored', async () => (await verify()).state === 'match');
  expect(await upsert(`after ${what}`)).toMatchObject({ anchor: { status: 'confirmed' } });
  expect((await anchors()).slice(-history.length)).toEqual(history);
  await service.restart();
  expect(await verify()).toMatchObject({ state: 'match' });
});
