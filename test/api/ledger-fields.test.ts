import { beforeAll, describe, expect, test } from '@jest/globals';
import type { DeleteResult, UpsertResult } from '../../contracts/actions/collections.ts';
import type { Api } from '../support/api-client.ts';
import { askLedger } from '../support/ledger-account.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, operatorApi } from '../support/tenant.ts';

const PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

async function writes(api: Api) {
  await api('POST', '/collections', { name: 'written', dimensions: 1, shards: 2 });
  const records = [{ id: 'a', values: [1] }];
  const upsert = await api<UpsertResult>('POST', '/collections/written/upsert', { records });
  const deletion = await api<DeleteResult>('POST', '/collections/written/delete', { ids: ['a'] });
  return [upsert.body, deletion.body];
}

/** A transaction's status, read directly from the ledger. */
const statusOnLedger = async (signature: string) =>
  (await askLedger<{ value: unknown[] }>(service, 'getSignatureStatuses', [[signature]])).value[0];

describe.each(['pro', 'business', 'enterprise'])('on the plan %s', (plan) => {
  test('every write has its own confirmed transaction', async () => {
    const results = await writes((await createTenant(service, plan)).api);
    for (const { ledgerProgram, ledgerTx, ledgerExplorerUrl, anchor } of results) {
      expect([ledgerProgram, anchor]).toEqual([PROGRAM, { status: 'confirmed' }]);
      expect(await statusOnLedger(ledgerTx!)).toMatchObject({
        err: null,
        confirmationStatus: expect.stringMatching(/^(confirmed|finalized)$/),
      });
      expect(ledgerExplorerUrl).toBeNull();
    }
    expect(results[0].ledgerTx).not.toBe(results[1].ledgerTx);
  });
});

test('the free plan has a root and no transaction', async () => {
  for (const result of await writes((await createTenant(service, 'free')).api)) {
    expect(result).toMatchObject({
      merkleRoot: expect.stringMatching(/^[0-9a-f]{64}$/),
      ledgerProgram: PROGRAM,
      ledgerTx: null,
      ledgerExplorerUrl: null,
      anchor: { status: 'none' },
    });
  }
});

test('an account that moves to a paid plan is anchored from its next write', async () => {
  const tenant = await createTenant(service, 'free');
  await writes(tenant.api);
  await operatorApi(service)('PATCH', `/admin/accounts/${tenant.account.id}`, { plan: 'pro' });
  const { body } = await tenant.api('POST', '/collections/written/upsert', { records: [{ id: 'b', values: [2] }] });
  expect(body).toMatchObject({ anchor: { status: 'confirmed' }, ledgerTx: expect.any(String) });
});

test('nothing is anchored on any plan if the ledger is off', async () => {
  for (const result of await writes((await shareService('plain')).api)) {
    expect(result).toMatchObject({ ledgerTx: null, ledgerExplorerUrl: null, anchor: { status: 'none' } });
  }
});
