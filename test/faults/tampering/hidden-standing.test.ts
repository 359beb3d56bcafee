/**
 * An attacker changes the unsealed columns of outbox rows: they then claim that nothing is due and
 * no decision is needed, or the opposite.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CollectionDetail, UpsertResult } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { LedgerRelay } from '../../support/ledger-relay.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { TamperedRows } from '../../support/tampered-rows.ts';
import { until } from '../../support/until.ts';

const NAMES = ['halted', 'due', 'late', 'settled'];

let relay: LedgerRelay;
let service: TestService;
const ids = new Map<string, string>();

const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const anchored = (name: string) => until(`${name} is anchored`, async () => (await verify(name)).state === 'match');
const upsert = async (name: string, id: string) =>
  (await service.api<UpsertResult>('POST', `/collections/${name}/upsert`, { records: [{ id, values: [1, 0] }] })).body;
const statusOf = async (name: string) =>
  (await service.api<{ collection: CollectionDetail }>('GET', `/collections/${name}`)).body.collection.anchor.status;

const rowsOf = (name: string) => new TamperedRows(service.dataDir, ids.get(name)!);
const edit = (name: string, sql: string) =>
  expect(rowsOf(name).log(`${sql} WHERE collection = :collection`, { collection: ids.get(name)! })).toBe(1);
const written = (): Record<string, { standing: string; wantedAt: string | null }> => {
  const sql = 'SELECT collection, standing, wantedAt FROM anchors';
  const all = inStoreFile(service.dataDir, 'log.db', (file) => file.prepare(sql).all());
  const of = (name: string) => all.find(({ collection }) => collection === ids.get(name));
  return Object.fromEntries(NAMES.map((name) => [name, of(name)!])) as ReturnType<typeof written>;
};
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)![1]);
}

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '200', PROVEC_LOG_LEVEL: 'error' });
  for (const name of NAMES) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 2 });
    ids.set(name, body.collection.id);
    await upsert(name, 'a');
    await anchored(name);
  }
  const sql = `INSERT INTO contradictions VALUES (:collection, 0, 1, 'as a shard writes it down', 'now')`;
  expect(rowsOf('halted').log(sql, { collection: ids.get('halted')! })).toBe(1);
  await upsert('halted', 'b');
  await until('one is halted', async () => (await metric('provec_anchors_halted')) === 1);
  relay.isDown = true;
  for (const name of ['due', 'late']) expect(await upsert(name, 'b')).toMatchObject({ anchor: { status: 'pending' } });
  await until('both are written down', async () => {
    const { due, late } = written();
    return due.standing === 'due' && late.standing === 'due';
  });
  await service.provec.stop();
  edit('halted', `UPDATE anchors SET standing = 'settled'`);
  edit('due', `UPDATE anchors SET standing = 'settled'`);
  edit('late', `UPDATE anchors SET wantedAt = '2001-01-01T00:00:00.000Z'`);
  edit('settled', `UPDATE anchors SET standing = 'halted'`);
  await service.restart();
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

test('after a start an operator is told what is halted, and only that, before any request', async () => {
  await until('it is filed', async () => written().halted.standing === 'halted');
  await until('what is not is not', async () => written().settled.standing === 'settled');
  expect(await metric('provec_anchors_halted')).toBe(1);
  await until('each is in the log', async () => {
    const log = service.logged;
    return NAMES.every((name) => log.includes(ids.get(name)!));
  });
  expect(await statusOf('halted')).toBe('halted');
});

test('what waited at a kill keeps its waiting time, and is anchored once the ledger is back', async () => {
  await until('they are filed', async () => {
    const { due, late } = written();
    return due.standing === 'due' && !late.wantedAt?.startsWith('2001');
  });
  expect(await metric('provec_anchors_pending')).toBe(2);
  expect(await metric('provec_anchors_oldest_pending_seconds')).toBeLessThan(3600);
  relay.isDown = false;
  await anchored('due');
  await anchored('late');
});
