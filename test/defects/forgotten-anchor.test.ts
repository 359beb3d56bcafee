/** Seen in earlier systems: an anchor that failed once is never tried again. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { UpsertResult } from '../../lib/actions/collections.ts';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { LedgerRelay } from '../support/ledger-relay.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const NAMES = ['anchored-before', 'never-anchored'];

describe.each(['the service runs on', 'the service is restarted while the ledger is down'])('%s', (course) => {
  let relay: LedgerRelay;
  let service: TestService;
  const ids = new Map<string, string>();
  const roots = new Map<string, string>();
  const upsert = (name: string, id: string) =>
    service.api<UpsertResult>('POST', `/collections/${name}/upsert`, {
      records: [{ id, values: [1, 2], metadata: {} }],
    });

  beforeAll(async () => {
    relay = await LedgerRelay.open();
    service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '300' });
    for (const name of NAMES) {
      const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
        name,
        dimensions: 2,
      });
      ids.set(name, body.collection.id);
    }
    await upsert('anchored-before', 'early');
    relay.isDown = true;
  });
  afterAll(async () => {
    await service.stop();
    await relay.close();
  });

  test('writes made while the ledger is down stand, and say pending', async () => {
    for (const name of NAMES) {
      const { status, body } = await upsert(name, 'late');
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { upsertedCount: 1, anchor: { status: 'pending' }, ledgerTx: null, ledgerExplorerUrl: null },
      });
      roots.set(name, body.merkleRoot);
    }
    const deleted = await service.api('POST', '/collections/anchored-before/delete', { ids: ['early'] });
    expect(deleted.body).toMatchObject({ deletedCount: 1, anchor: { status: 'pending' } });
    roots.set('anchored-before', deleted.body.merkleRoot as string);
  });

  test('they are anchored once it is back, with no further request', async () => {
    if (course !== 'the service runs on') await service.restart();
    relay.isDown = false;
    const client = await relay.client('authority');
    for (const name of NAMES) {
      await until(`${name} is anchored`, async () => {
        const account = await client.read(ids.get(name)!);
        return account.status === 'found' && account.fields?.merkleRoot === roots.get(name);
      });
      const { body } = await service.api<VerifyResult>('GET', `/collections/${name}/verify`);
      expect(body).toMatchObject({ state: 'match', onChainRoot: roots.get(name) });
    }
  });
});
