/** Seen in earlier systems: a record changed together with its stored hash becomes the truth at the next restart and write. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../lib/merkle/leaf.ts';
import { shardKey } from '../../lib/shard/shard-key.ts';
import { float32Bytes, overwriteOnDisk } from '../support/intruder.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const METADATA = '{"balance":"ten thousand"}';
const BEFORE = [0.25, 0.5, -0.75];
const AFTER = [0.25, 0.5, 0.75];
const leafOf = (values: number[]) =>
  leafHashOf(keyHashOf('victim'), vecHashOf(Float32Array.from(values)), metaHashOf(METADATA));

describe.each([
  ['enterprise', 'on'],
  ['free', 'on'],
  ['enterprise', 'off'],
])('a value and its leaf changed on disk while the service is stopped, plan %s, ledger %s', (plan, ledger) => {
  let service: TestService;
  const verify = async () => (await service.api<VerifyResult>('GET', '/collections/vault/verify')).body;
  const upsert = async (id: string) => {
    const records = [{ id, values: [0, 1, 0], metadata: {} }];
    expect(await service.api('POST', '/collections/vault/upsert', { records })).toMatchObject({ status: 200 });
  };
  const expectMismatch = async () =>
    expect(await verify()).toMatchObject({ state: 'mismatch', verified: false, reason: expect.any(String) });

  beforeAll(async () => {
    service = await startService({ PROVEC_BOOTSTRAP_PLAN: plan, PROVEC_LEDGER: ledger });
    const created = await service.api<{ collection: { id: string } }>('POST', '/collections', {
      name: 'vault',
      dimensions: 3,
    });
    await upsert('first');
    const records = [{ id: 'victim', values: BEFORE, metadata: JSON.parse(METADATA) }];
    await service.api('POST', '/collections/vault/upsert', { records });
    await upsert('last');
    const { store } = service.provec;
    const key = shardKey(created.body.collection.id, 0);
    await until(
      'the records are materialised',
      async () => (await store.records.appliedSeq(key)) === (await store.log.head(key))?.seq,
    );
    expect((await verify()).state).toBe(plan === 'enterprise' && ledger === 'on' ? 'match' : 'not_anchored');
    await service.provec.stop();
    expect(overwriteOnDisk(service.dataDir, float32Bytes(BEFORE), float32Bytes(AFTER))).toBeGreaterThan(0);
    expect(overwriteOnDisk(service.dataDir, leafOf(BEFORE), leafOf(AFTER))).toBeGreaterThan(0);
    await service.restart();
  });
  afterAll(() => service.stop());

  test('is a mismatch before and after further writes and restarts', async () => {
    await upsert('before any verify');
    await expectMismatch();
    await upsert('after it');
    await service.restart();
    await upsert('in the next process');
    await expectMismatch();
    await service.restart();
    await expectMismatch();
  });

  test('is a mismatch on every plan and whether or not roots are anchored now, and no root that contains it was anchored', async () => {
    await service.restart({ PROVEC_LEDGER: 'on' });
    await service.provec.store.catalog.setPlan(
      (await service.provec.store.catalog.listAccounts())[0]!.id,
      'enterprise',
    );
    await upsert('with the ledger');
    await expectMismatch();
    await service.restart();
    await upsert('with the ledger, in another process');
    await expectMismatch();
    const { body } = await service.api<{ anchors: { version: number }[] }>('GET', '/collections/vault/anchors');
    expect(body.anchors.every(({ version }) => version <= 3)).toBe(true);
  });

  test('is accepted when the operator says so, for good, and anchored', async () => {
    const { broker, store } = service.provec;
    const [account] = await store.catalog.listAccounts();
    const { id } = (await store.catalog.findCollection(account!.id, 'vault'))!;
    await broker.call('anchoring.resume', { collectionId: id });
    expect(await verify()).toMatchObject({ state: 'match', verified: true });
    await service.restart();
    expect(await verify()).toMatchObject({ state: 'match', verified: true });
    expect(await service.provec.store.contradictions.list(id)).toEqual([]);
  });
});
