import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult, VerifyState } from '../../../contracts/actions/verification.ts';
import { EmbeddedLedger } from '../../support/embedded-ledger.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

let service: TestService;
let ledger: EmbeddedLedger;
const upsert = (id: string) =>
  service.api('POST', '/collections/demo/upsert', { records: [{ id, values: [1, 2], metadata: {} }] });
const verify = () => service.api<VerifyResult>('GET', '/collections/demo/verify');

beforeAll(async () => {
  service = await startService({ PROVEC_ANCHOR_WAIT_MS: '300' });
  ledger = new EmbeddedLedger(service);
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
  await upsert('before');
  await until('the first write is anchored', async () => (await verify()).body.state === 'match');
});
afterAll(() => service.stop());

test('down: writes are pending, reads continue, verify says unreachable', async () => {
  await ledger.stayDown();
  expect(await upsert('meanwhile')).toMatchObject({
    status: 200,
    body: { upsertedCount: 1, ledgerTx: null, ledgerExplorerUrl: null, anchor: { status: 'pending' } },
  });
  expect(await verify()).toMatchObject({
    status: 200,
    body: {
      state: 'unreachable',
      verified: false,
      match: false,
      onChainRoot: null,
      anchoredVersion: null,
      computedRoot: expect.stringMatching(/^[0-9a-f]{64}$/),
      vectorCount: 2,
      ledgerAddress: expect.any(String),
      ledgerExplorerUrl: null,
      reason: expect.stringMatching(/\.$/),
    },
  });
  const { body } = await service.api<{ matches: object[] }>('POST', '/collections/demo/query', { vector: [1, 2] });
  expect(body.matches).toHaveLength(2);
  expect((await service.api('GET', '/collections/demo')).body).toMatchObject({
    collection: { vector_count: 2, anchor: { status: 'pending' } },
  });
  expect((await fetch(`${service.provec.url}/readyz`)).status).toBe(200);
});

test('back: pending writes are anchored without another write', async () => {
  await ledger.comeBack();
  const states: VerifyState[] = [];
  await until('the root is anchored', async () => {
    const { state } = (await verify()).body;
    states.push(state);
    return state === 'match';
  });
  expect(states).not.toContain('mismatch');
  expect((await verify()).body).toMatchObject({ verified: true, match: true, vectorCount: 2 });
});
