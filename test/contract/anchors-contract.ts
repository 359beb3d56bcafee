import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { beginIndexCheck } from '../../services/anchoring/outbox/row-index-check.ts';
import { type AnchorHistoryItem, type AnchorRow, type AnchorStore, emptyAnchorRow } from '../../store/anchors.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { at, collect, head, newCollection } from './store-rows.ts';

function row(collectionId: string, revision: number, change: Partial<AnchorRow> = {}): AnchorRow {
  return { ...emptyAnchorRow(collectionId, 'So11111111111111111111111111111111111111112', revision), ...change };
}

function item(version: number): AnchorHistoryItem {
  return {
    version,
    merkleRoot: 'ab'.repeat(32),
    vectorCount: version,
    signature: `s${version}`,
    confirmedAt: at(version),
  };
}

/** Adds a row and, for each version, one change with one history item. */
async function fill(anchors: AnchorStore, id: string, versions: number[]): Promise<void> {
  await anchors.add(row(id, 0));
  for (const [at, version] of versions.entries()) await anchors.put(row(id, at + 1), item(version));
}

const inFlight = {
  step: 'create' as const,
  signature: 's',
  wire: 'AQID',
  lastValidBlockHeight: '1',
  cut: null,
  decisions: 1,
};
const confirmed = (seq: number) => ({ ...item(seq), cut: [head(seq)], decisions: 0 });

