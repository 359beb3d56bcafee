import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { invalidHead } from '../../../../lib/shard/head.ts';
import { type Store, StoreError } from '../../../../store/port.ts';
import { STORE_FORMAT } from '../../../../store/sqlite/format-file.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import {
  collect,
  entry,
  head,
  newCollection,
  newKey,
  put,
  readAll,
  record,
  recordsOf,
} from '../../../contract/store-rows.ts';
import { randomFrom } from '../../../support/random.ts';
import { seed } from '../../../support/seed.ts';
import { inStoreFile } from '../../../support/store-file.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

const PAGE_BYTES = 4_096;
const COLLECTION = newCollection();
const SHARD = `${COLLECTION.id}.0`;
const KEY = newKey();
const random = randomFrom(seed);

let root: string;
let sound: string;
let folder: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'provec-damage-'));
  sound = join(root, 'sound');
  const store = await openSqliteStore(sound, { keys: TEST_KEYS });
  await store.catalog.createCollection(COLLECTION, null);
  await store.keys.create(KEY, null);
  for (let seq = 1; seq <= 40; seq++) await store.log.append(entry(SHARD, seq, { body: Buffer.alloc(seq * 200) }));
  await store.records.apply(
    SHARD,
    0,
    1,
    Array.from({ length: 300 }, (_, i) => put(`r${i}`, 1, i % 50 === 0 ? 3_000 : 20)),
  );
  await store.records.apply(SHARD, 1, 2, [put('r1', 2)]);
  await store.close();
});
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  folder = join(root, 'copy');
  cpSync(sound, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

async function opening(): Promise<StoreError> {
  const outcome = await openSqliteStore(folder, { keys: TEST_KEYS }).catch((error: unknown) => error);
  if (!(outcome instanceof StoreError)) {
    await (outcome as Store).close();
    throw new Error('the damaged store was opened');
  }
  expect(outcome.kind).toBe('damaged');
  return outcome;
}

async function expectAllThere(store: Store): Promise<void> {
  expect(await store.log.read(SHARD, 0, Number.MAX_SAFE_INTEGER)).toHaveLength(40);
  expect(await readAll(await store.records.scan(SHARD))).toMatchObject({ size: 300 });
  expect(await collect(store.catalog.allCollections())).toEqual([COLLECTION]);
}

describe('a store that must not be opened', () => {
  test('of a newer format says which version to start', async () => {
    writeFileSync(join(folder, 'provec.json'), JSON.stringify({ format: STORE_FORMAT + 1, createdBy: 'provec' }));
    expect((await opening()).message).toMatch(
      new RegExp(
        `has format ${STORE_FORMAT + 1}, .* knows formats up to ${STORE_FORMAT}: start it with the newer version`,
      ),
    );
  });

  test.each(['', 'garbage', '{}', '{"format":"1"}', '{"format":0}', 'null', '[1]'])(
    'with format file %j',
    async (text) => {
      writeFileSync(join(folder, 'provec.json'), text);
      expect((await opening()).message).toMatch(/^provec\.json in the data directory is damaged: put back a backup/);
    },
  );

  test.each(['log.db', 'records.db'])('without %s', async (name) => {
    rmSync(join(folder, name));
    expect((await opening()).message).toMatch(
      new RegExp(`^${name} in the data directory is missing: put back a backup`),
    );
  });

  test.each(['log.db', 'records.db'])('with %s empty or overwritten', async (name) => {
    const file = join(folder, name);
    for (const bytes of [Buffer.alloc(0), Buffer.from('x'), Buffer.alloc(50_000), Buffer.alloc(50_000, 'garbage ')]) {
      writeFileSync(file, bytes);
      await opening();
    }
    copyFileSync(join(sound, 'provec.json'), file);
    await opening();
  });

  test.each(['log.db', 'records.db'])('with %s truncated anywhere, unless nothing is missing', async (name) => {
    const bytes = statSync(join(sound, name)).size;
    let refused = 0;
    for (let length = bytes - 1; length > 0; length -= 1 + Math.floor(random() * (PAGE_BYTES - 1))) {
      truncateSync(join(folder, name), length);
      const store = await openSqliteStore(folder, { keys: TEST_KEYS }).catch((error: unknown) => error);
      if (store instanceof StoreError) {
        expect(store.kind).toBe('damaged');
        refused++;
      } else {
        await expectAllThere(store as Store);
        await (store as Store).close();
      }
      copyFileSync(join(sound, name), join(folder, name));
    }
    expect(refused).toBeGreaterThan(bytes / PAGE_BYTES / 2);
  });

  test('never ends the process, whatever pages are garbled', async () => {
    const next = (below: number) => Math.floor(random() * below);
    let refused = 0;
    for (let round = 0; round < 120; round++) {
      const name = round % 2 === 0 ? 'log.db' : 'records.db';
      const bytes = readFileSync(join(sound, name));
      const at = next(bytes.length / PAGE_BYTES) * PAGE_BYTES + (round % 3 === 0 ? 0 : next(PAGE_BYTES - 64));
      for (let i = 0; i < 64; i++) bytes[at + i] = next(256);
      writeFileSync(join(folder, name), bytes);
      const store = await openSqliteStore(folder, { keys: TEST_KEYS }).catch((error: unknown) => error);
      if (store instanceof StoreError) {
        expect(store.kind).toBe('damaged');
        refused++;
      } else {
        const reads = [
          () => expectAllThere(store as Store),
          () => (store as Store).log.heads(COLLECTION.id),
          () => recordsOf((store as Store).records, SHARD, ['r1', 'r50']),
        ];
        for (const read of reads) await read().catch(() => {});
        await (store as Store).close();
      }
      copyFileSync(join(sound, name), join(folder, name));
    }
    // About one in six of the 120 damages affects something that a start reads.
    expect(refused).toBeGreaterThan(3);
  });
});

/** Tampers with a file like an attacker with the disk in hand. */
function change(name: string, sql: string): void {
  const file = new DatabaseSync(join(folder, name));
  file.exec(sql);
  file.close();
}

describe('a store that can be opened', () => {
  test('whose first start was interrupted', async () => {
    expect(JSON.parse(readFileSync(join(folder, 'provec.json'), 'utf8'))).toEqual({
      format: STORE_FORMAT,
      createdBy: 'provec',
      installation: expect.stringMatching(/^[0-9a-f]{64}$/),
      firstKey: {
        account: expect.any(String),
        nonce: expect.any(String),
        seal: expect.stringMatching(/^[0-9a-f]{64}$/),
        state: 'due',
      },
    });
    for (const name of ['provec.json', 'records.db', 'records.db-mark', 'log.db', 'log.db-mark'])
      rmSync(join(folder, name));
    const store = await openSqliteStore(folder, { keys: TEST_KEYS });
    await store.close();
    expect(existsSync(join(folder, 'records.db'))).toBe(true);
  });

  test("answers 'damaged' for rows that do not decode, and serves the others", async () => {
    change('log.db', 'UPDATE entries SET epoch = epoch + 1 WHERE seq = 1');
    change('log.db', "UPDATE shards SET hash = x'00'");
    change('log.db', "UPDATE keys SET scopes = '{'");
    const store = await openSqliteStore(folder, { keys: TEST_KEYS });
    for (const read of [() => store.keys.findByHash(KEY.hash)]) {
      await expect(read()).rejects.toMatchObject({ name: 'StoreError', kind: 'damaged' });
    }
    expect(await store.log.head(SHARD)).toEqual(invalidHead(40));
    expect(await store.log.heads(COLLECTION.id)).toEqual(new Map([[0, invalidHead(40)]]));
    expect(await store.log.read(SHARD, 0, 1)).toMatchObject([{ seq: 1, kind: 'damaged', body: new Uint8Array(0) }]);
    expect(await store.log.read(SHARD, 1, 1)).toMatchObject([{ seq: 2, kind: 'write' }]);
    expect(await recordsOf(store.records, SHARD, ['r1'])).toEqual([record('r1', 2)]);
    await store.close();
  });

  test('a head with an impossible seq is invalid, and hides no other', async () => {
    change('log.db', 'UPDATE shards SET seq = 9223372036854775807');
    const store = await openSqliteStore(folder, { keys: TEST_KEYS });
    await store.log.append(entry(`${COLLECTION.id}.1`, 1));
    expect(await store.log.heads(COLLECTION.id)).toEqual(
      new Map([
        [0, invalidHead(0)],
        [1, head(1)],
      ]),
    );
    await store.close();
  });

  test('a scan skips a record that does not decode, and names it', async () => {
    change('records.db', "UPDATE records SET leaf = x'00' WHERE CAST(id AS TEXT) IN ('r7', 'r201')");
    const store = await openSqliteStore(folder, { keys: TEST_KEYS });
    const scan = await store.records.scan(SHARD);
    const found = await readAll(scan);
    expect([...scan.unreadable].sort()).toEqual(['r201', 'r7']);
    expect(found.size).toBe(298);
    await store.close();
  });
});

test.each(['0', '299', '9007199254740993'])(
  'new records find a place if the count of places says %s',
  async (count) => {
    inStoreFile(folder, 'records.db', (file) => file.exec(`UPDATE shards SET nextPlace = ${count}`));
    const store = await openSqliteStore(folder, { keys: TEST_KEYS });
    await store.records.apply(SHARD, 2, 3, [put('new1', 3), put('r2', 3), put('new2', 3)]);
    await store.records.apply(SHARD, 3, 4, [put('new3', 4)]);
    const scan = await store.records.scan(SHARD);
    expect([scan.throughSeq, (await readAll(scan)).size]).toEqual([4, 303]);
    await store.close();
  },
);
