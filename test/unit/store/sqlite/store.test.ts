/**
 * Guarantees of the SQLite adapter beyond the port: how it commits, what can block it, and how it
 * handles files that lost data.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { invalidHead } from '../../../../lib/shard/head.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import { STORE_FORMAT } from '../../../../store/sqlite/format-file.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { Database } from '../../../../store/sqlite/thread/database.ts';
import { at, entry, newCollection, newKey, put, readAll, record, recordsOf } from '../../../contract/store-rows.ts';
import { invariant } from '../../../support/invariant.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';
import { until } from '../../../support/until.ts';

const BODY = new Uint8Array(20_000);

let root: string;
let folder: string;
let store: Store;
const { id } = newCollection();
const SHARD = `${id}.0`;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'provec-sqlite-'));
  folder = join(root, 'data');
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
});
afterEach(async () => {
  await store.close();
  await rm(root, { recursive: true });
});

/** Opens a file of the store like another process. */
function intrude(name: string, work: (file: DatabaseSync) => void): void {
  const file = new DatabaseSync(join(folder, name), { timeout: 5_000 });
  try {
    work(file);
  } finally {
    file.close();
  }
}

/**
 * Copies what a crash at this instant would leave: everything but the WAL index, which is memory.
 */
async function copyAsAfterCrash(): Promise<string> {
  const copy = join(root, 'copy');
  await cp(folder, copy, { recursive: true, filter: (path) => !path.endsWith('-shm') });
  return copy;
}

async function refusalOf(path: string): Promise<StoreError> {
  const outcome = await openSqliteStore(path, { keys: TEST_KEYS }).catch((error: unknown) => error);
  if (outcome instanceof StoreError) return outcome;
  await (outcome as Store).close();
  throw new Error('the store was opened');
}

test('every file is written in WAL mode, and every commit is synced before it returns', async () => {
  const file = new Database({ path: join(root, 'any.db'), schema: '', pageBytes: 4_096, made: false });
  expect(file.get('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' });
  expect(file.get('PRAGMA synchronous')).toEqual({ synchronous: 2 });
  file.close();
});

test('revoked keys leave no row behind', async () => {
  const rows = Array.from({ length: 50 }, () => newKey());
  for (const row of rows) await store.keys.create(row, null);
  for (const row of rows.slice(1)) expect(await store.keys.revoke('an account', row.id, at(0))).toBe('revoked');
  await store.keys.touch(rows[1].id, at(1));
  intrude('log.db', (log) => expect(log.prepare('SELECT id FROM keys').all()).toEqual([{ id: rows[0].id }]));
});

describe('a group of writes', () => {
  test('an operation that fails by itself takes no other along', async () => {
    const { log, keys } = store;
    const key = newKey();
    const outcomes = await Promise.allSettled([
      log.append(entry(SHARD, 1)),
      log.append(entry(SHARD, 5)),
      keys.create(key, null),
      keys.create(key, null),
      log.append(entry(SHARD, 1)),
      log.append(entry(SHARD, 2)),
    ]);
    expect(outcomes.map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)))).toEqual([
      'committed',
      'RangeError: entry 5 would leave a gap after 1',
      'created',
      'RangeError: the id or the hash of the key is already taken',
      'conflict',
      'committed',
    ]);
    expect((await log.head(SHARD))?.seq).toBe(2);
  });

  test('waits for another connection that writes, and is then stored completely; reads do not wait', async () => {
    const other = new DatabaseSync(join(folder, 'log.db'));
    other.exec('BEGIN IMMEDIATE');
    let ended = 0;
    const appends = [1, 2, 3].map((seq) => store.log.append(entry(SHARD, seq)).finally(() => ended++));
    // Readers need no lock, and the records are in another file.
    expect(await store.log.head(SHARD)).toBeNull();
    expect(await store.leases.list()).toEqual([]);
    await store.records.apply(SHARD, 0, 1, [put('a', 1)]);
    expect(ended).toBe(0);
    other.exec('COMMIT');
    other.close();
    expect(await Promise.all(appends)).toEqual(['committed', 'committed', 'committed']);
  });

  test('acknowledged writes are seen at once by a second opening of the folder', async () => {
    const other = await openSqliteStore(folder, { keys: TEST_KEYS });
    for (let seq = 1; seq <= 20; seq++) {
      expect(await [store, other][seq % 2].log.append(entry(SHARD, seq))).toBe('committed');
      expect((await [other, store][seq % 2].log.head(SHARD))?.seq).toBe(seq);
    }
    await other.close();
  });
});