export function anchorsContract(subject: StoreUnderTest): void {
  describe('anchors', () => {
    test('a row is returned as it was written', async () => {
      const { anchors } = subject.store;
      const { id } = newCollection();
      expect(await anchors.get(id)).toBeNull();
      const full = row(id, 7, {
        epoch: 5,
        created: true,
        trusted: 'no root',
        lapsed: [{ merkleRoot: 'cd'.repeat(32), version: 2, vectorCount: 1, decisions: 3 }],
        seal: 'ef'.repeat(32),
        wanted: [head(3), head(5)],
        wantedAt: at(3),
        inFlight: {
          step: 'update',
          signature: 's',
          wire: 'AQID',
          lastValidBlockHeight: '18446744073709551615',
          cut: [head(3), head(4)],
          decisions: 4,
        },
        confirmed: { ...item(7), cut: [head(1), head(1)], decisions: 4 },
        halted: { reason: 'the roots differ', at: at(1) },
        closing: true,
      });
      expect(await anchors.add(full)).toBe(true);
      expect(await anchors.get(id)).toEqual(full);
      const bare = row(id, 8, { inFlight });
      expect(await anchors.put(bare)).toBe(true);
      expect(await anchors.get(id)).toEqual(bare);
    });

    test('of many writers that add a row exactly one succeeds, and a missing row is not replaced', async () => {
      const { anchors } = subject.store;
      const { id } = newCollection();
      expect(await anchors.put(row(id, 1))).toBe(false);
      const rows = Array.from({ length: 10 }, (_, i) => row(id, 100 + i));
      const outcomes = await Promise.all(rows.map((each) => anchors.add(each)));
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      expect(await anchors.get(id)).toEqual(rows[outcomes.indexOf(true)]);
    });

    test('of many writers of one revision exactly one succeeds', async () => {
      const { anchors } = subject.store;
      const { id } = newCollection();
      await anchors.add(row(id, 0));
      for (let revision = 1; revision <= 3; revision++) {
        const rows = Array.from({ length: 10 }, (_, i) => row(id, revision, { address: `address ${i}` }));
        const outcomes = await Promise.all(rows.map((each) => anchors.put(each)));
        expect(outcomes.filter(Boolean)).toHaveLength(1);
        expect(await anchors.get(id)).toEqual(rows[outcomes.indexOf(true)]);
      }
      expect(await anchors.put(row(id, 2))).toBe(false);
      expect(await anchors.put(row(id, 5))).toBe(false);
    });

    test('many rows are read at once, and absent ones left out', async () => {
      const { anchors } = subject.store;
      const ids = Array.from({ length: 100 }, () => newCollection().id);
      for (const id of ids.slice(0, 60)) await anchors.add(row(id, 1, { wanted: [head(4)] }));
      const found = await anchors.getMany(ids);
      expect(found.map(({ collectionId }) => collectionId).sort()).toEqual(ids.slice(0, 60).sort());
      expect(found.every(({ wanted }) => wanted?.[0].seq === 4)).toBe(true);
      expect(await anchors.getMany([])).toEqual([]);
    });

    test('standing shows what is due and what is halted, however a row got there', async () => {
      const { anchors } = await subject.fresh();
      const { id } = newCollection();
      const halted = { reason: 'the roots differ', at: at(1) };
      const ways: [Partial<AnchorRow>, 'due' | 'halted' | 'settled'][] = [
        [{}, 'settled'],
        [{ wanted: [head(2)], wantedAt: at(2) }, 'due'],
        [{ wanted: [head(2)], confirmed: confirmed(2) }, 'settled'],
        [{ wanted: [head(3)], wantedAt: at(3), confirmed: confirmed(2) }, 'due'],
        [{ wanted: [head(3)], wantedAt: at(3), confirmed: confirmed(2), halted }, 'halted'],
        [{ inFlight }, 'due'],
        [{ inFlight, halted }, 'halted'],
        [{ halted, closing: true }, 'due'],
        [{ wanted: [head(2)], confirmed: confirmed(5) }, 'settled'],
        [{ closing: true }, 'due'],
      ];
      for (const [at, [change, standing]] of ways.entries()) {
        const next = row(id, at, change);
        expect(await (at === 0 ? anchors.add(next) : anchors.put(next))).toBe(true);
        const brief = [{ collectionId: id, wantedAt: next.wantedAt }];
        expect(await collect(anchors.open('due'))).toEqual(standing === 'due' ? brief : []);
        expect(await collect(anchors.open('halted'))).toEqual(standing === 'halted' ? brief : []);
      }
      expect(await anchors.put(row(id, 3, { halted }))).toBe(false);
      expect(await collect(anchors.open('halted'))).toEqual([]);
      expect(await anchors.remove(id, ways.length - 1)).toBe(true);
      expect(await collect(anchors.open('due'))).toEqual([]);
    });

    test('a row filed in the wrong place without the store is found, reported and refiled', async () => {
      const { anchors } = await subject.fresh();
      const rows = {
        due: row(newCollection().id, 3, { wanted: [head(2)], wantedAt: at(2) }),
        halted: row(newCollection().id, 3, { halted: { reason: 'the roots differ', at: at(1) } }),
        settled: row(newCollection().id, 3),
      };
      const all = Object.values(rows);
      for (const each of all) await anchors.add(each);
      await subject.misfile(rows.due.collectionId, 'settled');
      await subject.misfile(rows.halted.collectionId, 'settled');
      await subject.misfile(rows.settled.collectionId, 'halted');
      const told: unknown[] = [];
      const look = async (unsound: string[] = []) => {
        const log = { error: (what: unknown) => told.push(what) };
        const context = { store: { anchors }, log, isInCharge: () => true, unsound: new Set(unsound) };
        const filing = await beginIndexCheck(context);
        for await (const page of anchors.all()) for (const each of page) filing.at(each);
        await filing.end();
      };
      await look(all.map(({ collectionId }) => collectionId));
      expect(told).toEqual([]);
      await look();
      const standings = Object.entries(rows).map(([standing, { collectionId }]) => ({ collectionId, standing }));
      expect(told).toHaveLength(3);
      expect(told).toEqual(expect.arrayContaining(standings));
      expect(await collect(anchors.open('due'))).toEqual([{ collectionId: rows.due.collectionId, wantedAt: at(2) }]);
      expect(await collect(anchors.open('halted'))).toEqual([
        { collectionId: rows.halted.collectionId, wantedAt: null },
      ]);
      for (const each of all) expect(await anchors.get(each.collectionId)).toEqual({ ...each, revision: 4 });
      await look();
      expect(told).toHaveLength(3);
    });

    test('due rows are returned in pages', async () => {
      const { anchors } = await subject.fresh();
      const ids = Array.from({ length: 1_050 }, () => newCollection().id);
      await Promise.all(ids.map((id) => anchors.add(row(id, 1, { closing: true }))));
      await anchors.add(row(newCollection().id, 1));
      const due = await collect(anchors.open('due'));
      expect(due.map(({ collectionId }) => collectionId).sort()).toEqual(ids.sort());
    });

    test('history is added together with the row, or not at all', async () => {
      const { anchors } = subject.store;
      const { id } = newCollection();
      await anchors.add(row(id, 0));
      expect(await anchors.put(row(id, 1), item(1))).toBe(true);
      expect(await anchors.put(row(id, 1), item(2))).toBe(false);
      expect(await anchors.history(id, 10, null)).toEqual([item(1)]);
    });

    test('history is returned in pages, newest first', async () => {
      const { anchors } = subject.store;
      const [id, other] = [newCollection().id, newCollection().id];
      const versions = [1, 2, 9, 10, 255, 256, 70_000, 2 ** 40];
      await fill(anchors, id, versions);
      await fill(anchors, other, [5]);
      const page = async (limit: number, before: number | null) =>
        (await anchors.history(id, limit, before)).map(({ version }) => version);
      expect(await page(3, null)).toEqual([2 ** 40, 70_000, 256]);
      expect(await page(3, 256)).toEqual([255, 10, 9]);
      expect(await page(3, 9)).toEqual([2, 1]);
      expect(await page(3, 1)).toEqual([]);
      expect(await page(100, null)).toEqual([...versions].reverse());
    });

    test('history with places is in their order, whatever the versions, and its oldest part can be removed', async () => {
      const { anchors } = subject.store;
      const [id, other] = [newCollection().id, newCollection().id];
      await fill(anchors, id, [7]);
      await fill(anchors, other, [1, 2]);
      const placed = [9, 9, 3].map((version, at) => ({
        ...item(version),
        decisions: at,
        place: { position: 8 + at, start: 8, seal: 'ef'.repeat(32) },
      }));
      for (const [at, each] of placed.entries()) await anchors.put(row(id, at + 2), each);
      expect(await anchors.history(id, 10, null)).toEqual([...[...placed].reverse(), item(7)]);
      expect(await anchors.history(id, 1, 10)).toEqual([placed[1]]);
      await anchors.trimHistory(id, 9);
      await anchors.trimHistory(id, 9);
      expect(await anchors.history(id, 10, null)).toEqual([placed[2], placed[1]]);
      expect(await anchors.history(other, 10, null)).toEqual([item(2), item(1)]);
    });

    test('all rows are returned in pages, and a removed one leaves with its history', async () => {
      const { anchors } = await subject.fresh();
      const ids = Array.from({ length: 450 }, () => newCollection().id);
      await Promise.all(ids.map((id) => anchors.add(row(id, 0))));
      const gone = ids[0];
      for (let revision = 1; revision <= 300; revision++) await anchors.put(row(gone, revision), item(revision));
      expect(await anchors.remove(gone, 300)).toBe(true);
      expect(await anchors.remove(gone, 300)).toBe(true);
      expect(await anchors.get(gone)).toBeNull();
      expect(await anchors.history(gone, 10, null)).toEqual([]);
      const all = await collect(anchors.all());
      expect(all.map(({ collectionId }) => collectionId).sort()).toEqual(ids.slice(1).sort());
      expect(await anchors.put(row(gone, 301))).toBe(false);
      expect(await anchors.add(row(gone, 1))).toBe(true);
    });

    test('a row that has changed meanwhile is not removed', async () => {
      const { anchors } = subject.store;
      const { id } = newCollection();
      await fill(anchors, id, [1, 2]);
      expect(await anchors.remove(id, 1)).toBe(false);
      expect(await anchors.get(id)).toEqual(row(id, 2));
      expect(await anchors.history(id, 10, null)).toEqual([item(2), item(1)]);
    });

    test('beats of instances are overwritten until they end', async () => {
      const { anchors } = await subject.fresh();
      const [one, other] = [randomUUID(), randomUUID()];
      const beat = (instance: string, number: number) => ({
        instance,
        beat: number,
        confirmed: 2 * number,
        failures: 1,
      });
      await anchors.beat(beat(one, 1));
      await anchors.beat(beat(other, 1));
      await anchors.beat(beat(one, 2));
      const instances = async () => (await anchors.instances()).sort((a, b) => b.beat - a.beat);
      expect(await instances()).toEqual([beat(one, 2), beat(other, 1)]);
      await anchors.endInstance(one);
      await anchors.endInstance(one);
      expect(await instances()).toEqual([beat(other, 1)]);
      await anchors.beat(beat(one, 3));
      expect(await instances()).toEqual([beat(one, 3), beat(other, 1)]);
    });

    test('survives a restart', async () => {
      const { id } = newCollection();
      await fill(subject.store.anchors, id, [1]);
      const { anchors } = await subject.reopen();
      expect(await anchors.get(id)).toEqual(row(id, 1));
      expect(await anchors.history(id, 10, null)).toEqual([item(1)]);
    });
  });
}
