import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { call } from '../../../contracts/actions/call.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { EmbeddedLedger } from '../../support/embedded-ledger.ts';
import { startService, type TestService } from '../../support/service.ts';

let service: TestService;
let ledger: EmbeddedLedger;
let collectionId: string;
const upsert = async (name: string, id: string) =>
  (await service.api('POST', `/collections/${name}/upsert`, { records: [{ id, values: [1, 2], metadata: {} }] })).body;
const verify = async (name = 'demo') => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const mismatch = { state: 'mismatch', verified: false, reason: expect.stringMatching(/^[A-Z].*\.$/) };

beforeEach(async () => {
  service = await startService({ PROVEC_ANCHOR_WAIT_MS: '1000' });
  ledger = new EmbeddedLedger(service);
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'demo',
    dimensions: 2,
  });
  collectionId = body.collection.id;
  for (const id of ['a', 'b']) await upsert('demo', id);
  expect(await verify()).toMatchObject({ state: 'match' });
});
afterEach(() => service.stop());

describe('another chain', () => {
  async function expectNeverMatch(): Promise<void> {
    expect(await verify()).toMatchObject(mismatch);
    expect(await upsert('demo', 'c')).toMatchObject({
      upsertedCount: 1,
      ledgerTx: null,
      anchor: { status: 'pending' },
    });
    expect(await verify()).toMatchObject(mismatch);
    expect(await upsert('demo', 'd')).toMatchObject({ upsertedCount: 1 });
    expect(await verify()).toMatchObject(mismatch);
    // The other chain has no account.
    expect(await (await ledger.client()).read(collectionId)).toEqual({ status: 'absent' });
  }

  test('after a restart: mismatch, before and after writes; an operator ends it, the right chain alone does not', async () => {
    await service.provec.stop();
    renameSync(ledger.folder, `${ledger.folder}.aside`);
    mkdirSync(ledger.folder);
    await service.restart();
    await expectNeverMatch();

    // New roots are anchored on this chain.
    await service.api('POST', '/collections', { name: 'new', dimensions: 2 });
    await upsert('new', 'a');
    expect(await verify('new')).toMatchObject({ state: 'match' });

    await service.provec.stop();
    rmSync(ledger.folder, { recursive: true });
    renameSync(`${ledger.folder}.aside`, ledger.folder);
    await service.restart();
    expect(await verify()).toMatchObject(mismatch);
    await call(service.provec.broker, 'anchoring.resume', { collectionId });
    expect(await verify()).toMatchObject({ state: 'match', vectorCount: 4 });
  });

  test('under the running service: mismatch, before and after writes', async () => {
    await ledger.stayDown();
    await ledger.comeBack('another');
    await expectNeverMatch();
  });
});