test('a read does not wait for all earlier ones of another account', async () => {
  for (let seq = 1; seq <= 50; seq++) await store.log.append({ ...entry(SHARD, seq), body: BODY });
  const answered: string[] = [];
  const asked = Array.from({ length: 100 }, () => store.log.read(SHARD, 0, 2 ** 20).then(() => answered.push('noisy')));
  asked.push(store.catalog.countCollections('calm').then(() => answered.push('calm')));
  await Promise.all(asked);
  expect(answered.indexOf('calm')).toBeLessThan(50);
});

describe('without space', () => {
  /** Opens the store with a limit of `maxPages` pages per file. */
  async function reopen(maxPages: number | null): Promise<void> {
    await store.close();
    store = await openSqliteStore(folder, { keys: TEST_KEYS, maxPages });
  }

  test('a write is refused for capacity, stores nothing, and loses nothing acknowledged', async () => {
    await reopen(200);
    const acknowledged = [0, 0, 0, 0];
    const errors = await Promise.all(
      acknowledged.map(async (_, index) => {
        for (;;) {
          const next = entry(`${id}.${index}`, acknowledged[index] + 1, { body: BODY });
          const error = await store.log.append(next).catch((caught: unknown) => caught);
          if (error !== 'committed') return error;
          acknowledged[index]++;
        }
      }),
    );
    for (const error of errors) expect(error).toMatchObject({ name: 'StoreError', kind: 'capacity' });
    const heads = async () =>
      Promise.all(acknowledged.map(async (_, at) => (await store.log.head(`${id}.${at}`))?.seq ?? 0));
    expect(Math.min(...acknowledged)).toBeGreaterThan(0);
    expect(await heads()).toEqual(acknowledged);
    await store.log.trim(SHARD, acknowledged[0]);
    expect(await store.log.append(entry(SHARD, acknowledged[0] + 1, { body: BODY }))).toBe('committed');
    await reopen(null);
    expect(await heads()).toEqual([acknowledged[0] + 1, ...acknowledged.slice(1)]);
    expect(await store.log.append(entry(`${id}.1`, acknowledged[1] + 1, { body: BODY }))).toBe('committed');
  });

  test('records are applied completely or not at all', async () => {
    await store.records.apply(SHARD, 0, 1, [put('r0', 1)]);
    await reopen(50);
    const many = Array.from({ length: 1_000 }, (_, i) => put(`r${i}`, 2, 400));
    await expect(store.records.apply(SHARD, 1, 2, many)).rejects.toMatchObject({ kind: 'capacity' });
    expect(await store.records.appliedSeq(SHARD)).toBe(1);
    expect(await recordsOf(store.records, SHARD, ['r0', 'r1'])).toEqual([record('r0', 1)]);
    await reopen(null);
    await store.records.apply(SHARD, 1, 2, many);
    expect(await store.records.appliedSeq(SHARD)).toBe(2);
  });
});

