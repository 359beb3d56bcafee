import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { overwriteOnDisk } from '../support/intruder.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
beforeEach(async () => {
  // What it finds is an error to it.
  service = await startService({ PROVEC_LOG_LEVEL: 'silent' });
});
afterEach(() => service.stop());

async function upsert(id: string, text: string) {
  const records = [{ id, values: [1, 0, 0], metadata: { text } }];
  return (await service.api('POST', '/collections/demo/upsert', { records })).body;
}

const verify = async () => (await service.api<VerifyResult>('GET', '/collections/demo/verify')).body;

test.each([1, 4])(
  'a record changed on disk, over %i shards: verify names it, and no restart or write launders it',
  async (shards) => {
    await service.api('POST', '/collections', { name: 'demo', dimensions: 3, shards });
    for (const id of ['alice', 'bob', 'carol']) await upsert(id, `paid to ${id}`);
    const before = await verify();
    expect(before).toMatchObject({ state: 'match', vectorCount: 3 });

    await service.provec.stop();
    expect(overwriteOnDisk(service.dataDir, 'paid to bob', 'paid to eve', /\.db$/)).toBeGreaterThan(0);
    await service.restart();

    const tampered = {
      state: 'mismatch',
      verified: false,
      match: false,
      onChainRoot: before.onChainRoot,
      differences: [{ id: 'bob', what: expect.stringContaining('metadata') }],
    };
    expect(await verify()).toMatchObject(tampered);
    expect(await upsert('dave', 'paid to dave')).toMatchObject({ upsertedCount: 1, anchor: { status: 'pending' } });
    expect(await verify()).toMatchObject(tampered);
    await service.restart();
    expect(await verify()).toMatchObject(tampered);
  },
);
