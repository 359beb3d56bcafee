import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { openAuthority } from '../../../services/anchoring/ledger/authority.ts';
import { startService, type TestService } from '../../support/service.ts';

let service: TestService;
const verify = async () => (await service.api<VerifyResult>('GET', '/collections/demo/verify')).body;
const upsert = async (id: string) =>
  (await service.api('POST', '/collections/demo/upsert', { records: [{ id, values: [1, 2], metadata: {} }] })).body;

beforeAll(async () => {
  service = await startService({ PROVEC_ANCHOR_WAIT_MS: '1000' });
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
  await upsert('a');
});
afterAll(() => service.stop());

test('another keypair has another account: mismatch, and nothing is anchored there', async () => {
  const before = await verify();
  expect(before).toMatchObject({ state: 'match' });
  const keypair = join(service.dataDir, 'ledger-keypair.json');

  await service.provec.stop();
  renameSync(keypair, `${keypair}.aside`);
  await openAuthority(keypair, true, pino({ level: 'silent' }));
  await service.restart();
  for (const id of ['b', 'c']) {
    const after = await verify();
    expect(after).toMatchObject({
      state: 'mismatch',
      verified: false,
      match: false,
      onChainRoot: null,
      reason: expect.stringMatching(/^[A-Z].*\.$/),
    });
    expect(after.ledgerAddress).not.toBe(before.ledgerAddress);
    expect(await upsert(id)).toMatchObject({ upsertedCount: 1, anchor: { status: 'pending' } });
  }
});
