/**
 * Seen in earlier systems: a record changed together with its stored hash counts as correct after
 * the next restart and write.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../lib/merkle/leaf.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import { float32Bytes, tamperOnDisk } from '../../support/intruder.ts';
import { startService, type TestService } from '../../support/service.ts';
import { ADMIN_TOKEN, createTenant, type Tenant } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const METADATA = '{"balance":"ten thousand"}';
const BEFORE = [0.25, 0.5, -0.75];
const AFTER = [0.25, 0.5, 0.75];
const leafOf = (values: number[]) =>
  leafHashOf(keyHashOf('victim'), vecHashOf(Float32Array.from(values)), metaHashOf(METADATA));

/** A plan with anchoring and one without, in one service. */
const PLANS = ['enterprise', 'free'] as const;
type Plan = (typeof PLANS)[number];

describe.each(['on', 'off'])(
  'a value and its leaf changed on disk while the service is stopped, ledger %s',
  (ledger) => {
    let service: TestService;
    let accounts: Record<Plan, Tenant>;
    const verify = async (plan: Plan) =>
      (await accounts[plan].api<VerifyResult>('GET', '/collections/vault/verify')).body;
    const upsert = async (plan: Plan, id: string) => {
      const records = [{ id, values: [0, 1, 0], metadata: {} }];
      expect(await accounts[plan].api('POST', '/collections/vault/upsert', { records })).toMatchObject({ status: 200 });
    };
    const expectMismatch = async (plan: Plan) =>
      expect(await verify(plan)).toMatchObject({ state: 'mismatch', verified: false, reason: expect.any(String) });
    const ofEach = (step: (plan: Plan) => Promise<unknown>) => Promise.all(PLANS.map(step));

    async function fill(plan: Plan): Promise<void> {
      const created = await accounts[plan].api<{ collection: { id: string } }>('POST', '/collections', {
        name: 'vault',
        dimensions: 3,
      });
      await upsert(plan, 'first');
      const records = [{ id: 'victim', values: BEFORE, metadata: JSON.parse(METADATA) }];
      await accounts[plan].api('POST', '/collections/vault/upsert', { records });
      await upsert(plan, 'last');
      const { store } = service.provec;
      const key = shardKey(created.body.collection.id, 0);
      await until(
        'the records are materialised',
        async () => (await store.records.appliedSeq(key)) === (await store.log.head(key))?.seq,
      );
      expect((await verify(plan)).state).toBe(plan === 'enterprise' && ledger === 'on' ? 'match' : 'not_anchored');
    }

    beforeAll(async () => {
      service = await startService({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_LEDGER: ledger });
      accounts = {
        enterprise: await createTenant(service, 'enterprise'),
        free: await createTenant(service, 'free'),
      };
      await ofEach(fill);
      await service.provec.stop();
      for (const [from, to] of [
        [float32Bytes(BEFORE), float32Bytes(AFTER)],
        [leafOf(BEFORE), leafOf(AFTER)],
      ] as const)
        expect(tamperOnDisk(service.dataDir, from, to)).toBeGreaterThanOrEqual(PLANS.length);
      await service.restart();
    });
    afterAll(() => service.stop());

    test('is a mismatch before and after further writes and restarts', async () => {
      await ofEach(async (plan) => {
        await upsert(plan, 'before any verify');
        await expectMismatch(plan);
        await upsert(plan, 'after it');
      });
      await service.restart();
      await ofEach(async (plan) => {
        await upsert(plan, 'in the next process');
        await expectMismatch(plan);
      });
    });

    test('is a mismatch on every plan, whether or not roots are anchored now, and no root with it was anchored', async () => {
      await service.restart({ PROVEC_LEDGER: 'on' });
      await ofEach(expectMismatch);
      await service.provec.store.catalog.setPlan(accounts.free.account.id, 'enterprise');
      await ofEach(async (plan) => {
        await upsert(plan, 'with the ledger');
        await expectMismatch(plan);
      });
      await service.restart();
      await ofEach(async (plan) => {
        await upsert(plan, 'with the ledger, in another process');
        await expectMismatch(plan);
        const { body } = await accounts[plan].api<{ anchors: { version: number }[] }>(
          'GET',
          '/collections/vault/anchors',
        );
        expect(body.anchors.every(({ version }) => version <= 3)).toBe(true);
      });
    });

    test('is accepted permanently when the operator says so, and anchored', async () => {
      const { broker, store } = service.provec;
      const idOf = async (plan: Plan) => (await store.catalog.findCollection(accounts[plan].account.id, 'vault'))!.id;
      const ids = [await idOf('enterprise'), await idOf('free')];
      for (const collectionId of ids) await broker.call('anchoring.resume', { collectionId });
      const expectMatch = async (plan: Plan) =>
        expect(await verify(plan)).toMatchObject({ state: 'match', verified: true });
      await ofEach(expectMatch);
      await service.restart();
      await ofEach(expectMatch);
      for (const id of ids) expect(await service.provec.store.contradictions.list(id)).toEqual([]);
    });
  },
);