test.each([
  ['a body', 4, `UPDATE entries SET body = x'00' WHERE seq = 4`],
  ['a root', 5, `UPDATE entries SET hash = zeroblob(32) WHERE seq = 5`],
  [
    'a tally',
    6,
    `UPDATE entries SET tally = '{"accountId":"x","month":"2026-11","writes":1,"vectors":1}' WHERE seq = 6`,
  ],
  ['an epoch', 2, `UPDATE entries SET epoch = 9 WHERE seq = 2`],
  ['a link', 7, `UPDATE entries SET link = zeroblob(32) WHERE seq = 7`],
  ['the link before', 7, `UPDATE entries SET before = zeroblob(32) WHERE seq = 7`],
  [
    'two entries that changed places',
    3,
    'UPDATE entries SET seq = 99 WHERE seq = 3; UPDATE entries SET seq = 3 WHERE seq = 8; UPDATE entries SET seq = 8 WHERE seq = 99',
  ],
  ['a removed entry', 6, `DELETE FROM entries WHERE seq = 6`],
  ['entries removed from the end', 9, `DELETE FROM entries WHERE seq >= 9`],
])('an audit of the log finds %s', async (_, seq, sql) => {
  for (let next = 1; next <= 10; next++) await store.log.append(entry(SHARD, next));
  expect(await store.log.audit(SHARD, Number.MAX_SAFE_INTEGER)).toBeNull();
  intrude('log.db', (file) => file.exec(sql));
  expect(await store.log.audit(SHARD, Number.MAX_SAFE_INTEGER)).toBe(seq);
  expect(await store.log.audit(SHARD, seq - 1)).toBeNull();
});

test('an audit finds nothing while another process appends and trims', async () => {
  const other = await openSqliteStore(folder, { keys: TEST_KEYS, nodeFolder: join(root, 'another-node') });
  try {
    const body = new Uint8Array(700_000);
    let seq = 0;
    const append = async (count: number) => {
      for (let end = seq + count; seq < end; ) await other.log.append(entry(SHARD, ++seq, { body }));
    };
    await append(10);
    for (let round = 0; round < 12; round++) {
      const audits = [store.log.audit(SHARD, Number.MAX_SAFE_INTEGER), store.log.audit(SHARD, seq)];
      const kept = [5, 1, 0][round % 3]!;
      await Promise.all([append(2), other.log.trim(SHARD, seq - kept)]);
      await append(4);
      expect(await Promise.all(audits)).toEqual([null, null]);
    }
  } finally {
    await other.close();
  }
});

test('no commit waits for the keeper of leases', async () => {
  await store.log.append(entry(SHARD, 1));
  const other = new DatabaseSync(join(folder, 'leases.db'));
  other.exec('BEGIN IMMEDIATE');
  for (let seq = 2; seq <= 40; seq++) await store.log.append(entry(SHARD, seq));
  await store.records.apply(SHARD, 0, 1, [put('a', 1)]);
  // A renewal waits until the leases are free.
  const ended = store.leases.end('nobody');
  other.exec('COMMIT');
  other.close();
  expect(await ended).toBe(true);
});

test('an inexact number is damage of its row and of no other', async () => {
  for (let seq = 1; seq <= 3; seq++) await store.log.append(entry(SHARD, seq));
  await store.records.apply(SHARD, 0, 1, [put('a', 1), put('b', 1)]);
  intrude('log.db', (log) => log.exec('UPDATE entries SET epoch = 9223372036854775807 WHERE seq = 2'));
  intrude('records.db', (records) => records.exec("UPDATE records SET seq = 9223372036854775807 WHERE id = x'61'"));
  const kinds = (await store.log.read(SHARD, 0, Number.MAX_SAFE_INTEGER)).map(({ kind }) => kind);
  expect(kinds).toEqual(['write', 'damaged', 'write']);
  const scan = await store.records.scan(SHARD);
  expect([...(await readAll(scan)).keys()]).toEqual(['b']);
  expect(scan.unreadable).toEqual(['a']);
  intrude('log.db', (log) => log.exec('UPDATE shards SET count = 9223372036854775807'));
  expect(await store.log.head(SHARD)).toEqual(invalidHead(3));
});

test('of concurrent backups into one folder one is made, and the others say what is there', async () => {
  for (let seq = 1; seq <= 3; seq++) await store.log.append(entry(SHARD, seq));
  const target = join(root, 'backup');
  const backUp = () => store.backup!(target, []).catch((error: Error) => error);
  const outcomes = await Promise.all([backUp(), backUp(), backUp()]);
  const refused = outcomes.filter((each) => each instanceof Error).map(({ message }) => message);
  expect(refused).toHaveLength(2);
  for (const message of refused)
    expect(message).toMatch(/^another backup is being written to .*\/backup, or was cut short there/);
  expect(await backUp()).toMatchObject({ message: expect.stringContaining('holds a backup or a store already') });
  const copy = await openSqliteStore(target, { keys: TEST_KEYS });
  expect(await copy.log.head(SHARD)).toEqual(await store.log.head(SHARD));
  await copy.close();
  expect(await readdir(target)).not.toContain('backup-under-way');
});

