import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Seals } from '../../../../../lib/secret/seals.ts';
import { AnchorHistory } from '../../../../../services/anchoring/outbox/anchor-history.ts';
import { type AnchorHistoryItem, type AnchorRow, emptyAnchorRow } from '../../../../../store/anchors.ts';
import { inStoreFile } from '../../../../support/store-file.ts';
import { openTemporaryStore, type TemporaryStore } from '../../../../support/world.ts';

const KEY = new Seals([Buffer.alloc(32, 1)]);
const OTHER_KEY = new Seals([Buffer.alloc(32, 2)]);
const FORGED = 'The service did not write this entry, or wrote it under another keypair.';
const NEWEST_GONE = /^The entry of the newest root, version \d+, is missing or was changed\.$/;
const BOUNDS = { kept: 6, trimEvery: 4 };

let opened: TemporaryStore;
let id: string;
let row: AnchorRow;

beforeAll(async () => {
  opened = await openTemporaryStore();
});
afterAll(() => opened.destroy());

beforeEach(async () => {
  id = randomUUID();
  row = emptyAnchorRow(id, 'address', 1);
  await opened.store.anchors.add(row);
});

const historyUnder = (seals: Seals | null): AnchorHistory =>
  new AnchorHistory(opened.store.anchors, seals, (collectionId) => opened.store.anchors.get(collectionId), BOUNDS);

function root(version: number): AnchorHistoryItem {
  const confirmedAt = `2026-11-21T00:00:${String(version % 60).padStart(2, '0')}.000Z`;
  return {
    version,
    merkleRoot: 'ab'.repeat(32),
    vectorCount: version,
    decisions: 0,
    signature: `S${version}`,
    confirmedAt,
  };
}

async function put(item: AnchorHistoryItem): Promise<void> {
  const { place: _, decisions = 0, ...confirmed } = item;
  row = { ...row, revision: row.revision + 1, confirmed: { ...confirmed, decisions, cut: [] } };
  expect(await opened.store.anchors.put(row, item)).toBe(true);
}

/** Confirms these versions, as the outbox does. */
async function confirm(versions: number[], seals = KEY): Promise<void> {
  const history = historyUnder(seals);
  for (const version of versions) {
    const item = await history.placed(id, root(version));
    await put(item);
    await history.trim(id, item);
  }
}

/** Confirms versions as an earlier version of the service did. */
async function confirmUnsealed(versions: number[]): Promise<void> {
  for (const version of versions) {
    const { decisions: _, ...item } = root(version);
    await put(item);
  }
}

function edit(sql: string): void {
  const { changes } = inStoreFile(opened.folder, 'log.db', (file) => file.prepare(sql).run(id));
  expect(changes).toBeGreaterThan(0);
}

/** Reads all pages: versions (negative: without a seal) and faults, with the dropped number. */
async function read(limit: number, seals: Seals | null = KEY) {
  const history = historyUnder(seals);
  const all = { versions: [] as number[], faults: [] as [number, string][], dropped: 0 };
  for (let before: number | null = null; ; ) {
    const page = await history.page(id, limit, before);
    all.versions.push(...page.items.map(({ version, isSealed }) => (isSealed ? version : -version)));
    all.faults.push(...page.faults.map(({ position, fault }) => [position, fault] as [number, string]));
    all.dropped = page.dropped;
    if (page.next === null) return all;
    before = page.next;
  }
}

const LIMITS = [1, 2, 3, 100];

test.each(LIMITS)('lists confirmed roots in the order of their confirmation, in pages of %i', async (limit) => {
  await confirm([5, 6, 6, 2, 9]);
  expect(await read(limit)).toEqual({ versions: [9, 2, 6, 6, 5], faults: [], dropped: 0 });
});

test.each(LIMITS)('after an upgrade lists earlier roots as not sealed, in pages of %i', async (limit) => {
  await confirmUnsealed([10, 40, 41]);
  await confirm([42, 43]);
  // An instance of an earlier version still runs.
  await confirmUnsealed([90]);
  await confirm([91, 92]);
  expect(await read(limit)).toEqual({ versions: [92, 91, -90, 43, 42, -41, -40, -10], faults: [], dropped: 0 });
});

