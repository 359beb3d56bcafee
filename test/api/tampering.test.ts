import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
beforeEach(async () => {
  // What it finds is an error to it.
  service = await startService({ PROVEC_LOG_LEVEL: 'silent' });
});
afterEach(() => service.stop());

/** Changes stored bytes as an intruder with access to the disk would; counts the places. */
async function replaceOnDisk(dataDir: string, from: string, to: string): Promise<number> {
  let places = 0;
  for (const name of ['log.db', 'records.db']) {
    const path = join(dataDir, name);
    const bytes = await readFile(path);
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) {
      bytes.write(to, at);
      places += 1;
    }
    await writeFile(path, bytes);
  }
  return places;
}

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
    expect(await replaceOnDisk(service.dataDir, 'paid to bob', 'paid to eve')).toBeGreaterThan(0);
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