test('an interrupted backup is distinguished from other content', async () => {
  const target = join(root, 'backup');
  await mkdir(target);
  await writeFile(join(target, 'backup-under-way'), '');
  await expect(store.backup!(target, [])).rejects.toThrow('or was cut short there');
  expect(await readdir(target)).toEqual(['backup-under-way']);
  await rm(join(target, 'backup-under-way'));
  await writeFile(join(target, 'mine'), '');
  await expect(store.backup!(target, [])).rejects.toThrow(`${target} is not empty`);
  expect(await readdir(target)).toEqual(['mine']);
});

describe('a file that lost commits is refused', () => {
  test('if a byte of its WAL was changed', () =>
    invariant('a lost commit is told', async () => {
      for (let seq = 1; seq <= 40; seq++) await store.log.append(entry(SHARD, seq, { body: BODY }));
      const path = join(await copyAsAfterCrash(), 'log.db-wal');
      const wal = await readFile(path);
      const sound = await openSqliteStore(join(root, 'copy'), { keys: TEST_KEYS });
      expect((await sound.log.head(SHARD))?.seq).toBe(40);
      await sound.close();
      await rm(join(root, 'copy'), { recursive: true });
      await copyAsAfterCrash();
      wal[wal.length >> 1] ^= 1;
      await writeFile(path, wal);
      expect(await refusalOf(join(root, 'copy'))).toMatchObject({
        kind: 'damaged',
        message: expect.stringMatching(
          /^log\.db in the data directory lacks the last \d+ of 40 commits that were acknowledged .*: put back a backup of the whole directory, or delete log\.db-mark to continue without those commits\.$/,
        ),
      });
      // Nothing was modified: with the byte restored, all data is there.
      wal[wal.length >> 1] ^= 1;
      await writeFile(path, wal);
      const mended = await openSqliteStore(join(root, 'copy'), { keys: TEST_KEYS });
      expect((await mended.log.head(SHARD))?.seq).toBe(40);
      await mended.close();
    }));

  test('if every WAL is missing, and the operator may accept the loss', async () => {
    await store.log.append(entry(SHARD, 1));
    const copy = await copyAsAfterCrash();
    for (const name of await readdir(copy)) if (name.endsWith('-wal')) await rm(join(copy, name));
    expect((await refusalOf(copy)).message).toMatch(/^log\.db .*(lacks the last 1 of 1 commits|has no table)/);
    await store.close();
    await cp(join(folder, 'log.db'), join(root, 'older'));
    store = await openSqliteStore(folder, { keys: TEST_KEYS });
    await store.log.append(entry(SHARD, 2));
    await store.close();
    await cp(join(root, 'older'), join(folder, 'log.db'));
    expect((await refusalOf(folder)).message).toMatch(/lacks the last 1 of 2 commits/);
    await rm(join(folder, 'log.db-mark'));
    store = await openSqliteStore(folder, { keys: TEST_KEYS });
    expect((await store.log.head(SHARD))?.seq).toBe(1);
  });

  test.each(['log.db', 'records.db'])('if %s is an older copy', async (name) => {
    const write = async (seq: number) => {
      await store.log.append(entry(SHARD, seq));
      await store.records.apply(SHARD, seq - 1, seq, [put('a', seq)]);
    };
    await write(1);
    await store.close();
    await cp(join(folder, name), join(root, 'older'));
    store = await openSqliteStore(folder, { keys: TEST_KEYS });
    await write(2);
    await store.close();
    await cp(join(root, 'older'), join(folder, name));
    expect((await refusalOf(folder)).message).toMatch(/lacks the last 1 of 2 commits/);
  });
});