test.each(LIMITS)('keeps the newest ones, and says how many it dropped, in pages of %i', async (limit) => {
  await confirmUnsealed([1, 2]);
  await confirm([3, 4, 5, 6, 7, 8, 9]);
  expect(await read(limit)).toEqual({ versions: [9, 8, 7, 6, 5, 4, 3, -2, -1], faults: [], dropped: 0 });
  await confirm([10, 11]);
  expect(await read(limit)).toEqual({ versions: [11, 10, 9, 8, 7, 6, 5], faults: [], dropped: 2 });
});

describe.each(LIMITS)('in pages of %i', (limit) => {
  const change = (field: string, position: number) =>
    edit(`UPDATE anchor_history SET item = replace(item, ${field}) WHERE collection = ? AND version = ${position}`);
  const remove = (where: string) => edit(`DELETE FROM anchor_history WHERE collection = ? AND ${where}`);

  test('names an entry that was changed', async () => {
    await confirm([1, 2, 3]);
    change(`'"vectorCount":2', '"vectorCount":9'`, 2);
    expect(await read(limit)).toEqual({ versions: [3, 1], faults: [[2, FORGED]], dropped: 0 });
  });

  test('names an entry whose seal was removed, the newest one included', async () => {
    await confirm([1, 2, 3]);
    for (const at of [2, 3])
      edit(
        `UPDATE anchor_history SET item = json_set(json_remove(item, '$.place'), '$.merkleRoot', 'forged')
         WHERE collection = ? AND version = ${at}`,
      );
    const { versions, faults } = await read(limit);
    expect(faults[0]).toEqual([4, expect.stringMatching(NEWEST_GONE)]);
    expect(versions).not.toContain(3);
    expect(versions).toContain(1);
  });

  test('names removed entries: in the middle, the oldest, the newest, and all', async () => {
    await confirm([1, 2, 3, 4, 5]);
    remove('version IN (2, 3)');
    expect(await read(limit)).toEqual({
      versions: [5, 4, 1],
      faults: [[3, 'Entries 2 to 3 are missing.']],
      dropped: 0,
    });
    remove('version = 1');
    expect(await read(limit)).toEqual({ versions: [5, 4], faults: [[3, 'Entries 1 to 3 are missing.']], dropped: 0 });
    remove('version = 5');
    const newest = [5, expect.stringMatching(NEWEST_GONE)];
    expect(await read(limit)).toMatchObject({ versions: [4], faults: [newest, [3, 'Entries 1 to 3 are missing.']] });
    remove('version = 4');
    expect(await read(limit)).toMatchObject({ versions: [], faults: [[1, expect.stringMatching(NEWEST_GONE)]] });
  });

  test('names removed entries after older ones were dropped', async () => {
    await confirm([1, 2, 3, 4, 5, 6, 7, 8]);
    remove('version = 3');
    expect(await read(limit)).toEqual({ versions: [8, 7, 6, 5, 4], faults: [[3, 'Entry 3 is missing.']], dropped: 2 });
  });

  test('names an entry that was moved, copied from another collection, or written under another keypair', async () => {
    await confirm([1, 2, 3]);
    const elsewhere = id;
    id = randomUUID();
    row = emptyAnchorRow(id, 'address', 1);
    await opened.store.anchors.add(row);
    await confirm([1]);
    edit(`INSERT INTO anchor_history SELECT ?, version, item FROM anchor_history
      WHERE collection = '${elsewhere}' AND version = 2`);
    await confirm([4], OTHER_KEY);
    await confirm([5]);
    expect(await read(limit)).toEqual({
      versions: [5, 1],
      faults: [
        [3, FORGED],
        [2, FORGED],
      ],
      dropped: 0,
    });
  });
});

test('without the keypair nothing is sealed, and nothing is called forged', async () => {
  await confirm([1, 2]);
  expect(await read(1, null)).toEqual({ versions: [-2, -1], faults: [], dropped: 0 });
});

test('a root that is confirmed during the reading is no fault', async () => {
  await confirm([1, 2]);
  const history = new AnchorHistory(
    opened.store.anchors,
    KEY,
    async (collectionId) => {
      const read = await opened.store.anchors.get(collectionId);
      if (row.confirmed?.version === 2) await confirm([3]);
      return read;
    },
    BOUNDS,
  );
  expect(await history.page(id, 1, null)).toMatchObject({ items: [{ version: 3 }], faults: [] });
});
