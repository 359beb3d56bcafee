/**
 * An attacker plants rows at the ends of the range of places, and extreme numbers. A shard's
 * records must stay in the shard's own range.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Store } from '../../../../store/port.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { newCollection, put, readAll } from '../../../contract/store-rows.ts';
import { inStoreFile } from '../../../support/store-file.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

const PLACES = 2n ** 32n;
const LAST_NUMBER = 2n ** 31n - 1n;

let folder: string;
let store: Store;
/** Shards with records; their numbers are adjacent. */
let first: string;
let second: string;
let third: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'provec-places-'));
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
  [first, second, third] = Array.from({ length: 3 }, () => `${newCollection().id}.0`);
  await store.records.apply(first, 0, 1, [put('a', 1)]);
  await store.records.apply(second, 0, 1, [put('b', 1)]);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Copies the first shard's record to these places of its range, counted from the end. */
function plant(...fromEnd: bigint[]): void {
  inStoreFile(folder, 'records.db', (file) => {
    const sql = `INSERT INTO records SELECT ((number + 1) << 32) - ?, number, CAST('planted ' || ? AS BLOB), records.seq,
      vector, metadata, leaf FROM records JOIN shards ON number = records.shard ORDER BY number LIMIT 1`;
    for (const place of fromEnd) expect(file.prepare(sql).run(place, place).changes).toBe(1);
  });
}
function addNumber(number: bigint): void {
  inStoreFile(folder, 'records.db', (file) =>
    file.prepare('INSERT INTO shards (number, collection, shard, seq) VALUES (?, ?, 0, 1)').run(number, `of ${number}`),
  );
}
const idsOf = async (shard: string) => [...(await readAll(await store.records.scan(shard))).keys()].sort();
/** In order of their places, with the numbers. */
const placesOf = (id: string) =>
  inStoreFile(folder, 'records.db', (file) => {
    const sql = 'SELECT place FROM records WHERE id = CAST(? AS BLOB) ORDER BY place';
    const statement = file.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all(id).map(({ place }) => [(place as bigint) / PLACES, (place as bigint) % PLACES]);
  });

test('a row at the last place: new records are placed before it, and the next shard has its own', async () => {
  plant(1n);
  await store.records.apply(first, 1, 2, [put('c', 2), put('d', 2)]);
  await store.records.apply(second, 1, 2, [put('e', 2)]);
  await store.records.apply(first, 2, 3, [put('f', 3)]);
  expect(await idsOf(first)).toEqual(['a', 'c', 'd', 'f', 'planted 1']);
  expect(await idsOf(second)).toEqual(['b', 'e']);
  expect(['c', 'd', 'f'].flatMap(placesOf)).toEqual([
    [1n, 1n],
    [1n, 2n],
    [1n, 3n],
  ]);
});

test('rows with gaps at the end: the gaps are filled, then the places before them', async () => {
  plant(1n, 2n, 4n, 5n);
  await store.records.apply(first, 1, 2, [put('c', 2), put('d', 2)]);
  expect(['c', 'd'].flatMap(placesOf)).toEqual([
    [1n, PLACES - 3n],
    [1n, 1n],
  ]);
  await store.records.apply(first, 2, 3, [put('e', 3)]);
  expect(placesOf('e')).toEqual([[1n, 2n]]);
  expect(await idsOf(second)).toEqual(['b']);
});

test.each([LAST_NUMBER, 2n ** 31n, 2n ** 60n])(
  'a shard numbered %s: a new shard has its own number',
  async (number) => {
    addNumber(number);
    await store.records.apply(third, 0, 1, [put('c', 1)]);
    await store.records.apply(third, 1, 2, [put('d', 2)]);
    expect(await idsOf(third)).toEqual(['c', 'd']);
    expect(placesOf('c')).toEqual([[3n, 0n]]);
    expect(await idsOf(first)).toEqual(['a']);
  },
);

test.each([-1n, 2n ** 31n, 2n ** 60n])(
  'a shard whose number becomes %s: its records are refused, and nothing is written',
  async (number) => {
    inStoreFile(folder, 'records.db', (file) =>
      file.prepare('UPDATE shards SET number = ? WHERE number = 1').run(number),
    );
    await expect(store.records.apply(first, 1, 2, [put('c', 2)])).rejects.toMatchObject({
      name: 'StoreError',
      kind: 'damaged',
      message: expect.stringMatching(/^records\.db .* put back a backup/),
    });
    expect(placesOf('c')).toEqual([]);
    await store.records.apply(second, 1, 2, [put('d', 2)]);
    expect(await idsOf(second)).toEqual(['b', 'd']);
  },
);

test('a shard with the last number has a range', async () => {
  inStoreFile(folder, 'records.db', (file) => {
    file.prepare('UPDATE shards SET number = ? WHERE number = 1').run(LAST_NUMBER);
    file
      .prepare('UPDATE records SET shard = ?, place = place + ((? - 1) << 32) WHERE shard = 1')
      .run(LAST_NUMBER, LAST_NUMBER);
  });
  await store.records.apply(first, 1, 2, [put('c', 2)]);
  expect(await idsOf(first)).toEqual(['a', 'c']);
  expect(placesOf('c')).toEqual([[LAST_NUMBER, 1n]]);
});