test('a second opening during writes, and its close, lose nothing', async () => {
  let appended = 0;
  let isOver = false;
  const writing = (async () => {
    while (!isOver) expect(await store.log.append(entry(SHARD, ++appended))).toBe('committed');
  })();
  for (let round = 0; round < 5; round++) {
    const other = await openSqliteStore(folder, { keys: TEST_KEYS });
    const before = appended;
    await until('the first goes on', () => appended > before + 5);
    expect((await other.log.head(SHARD))!.seq).toBeGreaterThan(before);
    await other.close();
  }
  isOver = true;
  await writing;
  expect((await store.log.read(SHARD, 0, Number.MAX_SAFE_INTEGER)).map(({ seq }) => seq)).toEqual(
    Array.from({ length: appended }, (_, i) => i + 1),
  );
});

test('a folder without its format file is not new if something was committed', async () => {
  await store.log.append(entry(SHARD, 1));
  await store.close();
  const format = await readFile(join(folder, 'provec.json'));
  await rm(join(folder, 'provec.json'));
  expect((await refusalOf(folder)).message).toBe(
    'provec.json in the data directory is missing: put it back, or restore a complete copy if this one was interrupted: log.db holds 1 commits.',
  );
  await writeFile(join(folder, 'provec.json'), format);
  // Running nodes recreate their leases.
  await rm(join(folder, 'leases.db'));
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
  expect((await store.log.head(SHARD))?.seq).toBe(1);
});

test('an index that does not match its table is damage', async () => {
  await store.records.apply(SHARD, 0, 1, [put('a', 1)]);
  await store.close();
  const path = join(folder, 'records.db');
  const bytes = await readFile(path);
  // The id is in its table and in the index over collection and shard.
  const inIndex = bytes.lastIndexOf(id);
  expect(inIndex).not.toBe(bytes.indexOf(id));
  for (const at of [bytes.indexOf(id), inIndex]) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    await writeFile(path, changed);
    expect(await refusalOf(folder)).toMatchObject({ kind: 'damaged', message: expect.stringMatching(/^records\.db/) });
  }
  await writeFile(path, bytes);
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
});

test('nothing is acknowledged any more after the file was removed', async () => {
  await store.log.append(entry(SHARD, 1));
  await rm(join(folder, 'log.db'));
  let seq = 2;
  const append = () => store.log.append(entry(SHARD, seq)).catch((error: StoreError) => error);
  let outcome = await append();
  await until('it is noticed', async () => {
    if (outcome === 'committed') seq++;
    outcome = await append();
    return outcome !== 'committed';
  });
  expect(outcome).toMatchObject({ kind: 'unavailable', message: expect.stringMatching(/^log\.db was removed/) });
});

test('a WAL is checkpointed while the store is open, and is gone after it was closed', async () => {
  for (let seq = 1; seq <= 20; seq++) await store.log.append(entry(SHARD, seq, { body: BODY }));
  await until('the file has grown', async () => (await readFile(join(folder, 'log.db'))).length > 20 * BODY.length);
  await store.close();
  expect((await readdir(folder)).sort()).toEqual([
    'checkpoints',
    'leases.db',
    'log.db',
    'log.db-mark',
    'provec.json',
    'records.db',
    'records.db-mark',
  ]);
  for (const name of (await readdir(folder)).filter((each) => each !== 'checkpoints'))
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
});

test.each([
  [STORE_FORMAT - 1, /of an earlier version .* start with an empty directory/],
  [STORE_FORMAT + 1, /knows formats up to \d+: start it with the newer version/],
])('a folder of format %i is refused, with what to do', async (format, advice) => {
  await store.close();
  const mark = await readFile(join(folder, 'provec.json'), 'utf8');
  await writeFile(join(folder, 'provec.json'), JSON.stringify({ ...JSON.parse(mark), format }));
  expect(await refusalOf(folder)).toMatchObject({ kind: 'damaged', message: expect.stringMatching(advice) });
  await writeFile(join(folder, 'provec.json'), mark);
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
});
