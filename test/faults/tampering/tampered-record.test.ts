/** Seen in earlier systems: changed values or metadata pass verify, or pass it after a restart. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import type { Api } from '../../support/api-client.ts';
import { float32Bytes, tamperOnDisk } from '../../support/intruder.ts';
import { startService, type TestService } from '../../support/service.ts';
import { ADMIN_TOKEN, createTenant } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

/**
 * What the attacker can change: only the materialised records, or everything that contains the
 * record.
 */
const REACHES = { records: /^records\.db(-wal)?$/, everything: /\.(db|db-wal|bin)$/ };

interface Case {
  name: string;
  plan: 'enterprise' | 'free';
  what: 'values' | 'metadata';
  files: RegExp;
  values: number[];
  metadata: { balance: string };
  from: Buffer | string;
  to: Buffer | string;
}

const casesOn = (plan: Case['plan']): Case[] =>
  (['values', 'metadata'] as const).flatMap((what) =>
    Object.entries(REACHES).map(([reach, files]) => {
      const name = `${what}-in-${reach}-${plan}`;
      const values = [0.123, name.length, -0.789];
      const balance = `ten thousand for ${name}`;
      return {
        name,
        plan,
        what,
        files,
        values,
        metadata: { balance },
        from: what === 'values' ? float32Bytes(values) : balance,
        to: what === 'values' ? float32Bytes([0.123, name.length, 0.789]) : balance.replace('ten', 'six'),
      };
    }),
  );

describe.each([
  ['while the service runs', casesOn('enterprise')],
  ['while it is stopped', [...casesOn('enterprise'), ...casesOn('free')]],
])('changed %s', (when, cases) => {
  let service: TestService;
  const apis = new Map<string, Api>();
  const before = new Map<string, VerifyResult>();
  const apiOf = ({ plan }: Case) => apis.get(plan)!;
  const verify = async (each: Case) =>
    (await apiOf(each)<VerifyResult>('GET', `/collections/${each.name}/verify`)).body;
  const upsert = (each: Case, id: string) =>
    apiOf(each)('POST', `/collections/${each.name}/upsert`, { records: [{ id, values: [0, 1, 0], metadata: {} }] });

  async function fill(each: Case): Promise<void> {
    const { name, plan, values, metadata } = each;
    const made = { name, dimensions: 3 };
    const { body } = await apiOf(each)<{ collection: { id: string } }>('POST', '/collections', made);
    const victim = { id: 'victim', values, metadata };
    const others = ['first', 'last'].map((id) => ({ id, values: [1, 0, 0], metadata: { note: 'left alone' } }));
    await apiOf(each)('POST', `/collections/${name}/upsert`, { records: [others[0], victim, others[1]] });
    const { records, log } = service.provec.store;
    const key = shardKey(body.collection.id, 0);
    await until(
      'the records are materialised',
      async () => (await records.appliedSeq(key)) === (await log.head(key))?.seq,
    );
    before.set(name, await verify(each));
    expect(before.get(name)).toMatchObject({ state: plan === 'free' ? 'not_anchored' : 'match', vectorCount: 3 });
  }

  beforeAll(async () => {
    const plans = JSON.stringify({ free: { collections: -1 } });
    service = await startService({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_PLANS: plans });
    for (const plan of ['enterprise', 'free']) apis.set(plan, (await createTenant(service, plan)).api);
    for (const each of cases) await fill(each);
    if (when === 'while it is stopped') await service.provec.stop();
    for (const { files, from, to } of cases) {
      expect(tamperOnDisk(service.dataDir, from, to, files)).toBeGreaterThan(0);
    }
    if (when === 'while it is stopped') await service.restart();
  });
  afterAll(() => service.stop());

  async function expectMismatch(each: Case): Promise<VerifyResult> {
    const after = await verify(each);
    expect(after).toMatchObject({
      state: 'mismatch',
      verified: false,
      reason: expect.stringMatching(/^[A-Z].*\.$/),
      differences: [{ id: 'victim', what: expect.stringContaining(each.what) }],
    });
    expect(after.differences).toHaveLength(1);
    return after;
  }

  test.each(cases)('verify says mismatch and names the record: $name', async (each) => {
    const { computedRoot, onChainRoot } = before.get(each.name)!;
    const after = await expectMismatch(each);
    expect(after.computedRoot).not.toBe(computedRoot);
    expect(after).toMatchObject({ match: false, onChainRoot });
  });

  test('still does so after further writes and restarts, and nothing newer is anchored', async () => {
    const anchored = new Map<string, number | null>();
    for (const each of cases) {
      expect(await upsert(each, 'later')).toMatchObject({ status: 200, body: { upsertedCount: 1 } });
      await expectMismatch(each);
    }
    await service.restart();
    for (const each of cases) {
      anchored.set(each.name, (await expectMismatch(each)).anchoredVersion);
      expect(await upsert(each, 'latest')).toMatchObject({ status: 200, body: { upsertedCount: 1 } });
    }
    await service.restart();
    for (const each of cases) {
      expect((await expectMismatch(each)).anchoredVersion).toBe(anchored.get(each.name));
    }
  });
});
