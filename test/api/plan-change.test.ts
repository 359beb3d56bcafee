/** A change of plan takes effect on what is there already. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { apiClient } from '../support/api-client.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const TOKEN = 'operator-token-of-the-plan-change-test';
let service: TestService;

beforeAll(async () => {
  service = await startService({ PROVEC_ADMIN_TOKEN: TOKEN });
});
afterAll(() => service.stop());

test('collections of an account that leaves Free are anchored without another write', async () => {
  const operator = apiClient(service.provec.url!, TOKEN);
  const { body } = await operator<{ account: { id: string }; key: { secret: string } }>('POST', '/admin/accounts', {
    name: 'growing',
    plan: 'free',
  });
  const tenant = apiClient(service.provec.url!, body.key.secret);
  await tenant('POST', '/collections', { name: 'docs', dimensions: 2 });
  const { body: written } = await tenant('POST', '/collections/docs/upsert', {
    records: [{ id: 'a', values: [1, 2] }],
  });
  expect(written).toMatchObject({ anchor: { status: 'none' }, ledgerTx: null });
  await operator('PATCH', `/admin/accounts/${body.account.id}`, { plan: 'pro' });
  await until('its root is anchored', async () => {
    const { body: anchors } = await tenant<{ anchors: unknown[] }>('GET', '/collections/docs/anchors');
    return anchors.anchors.length === 1;
  });
  expect((await tenant<VerifyResult>('GET', '/collections/docs/verify')).body).toMatchObject({ state: 'match' });
});
