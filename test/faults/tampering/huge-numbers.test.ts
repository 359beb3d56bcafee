/**
 * An attacker with write access to the store writes numbers beyond 2^53 and invalid JSON into its
 * rows. An unreadable row must not hide other rows: it may only affect its own collection.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnchorsPage, CollectionView } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile, type StoreFile } from '../../support/store-file.ts';
import { until } from '../../support/until.ts';

const HUGE = 2n ** 60n;
const FORGED: Record<string, [file: StoreFile, sql: string]> = {
  dimensions: ['log.db', `UPDATE collections SET dimensions = ${HUGE} WHERE id = ?`],
  shards: ['log.db', `UPDATE collections SET shards = ${HUGE} WHERE id = ?`],
  revision: ['log.db', `UPDATE anchors SET revision = ${HUGE} WHERE collection = ?`],
  history: ['log.db', `UPDATE anchor_history SET item = 'nonsense' WHERE collection = ? AND version = 2`],
  contradiction: ['log.db', `INSERT INTO contradictions VALUES (?, 0, ${HUGE}, 'forged', 'now')`],
  mark: ['records.db', `UPDATE shards SET seq = ${HUGE} WHERE collection = ?`],
  number: ['records.db', `UPDATE shards SET number = ${HUGE} WHERE collection = ?`],
  place: ['records.db', `UPDATE shards SET nextPlace = ${HUGE} WHERE collection = ?`],
};
const OF_EVERYBODY = [
  `UPDATE usage_months SET writes = ${HUGE}, queries = ${HUGE}`,
  `UPDATE stored_vectors SET vectors = ${HUGE}`,
  `UPDATE collection_shares SET vectors = ${HUGE}`,
];
const NAMES = Object.keys(FORGED);
/** Collections whose row in the catalog is refused. */
const REFUSED = ['dimensions', 'shards'];
const LISTED = ['sound', ...NAMES].filter((name) => !REFUSED.includes(name)).sort();

let service: TestService;
const ids = new Map<string, string>();

function forge(): void {
  for (const [name, [file, sql]] of Object.entries(FORGED)) edit(file, sql, ids.get(name)!);
  for (const sql of OF_EVERYBODY) edit('log.db', sql);
}
function edit(name: StoreFile, sql: string, ...values: string[]): void {
  const { changes } = inStoreFile(service.dataDir, name, (file) => file.prepare(sql).run(...values));
  expect(changes).toBeGreaterThan(0);
}
const materialised = (): number =>
  inStoreFile(service.dataDir, 'records.db', (file) => file.prepare('SELECT 1 FROM shards').all()).length;
const upsert = (name: string, id: string) =>
  service.api('POST', `/collections/${name}/upsert`, { records: [{ id, values: [1, 0] }] });
const verify = (name: string) => service.api<VerifyResult>('GET', `/collections/${name}/verify`);
const anchors = (name: string) =>
  service.api<Pick<AnchorsPage, 'anchors' | 'faults'>>('GET', `/collections/${name}/anchors`);
const stateOf = async (name: string) => (await verify(name)).body.state;

beforeAll(async () => {
  service = await startService({ PROVEC_LOG_LEVEL: 'error', PROVEC_ANCHOR_WAIT_MS: '5000' });
  for (const name of ['sound', ...NAMES]) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 2 });
    ids.set(name, body.collection.id);
    for (const id of ['a', 'b', 'c']) await upsert(name, id);
    await until(`${name} is anchored`, async () => (await stateOf(name)) === 'match');
  }
  await until('the records are materialised', async () => materialised() > NAMES.length);
});
afterAll(() => service.stop());

describe.each([
  ['while the service runs', async () => forge()],
  ['and the service starts', () => service.restart()],
])('impossible numbers in rows, %s', (what, begin) => {
  beforeAll(begin);

  test("the account's other collections and its usage are listed", async () => {
    const { status, body } = await service.api<{ collections: CollectionView[] }>('GET', '/collections');
    expect([status, body.collections?.map(({ name }) => name).sort()]).toEqual([200, LISTED]);
    expect(await service.api('GET', '/usage')).toMatchObject({ status: 200 });
  });

  test('sound collections are served and anchored', async () => {
    expect(await upsert('sound', what)).toMatchObject({ status: 200, body: { anchor: { status: 'confirmed' } } });
    expect(await verify('sound')).toMatchObject({ status: 200, body: { state: 'match' } });
  });

  test('revision: nothing of the collection is anchored, and the log names it', async () => {
    expect(await upsert('revision', what)).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
    expect(await verify('revision')).toMatchObject({ status: 200, body: { state: 'mismatch' } });
    expect(service.logged).toContain(ids.get('revision'));
  });

  test('history: the other anchors are listed, and the log names the bad one', async () => {
    const { status, body } = await anchors('history');
    expect([status, body.anchors?.map(({ version }) => version)]).toEqual([200, [3, 1]]);
    expect(body.faults).toEqual([{ position: 2, fault: 'Entry 2 is missing.' }]);
    expect(service.logged).toContain(ids.get('history'));
    expect(await verify('history')).toMatchObject({ status: 200, body: { state: 'match' } });
  });

  test('contradiction: it counts as one, for its collection', async () => {
    expect(await verify('contradiction')).toMatchObject({ status: 200, body: { state: 'mismatch' } });
    expect(await upsert('contradiction', what)).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
  });
});

test.each(REFUSED)('%s: the row is refused, and named', async (name) => {
  expect(await service.api('GET', `/collections/${name}`)).toMatchObject({ status: 500 });
  expect(service.logged).toContain(`collection ${ids.get(name)}`);
});

test.each(['mark', 'number'])('%s of the records is a mismatch of that collection', async (name) => {
  expect(await verify(name)).toMatchObject({ status: 200, body: { state: 'mismatch' } });
});

test.each(NAMES.filter((name) => !REFUSED.includes(name)))('%s: the collection can be deleted', async (name) => {
  expect(await service.api('DELETE', `/collections/${name}`)).toMatchObject({ status: 200 });
});

test('the rest is listed', async () => {
  const { body } = await service.api<{ collections: CollectionView[] }>('GET', '/collections');
  expect(body.collections.map(({ name }) => name)).toEqual(['sound']);
});
