/** Seen in earlier systems: a changed value or metadata passes verify, or passes it after a restart. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { shardKey } from '../../lib/shard/shard-key.ts';
import { float32Bytes, overwriteOnDisk } from '../support/intruder.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** Where the intruder gets at: the materialised records alone, or everything that holds the record. */
const REACHES = { records: /^records\.db(-wal)?$/, everything: /\.(db|db-wal|bin)$/ };

interface Case {
  name: string;
  what: 'values' | 'metadata';
  files: RegExp;
  values: number[];
  metadata: { balance: string };
  from: Buffer | string;
  to: Buffer | string;
}

const CASES: Case[] = (['values', 'metadata'] as const).flatMap((what) =>
  Object.entries(REACHES).map(([reach, files]) => {
    const name = `${what}-in-${reach}`;
    const values = [0.123, name.length, -0.789];
    const balance = `ten thousand for ${name}`;
    return {
      name,
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
  ['while the service runs', 'enterprise'],
  ['while it is stopped', 'enterprise'],
  ['while it is stopped', 'free'],
])('changed %s, on the plan %s', (when, plan) => {
  let service: TestService;
  const before = new Map<string, VerifyResult>();
  const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
  const upsert = (name: string, id: string) =>
    service.api('POST', `/collections/${name}/upsert`, { records: [{ id, values: [0, 1, 0], metadata: {} }] });

  async function fill({ name, values, metadata }: Case): Promise<void> {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
    const victim = { id: 'victim', values, metadata };
    const others = ['first', 'last'].map((id) => ({ id, values: [1, 0, 0], metadata: { note: 'left alone' } }));
    await service.api('POST', `/collections/${name}/upsert`, { records: [others[0], victim, others[1]] });
    const { records, log } = service.provec.store;
    const key = shardKey(body.collection.id, 0);
    await until(
      'the records are materialised',
      async () => (await records.appliedSeq(key)) === (await log.head(key))?.seq,
    );
    before.set(name, await verify(name));
    expect(before.get(name)).toMatchObject({ state: plan === 'free' ? 'not_anchored' : 'match', vectorCount: 3 });
  }

  beforeAll(async () => {
    const plans = JSON.stringify({ free: { collections: -1 } });
    service = await startService({ PROVEC_BOOTSTRAP_PLAN: plan, PROVEC_PLANS: plans });
    for (const each of CASES) await fill(each);
    if (when === 'while it is stopped') await service.provec.stop();
    for (const { files, from, to } of CASES) {
      expect(overwriteOnDisk(service.dataDir, from, to, files)).toBeGreaterThan(0);
    }
    if (when === 'while it is stopped') await service.restart();
  });
  afterAll(() => service.stop());

  async function expectMismatch({ name, what }: Case): Promise<VerifyResult> {
    const after = await verify(name);
    expect(after).toMatchObject({
      state: 'mismatch',
      verified: false,
      reason: expect.stringMatching(/^[A-Z].*\.$/),
      differences: [{ id: 'victim', what: expect.stringContaining(what) }],
    });
    expect(after.differences).toHaveLength(1);
    return after;
  }

  test.each(CASES)('verify says mismatch and names the record: $name', async (each) => {
    const { computedRoot, onChainRoot } = before.get(each.name)!;
    const after = await expectMismatch(each);
    expect(after.computedRoot).not.toBe(computedRoot);
    expect(after).toMatchObject({ match: false, onChainRoot });
  });

  test('still after further writes and restarts, and then nothing newer is anchored', async () => {
    const anchored = new Map<string, number | null>();
    for (const each of CASES) {
      expect(await upsert(each.name, 'later')).toMatchObject({ status: 200, body: { upsertedCount: 1 } });
      await expectMismatch(each);
    }
    await service.restart();
    for (const each of CASES) {
      anchored.set(each.name, (await expectMismatch(each)).anchoredVersion);
      expect(await upsert(each.name, 'latest')).toMatchObject({ status: 200, body: { upsertedCount: 1 } });
    }
    await service.restart();
    for (const each of CASES) {
      expect((await expectMismatch(each)).anchoredVersion).toBe(anchored.get(each.name));
    }
  });
});
