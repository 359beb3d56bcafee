/** A change of plan applies to existing data. */
import { beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../contracts/actions/verification.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, operatorApi } from '../support/tenant.ts';
import { until } from '../support/until.ts';

let service: SharedService;

beforeAll(async () => {
  service = await shareService('anchored');
});

test('collections of an account that leaves the free plan are anchored without another write', async () => {
  const { account, api: tenant } = await createTenant(service, 'free', 'growing');
  await tenant('POST', '/collections', { name: 'docs', dimensions: 2 });
  const { body: written } = await tenant('POST', '/collections/docs/upsert', {
    records: [{ id: 'a', values: [1, 2] }],
  });
  expect(written).toMatchObject({ anchor: { status: 'none' }, ledgerTx: null });
  await operatorApi(service)('PATCH', `/admin/accounts/${account.id}`, { plan: 'pro' });
  await until('its root is anchored', async () => {
    const { body: anchors } = await tenant<{ anchors: unknown[] }>('GET', '/collections/docs/anchors');
    return anchors.anchors.length === 1;
  });
  expect((await tenant<VerifyResult>('GET', '/collections/docs/verify')).body).toMatchObject({ state: 'match' });
});
