/**
 * An attacker with access to the store keeps rows that the service wrote, with valid seals, and
 * restores them later. No seal shows that such a row is old.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { apiClient } from '../../support/api-client.ts';
import { float32Bytes } from '../../support/intruder.ts';
import { referenceLeaf } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { TamperedRows } from '../../support/tampered-rows.ts';
import { until } from '../../support/until.ts';

type Row = Record<string, SQLInputValue>;

const TOKEN = 'the-token-of-the-operator-of-this-test';
const VICTIM = { id: 'a', values: [1, 2, 3], metadata: {} };
const FORGED = { ...VICTIM, values: [9, 9, 9] };

let service: TestService;
let accountId: string;
let secret: string;
let collectionId: string;

beforeAll(async () => {
  service = await startService({ PROVEC_ADMIN_TOKEN: TOKEN, PROVEC_LOG_LEVEL: 'silent' });
});
afterAll(() => service.stop());

const operator = () => apiClient(service.url, TOKEN);
const client = () => apiClient(service.url, secret);
const verify = async () => (await client()<VerifyResult>('GET', '/collections/c/verify')).body;
const upsert = (record: typeof VICTIM) => client()('POST', '/collections/c/upsert', { records: [record] });

const inStore = <T>(work: (file: DatabaseSync) => T): T => inStoreFile(service.dataDir, 'log.db', work);
const kept = (table: string, key: string, value: string): Row =>
  inStore((file) => file.prepare(`SELECT * FROM ${table} WHERE ${key} = ?`).get(value) as Row);
function putBack(table: string, key: string, row: Row): void {
  const names = Object.keys(row);
  const sql = `INSERT OR REPLACE INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
  inStore((file) => {
    file.prepare(`DELETE FROM ${table} WHERE ${key} = ?`).run(row[key]!);
    file.prepare(sql).run(...Object.values(row));
  });
}
const anchorRow = () => kept('anchors', 'collection', collectionId);

test('an old plan, a forged record, and a row from before anchoring: a mismatch', async () => {
  const made = (
    await operator()<{ account: { id: string }; key: { secret: string } }>('POST', '/admin/accounts', {
      name: 'victim',
      plan: 'free',
    })
  ).body;
  accountId = made.account.id;
  secret = made.key.secret;
  const freeAccount = kept('accounts', 'id', accountId);
  await operator()('PATCH', `/admin/accounts/${accountId}`, { plan: 'pro' });
  const proAccount = kept('accounts', 'id', accountId);
  const created = await client()<{ collection: { id: string } }>('POST', '/collections', { name: 'c', dimensions: 3 });
  collectionId = created.body.collection.id;
  await upsert(VICTIM);
  await until('version 1 is anchored', async () => (await verify()).state === 'match');

  await service.provec.stop();
  putBack('accounts', 'id', freeAccount);
  await service.restart();
  await until('nothing is anchored any more', () => JSON.parse(String(anchorRow().row)).lapsed !== null);
  const unanchored = anchorRow();

  await service.provec.stop();
  const sql = 'UPDATE records SET vector = :vector, leaf = :leaf WHERE id = CAST(:id AS BLOB)';
  const { leaf } = referenceLeaf(FORGED.id, FORGED.values, FORGED.metadata);
  const rows = new TamperedRows(service.dataDir, collectionId);
  expect(rows.records(sql, { id: FORGED.id, vector: float32Bytes(FORGED.values), leaf })).toBe(1);
  await service.restart();
  expect((await upsert({ ...VICTIM, id: 'later' })).status).toBe(200);

  await service.provec.stop();
  expect(rows.log('DELETE FROM contradictions')).toBe(1);
  putBack('anchors', 'collection', unanchored);
  putBack('accounts', 'id', proAccount);
  await service.restart();
  await until('it is a mismatch', async () => (await verify()).state === 'mismatch');
  expect(await verify()).toMatchObject({ anchoredVersion: 1 });
  expect((await client()('GET', '/collections/c')).body).toMatchObject({
    collection: { anchor: { status: 'halted' } },
  });
});

test("another collection's row in place of its own: no write is confirmed by it", async () => {
  const busy = await client()<{ collection: { id: string } }>('POST', '/collections', { name: 'busy', dimensions: 3 });
  const quiet = await client()<{ collection: { id: string } }>('POST', '/collections', {
    name: 'quiet',
    dimensions: 3,
  });
  const write = (name: string, id: string) =>
    client()('POST', `/collections/${name}/upsert`, { records: [{ ...VICTIM, id }] });
  const state = async (name: string) => (await client()<VerifyResult>('GET', `/collections/${name}/verify`)).body.state;
  await write('quiet', 'first');
  for (const id of ['first', 'second', 'third']) await write('busy', id);
  for (const name of ['busy', 'quiet']) await until(`${name} is anchored`, async () => (await state(name)) === 'match');

  const { collection: _, ...row } = kept('anchors', 'collection', busy.body.collection.id);
  putBack('anchors', 'collection', { collection: quiet.body.collection.id, ...row });
  const answer = await write('quiet', 'second');
  expect(answer).toMatchObject({ status: 200, body: { anchor: { status: 'pending' } } });
  await until('it is halted', async () => {
    const { body } = await client()<{ collection: { anchor: { status: string } } }>('GET', '/collections/quiet');
    return body.collection.anchor.status === 'halted';
  });
  expect(await state('quiet')).toBe('mismatch');
  expect(await write('busy', 'fourth')).toMatchObject({ body: { anchor: { status: 'confirmed' } } });
});
