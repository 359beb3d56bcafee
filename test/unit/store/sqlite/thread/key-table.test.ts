import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Seals } from '../../../../../lib/secret/seals.ts';
import type { KeyRow, Scope } from '../../../../../store/keys.ts';
import { payloadOfKey } from '../../../../../store/sealed-keys.ts';
import { Database } from '../../../../../store/sqlite/thread/database.ts';
import { KEYS_SCHEMA, type KeyTable, keyTable } from '../../../../../store/sqlite/thread/key-table.ts';
import { at, newKey } from '../../../../contract/store-rows.ts';
import { TEST_KEYS } from '../../../../support/store-keys.ts';

const KEYS = 1_000;
const ACCOUNT = 'an account with many keys';

/** Counts the rows that it verifies. */
class CountingSeals extends Seals {
  verified = 0;

  override verifyHex(...args: Parameters<Seals['verifyHex']>): boolean {
    this.verified++;
    return super.verifyHex(...args);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'provec-keys-'));
const seals = new CountingSeals(TEST_KEYS.apiKeys);
const rows: KeyRow[] = [];
let database: Database;
let keys: KeyTable;

function add(scopes: Scope[]): KeyRow {
  const row = newKey({ accountId: ACCOUNT, scopes, createdAt: at(rows.length) });
  rows.push(row);
  expect(keys.create({ ...row, seal: seals.sealHex(payloadOfKey(row)) }, null)).toBe('created');
  return row;
}

beforeAll(() => {
  database = new Database({ path: join(folder, 'keys.db'), schema: KEYS_SCHEMA, pageBytes: 4_096, made: false });
  keys = keyTable(database, seals);
  database.tryTransaction(() => {
    for (let count = 0; count < KEYS; count++) add(count % 2 === 0 ? ['read'] : ['read', 'manage']);
  });
});
beforeEach(() => {
  seals.verified = 0;
});
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

test('an absent key is looked up by its id: none is verified', () => {
  expect(keys.revoke(ACCOUNT, 'absent', at(0))).toBe('absent');
  expect(seals.verified).toBe(0);
});

test('revoking one of a thousand keys verifies it, and another with manage', () => {
  expect(keys.revoke(ACCOUNT, rows[0].id, at(0))).toBe('revoked');
  expect(seals.verified).toBe(1);
  expect(keys.revoke(ACCOUNT, rows[1].id, at(0))).toBe('revoked');
  expect(seals.verified).toBe(3);
});

test('a limit verifies no more keys than it allows', () => {
  const row = newKey({ accountId: ACCOUNT });
  expect(keys.create({ ...row, seal: '' }, 2)).toBe('limit');
  expect(seals.verified).toBe(2);
});

test('counting a thousand keys again verifies none, and a changed or foreign one does not count', () => {
  const counted = () => keys.countSlice(ACCOUNT, null, 2 * KEYS).count;
  const before = counted();
  expect(seals.verified).toBe(before);
  seals.verified = 0;
  expect(counted()).toBe(before);
  expect(seals.verified).toBe(0);
  const [{ id }] = database.allUntyped<{ id: string }>('SELECT id FROM keys WHERE accountId = ? LIMIT 1', ACCOUNT);
  const { seal } = database.getOne<{ seal: string }>('SELECT seal FROM keys WHERE id = ?', id);
  database.tryTransaction(() => database.run('UPDATE keys SET seal = ? WHERE id = ?', 'f'.repeat(64), id));
  expect(counted()).toBe(before - 1);
  database.tryTransaction(() => database.run('UPDATE keys SET seal = ?, accountId = ? WHERE id = ?', seal, 'b', id));
  expect(counted()).toBe(before - 1);
  expect(keys.countSlice('b', null, 10).count).toBe(0);
  database.tryTransaction(() => database.run('UPDATE keys SET accountId = ? WHERE id = ?', ACCOUNT, id));
  expect(counted()).toBe(before);
});
