/**
 * An attacker with write access to the store writes impossible values into the heads of shards. An
 * unreadable head must not hide the account's other collections: it is a contradiction of its own
 * collection only.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionView } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';

const HUGE = 2n ** 60n;
const FORGED = new Map([
  ['negative-seq', 'seq = -1'],
  ['huge-seq', `seq = ${HUGE}`],
  ['no-seq', 'seq = 0'],
  ['huge-version', `version = ${HUGE}`],
  ['huge-count', `count = ${HUGE}`],
  ['negative-count', 'count = -1'],
  ['unknown-type', `type = 'x'`],
  ['short-hash', `hash = x'00'`],
  ['huge-shard', `shard = ${HUGE}`],
  ['negative-shard', 'shard = -1'],
  ['huge-number', `number = ${HUGE}`],
]);
const NAMES = [...FORGED.keys()];
/** Their heads are filed elsewhere, as if they had been removed. */
const MOVED = ['huge-shard', 'negative-shard', 'huge-number'];

let service: TestService;
const ids = new Map<string, string>();

/** The table only accepts numbers; a replaced table would be detected by its schema. */
function forge(): void {
  inStoreFile(service.dataDir, 'log.db', (file) => {
    for (const [name, change] of FORGED) file.exec(`UPDATE shards SET ${change} WHERE collection = '${ids.get(name)}'`);
  });
}
const upsert = (name: string, id: string) =>
  service.api('POST', `/collections/${name}/upsert`, { records: [{ id, values: [1, 0] }] });
const listed = async () => {
  const { status, body } = await service.api<{ collections: CollectionView[] }>('GET', '/collections');
  return [status, body.collections?.map(({ name }) => name).sort()];
};
const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;

beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'error' });
  for (const name of ['sound', ...NAMES]) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 2 });
    ids.set(name, body.collection.id);
    await upsert(name, 'a');
  }
  forge();
});
afterAll(() => service.stop());

describe.each([
  ['while the service runs', async () => undefined],
  ['and the service starts', () => service.restart()],
])('impossible heads, %s', (what, begin) => {
  beforeAll(begin);

  test('all collections of the account are listed', async () => {
    expect(await listed()).toEqual([200, ['sound', ...NAMES].sort()]);
  });

  test('the others are served', async () => {
    expect(await upsert('sound', what)).toMatchObject({ status: 200 });
    expect(await service.api('GET', '/collections/sound')).toMatchObject({ status: 200 });
    expect(await verify('sound')).toMatchObject({ state: 'not_anchored' });
  });
});

test.each(NAMES.filter((name) => !MOVED.includes(name)))('%s is a mismatch of that collection', async (name) => {
  expect(await verify(name)).toMatchObject({ state: 'mismatch' });
});

test.each(NAMES)('%s: the collection can be deleted', async (name) => {
  expect(await service.api('DELETE', `/collections/${name}`)).toMatchObject({ status: 200 });
});

test('the rest is listed, and a deleted name is free', async () => {
  expect(await listed()).toEqual([200, ['sound']]);
  expect(await service.api('POST', '/collections', { name: NAMES[0], dimensions: 2 })).toMatchObject({ status: 201 });
});
