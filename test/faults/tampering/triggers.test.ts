/**
 * An attacker adds a trigger, a view, a column or another schema to the store's files, so that the
 * stored data differs from the requested data. For example, a trigger that ignores inserts hides a
 * contradiction, and later writes are confirmed over a forged past.
 */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startService, type TestService } from '../../support/service.ts';
import { ADMIN_TOKEN } from '../../support/tenant.ts';

const IGNORED = 'CREATE TRIGGER hidden BEFORE INSERT ON contradictions BEGIN SELECT RAISE(IGNORE); END';

let service: TestService;

function edit(file: string, sql: string): void {
  const database = new DatabaseSync(join(service.dataDir, file), { timeout: 5_000, defensive: false });
  database.exec(sql);
  database.close();
}
const upsert = () => service.api('POST', '/collections/c/upsert', { records: [{ id: 'a', values: [1, 0, 0] }] });
const verify = () => service.api('GET', '/collections/c/verify');
const ready = async (headers: Record<string, string> = { authorization: `Bearer ${ADMIN_TOKEN}` }) => {
  const response = await fetch(`${service.url}/readyz`, { headers });
  return { status: response.status, body: await response.json() };
};

/** A request's answer, which leaves the details to the log. */
const REFUSED = {
  status: 503,
  body: {
    code: 'UNAVAILABLE',
    error: "Something other than Provec changed the store's tables; the service's log names the change.",
  },
};
/** The readiness, which names to the operator what was changed. */
const notReady = (change: string) => ({
  status: 503,
  body: { status: 'unavailable', reasons: [expect.stringContaining(change)] },
});

beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'warn', PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
  await service.api('POST', '/collections', { name: 'c', dimensions: 3 });
});
afterAll(() => service.stop());

test('added while the service runs: nothing is written, the service is not ready, and says why to the operator', async () => {
  expect(await upsert()).toMatchObject({ status: 200 });
  edit('log.db', IGNORED);
  const change = 'log.db in the data directory has the trigger hidden, which Provec does not create';
  expect(await upsert()).toMatchObject(REFUSED);
  expect(await ready()).toMatchObject(notReady(change));
  expect(service.logged).toContain(change);
  expect(await ready({})).toEqual({ status: 503, body: { status: 'unavailable' } });
  expect(service.logged.match(/this process cannot serve requests/g)).toHaveLength(1);
  edit('log.db', 'DROP TRIGGER hidden');
  expect(await upsert()).toMatchObject({ status: 200 });
  expect(await ready()).toMatchObject({ status: 200 });
});

test("added while the service runs, and SQLite's count of such changes put back: no effect, and verify does not pass", async () => {
  const count = (sql: string): number => {
    const database = new DatabaseSync(join(service.dataDir, 'log.db'), { readOnly: true, timeout: 5_000 });
    const [[value]] = database.prepare(sql).all().map(Object.values);
    database.close();
    return value;
  };
  const version = count('PRAGMA schema_version');
  const entries = count('SELECT count(*) FROM entries');
  edit(
    'log.db',
    `CREATE TRIGGER hidden BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END; PRAGMA schema_version = ${version}`,
  );
  expect(await upsert()).toMatchObject({ status: 200 });
  expect(count('SELECT count(*) FROM entries')).toBe(entries + 1);
  expect(await verify()).toMatchObject(REFUSED);
  edit('log.db', 'DROP TRIGGER hidden');
  expect((await verify()).status).toBe(200);
});

/** Replaces the text of a table's schema without changing the schema's change counter. */
const REPLACED = (sql: string) => `PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = ${sql} WHERE type = 'table' AND name = 'contradictions'`;
const AS_TEXT = REPLACED('CAST(sql AS TEXT)');

describe("bytes in place of the schema's text, while the service runs: named, and nothing more is written", () => {
  const change = 'log.db in the data directory has another table contradictions than Provec creates';

  test.each([
    ['a verify', verify, REFUSED],
    ['a look at the readiness', ready, notReady(change)],
  ])('%s finds it', async (_, look, found) => {
    edit('log.db', REPLACED('CAST(sql AS BLOB)'));
    expect(await look()).toMatchObject(found);
    expect(await upsert()).toMatchObject(REFUSED);
    expect(await ready()).toMatchObject(notReady(change));
    expect(service.logged).toContain(change);
    edit('log.db', AS_TEXT);
    expect(await upsert()).toMatchObject({ status: 200 });
    expect(await ready()).toMatchObject({ status: 200 });
    expect((await verify()).status).toBe(200);
  });
});

test('text that is no schema, while the service runs: named, and nothing more is written', async () => {
  const database = new DatabaseSync(join(service.dataDir, 'log.db'), { timeout: 5_000, defensive: false });
  const sql = String(database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'contradictions'").get()?.sql);
  database.close();
  edit('log.db', `${REPLACED("'CREATE TABLE contradictions'")}; PRAGMA schema_version = 1000`);
  const change = 'malformed database schema (contradictions)';
  for (const request of [upsert, verify]) expect(await request()).toMatchObject(REFUSED);
  expect(await ready()).toMatchObject(notReady(change));
  edit('log.db', `${REPLACED(`'${sql}'`)}; PRAGMA schema_version = 1001`);
  expect(await upsert()).toMatchObject({ status: 200 });
  expect(await ready()).toMatchObject({ status: 200 });
});

describe('added while the service is stopped', () => {
  beforeAll(async () => {
    await service.provec.stop();
  });

  test.each([
    ['log.db', 'the trigger hidden', IGNORED, 'DROP TRIGGER hidden'],
    [
      'records.db',
      'the trigger hidden',
      'CREATE TRIGGER hidden AFTER INSERT ON records BEGIN SELECT 1; END',
      'DROP TRIGGER hidden',
    ],
    ['log.db', 'the view hidden', 'CREATE VIEW hidden AS SELECT 1', 'DROP VIEW hidden'],
    ['log.db', 'the index hidden', 'CREATE UNIQUE INDEX hidden ON contradictions (at)', 'DROP INDEX hidden'],
    [
      'log.db',
      'another table contradictions',
      'ALTER TABLE contradictions ADD COLUMN hidden TEXT',
      'ALTER TABLE contradictions DROP COLUMN hidden',
    ],
    ['log.db', 'another table contradictions', REPLACED('CAST(sql AS BLOB)'), AS_TEXT],
  ])('in %s, %s: Provec refuses to start', async (file, said, change, undo) => {
    edit(file, change);
    const refusal = new RegExp(`^${file} .*${said}`);
    await expect(service.restart()).rejects.toThrow(refusal);
    edit(file, undo);
  });

  test('and starts once it is removed', async () => {
    await service.restart();
    expect(await upsert()).toMatchObject({ status: 200 });
  });
});
