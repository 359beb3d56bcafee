import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { invalidHead, type ShardHead } from '../../../../../lib/shard/head.ts';
import { LogSeals } from '../../../../../store/log-seals.ts';
import { Database } from '../../../../../store/sqlite/thread/database.ts';
import { HeadCache } from '../../../../../store/sqlite/thread/head-cache.ts';
import { LOG_SCHEMA, LogTables } from '../../../../../store/sqlite/thread/log-tables.ts';
import { USAGE_SCHEMA, UsageTables } from '../../../../../store/sqlite/thread/usage-tables.ts';
import { entry, head } from '../../../../contract/store-rows.ts';
import { inStoreFile } from '../../../../support/store-file.ts';
import { TEST_KEYS } from '../../../../support/store-keys.ts';

const SHARDS = 256;

/** Counts the heads that it verifies. */
class CountingSeals extends LogSeals {
  verified = 0;

  override sealedHead(...args: Parameters<LogSeals['sealedHead']>): ShardHead | null {
    this.verified++;
    return super.sealedHead(...args);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'provec-heads-'));
const schema = LOG_SCHEMA + USAGE_SCHEMA;
const database = new Database({ path: join(folder, 'log.db'), schema, pageBytes: 4_096, made: false });
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

let seals: CountingSeals;
let log: LogTables;
let collection: string;
beforeEach(() => {
  seals = new CountingSeals(TEST_KEYS.log);
  log = new LogTables(database, new UsageTables(database), seals, new HeadCache(database));
  collection = randomUUID();
  database.tryTransaction(() => {
    for (let index = 0; index < SHARDS; index++) log.append(entry(`${collection}.${index}`, 1));
  });
  expect(verifiedBy(() => log.heads(collection).size)).toBe(SHARDS);
});

/** Returns how many heads `work` verifies. */
function verifiedBy(work: () => unknown): number {
  const before = seals.verified;
  work();
  return seals.verified - before;
}
const headOf = (index: number) => log.heads(collection).get(index);

test('verified heads are not verified again', () => {
  expect(verifiedBy(() => log.heads(collection))).toBe(0);
});

test('an append is seen at once, and costs one head', () => {
  const shard = `${collection}.7`;
  database.tryTransaction(() => log.append(entry(shard, 2)));
  expect(verifiedBy(() => expect(headOf(7)).toEqual(head(2)))).toBe(1);
  expect(headOf(8)).toEqual(head(1));
});

test('an append that is rolled back is not seen', () => {
  const cut = new Error('cut short');
  const aborted = () =>
    database.tryTransaction(() => {
      log.append(entry(`${collection}.7`, 2));
      throw cut;
    });
  expect(aborted).toThrow(cut);
  expect(headOf(7)).toEqual(head(1));
  database.tryTransaction(() => log.append(entry(`${collection}.7`, 2)));
  expect(headOf(7)).toEqual(head(2));
});

test('changes and appends of another connection are seen', () => {
  const other = new Database({ path: join(folder, 'log.db'), schema, pageBytes: 4_096, made: true });
  const others = new LogTables(other, new UsageTables(other), seals, new HeadCache(other));
  other.tryTransaction(() => others.append(entry(`${collection}.9`, 2)));
  expect(headOf(9)).toEqual(head(2));
  database.tryTransaction(() => log.append(entry(`${collection}.9`, 3)));
  expect(others.heads(collection).get(9)).toEqual(head(3));
  other.close();
  const sql = 'UPDATE shards SET count = 77 WHERE collection = ? AND shard = 3';
  inStoreFile(folder, 'log.db', (file) => file.prepare(sql).run(collection));
  expect(headOf(3)).toEqual(invalidHead(1));
});

test("a shard's first entry, and the drop of all, are seen", () => {
  const young = randomUUID();
  expect(log.heads(young).size).toBe(0);
  database.tryTransaction(() => log.append(entry(`${young}.0`, 1)));
  expect(log.heads(young)).toEqual(new Map([[0, head(1)]]));
  database.tryTransaction(() => log.dropSlice(young, 500));
  expect(log.heads(young).size).toBe(0);
});
