import { describe, expect, test } from '@jest/globals';
import type { RecordScan } from '../../store/records.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { newCollection, put, readAll, record, recordsOf, remove, WEIRD_IDS } from './store-rows.ts';

export function recordsContract(subject: StoreUnderTest): void {
  const newShard = () => `${newCollection().id}.0`;

  describe('records', () => {
    test('applied records are returned as they were', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 0, 2, [put('a', 1), put('b', 2, 384)]);
      expect(await records.appliedSeq(shard)).toBe(2);
      const found = await recordsOf(records, shard, ['b', 'a', 'absent']);
      expect(found).toHaveLength(2);
      expect(found).toEqual(expect.arrayContaining([record('a', 1), record('b', 2, 384)]));
      expect(found[0].vector).toBeInstanceOf(Float32Array);
      const scan = await records.scan(shard);
      expect(scan.throughSeq).toBe(2);
      expect((await readAll(scan)).get('b')).toEqual(record('b', 2, 384));
    });

    test('a shard without records is empty', async () => {
      const { records } = subject.store;
      const shard = newShard();
      expect(await records.appliedSeq(shard)).toBe(0);
      expect(await recordsOf(records, shard, ['a'])).toEqual([]);
      const scan = await records.scan(shard);
      expect(scan.throughSeq).toBe(0);
      expect(await readAll(scan)).toEqual(new Map());
    });

    test('changes take effect in their order', async () => {
      const { records } = subject.store;
      const shard = newShard();
      const changes = [
        put('a', 1),
        remove('a'),
        put('b', 1),
        put('b', 2),
        remove('c'),
        put('d', 1),
        remove('d'),
        put('d', 3),
      ];
      await records.apply(shard, 0, 3, changes);
      expect(await readAll(await records.scan(shard))).toEqual(
        new Map([
          ['b', record('b', 2)],
          ['d', record('d', 3)],
        ]),
      );
    });

    test('a change applied twice is applied once', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 0, 1, [put('a', 1)]);
      await records.apply(shard, 1, 2, [remove('a')]);
      await records.apply(shard, 0, 1, [put('a', 1)]);
      await records.apply(shard, 1, 2, [put('a', 2)]);
      expect(await recordsOf(records, shard, ['a'])).toEqual([]);
      expect(await records.appliedSeq(shard)).toBe(2);
    });

    test('a late apply never overwrites a newer record', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 0, 5, [put('a', 5)]);
      await records.apply(shard, 0, 3, [put('a', 3), put('late', 3)]);
      expect(await recordsOf(records, shard, ['a', 'late'])).toEqual([record('a', 5)]);
      expect(await records.appliedSeq(shard)).toBe(5);
    });

    test('an apply past a gap does nothing', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 3, 4, [put('a', 4)]);
      expect(await records.appliedSeq(shard)).toBe(0);
      expect(await recordsOf(records, shard, ['a'])).toEqual([]);
    });

    test('an apply that begins below the applied seq and ends above it brings the records to its end', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 0, 2, [put('a', 1), put('b', 2)]);
      await records.apply(shard, 1, 3, [put('b', 2), remove('a')]);
      expect(await readAll(await records.scan(shard))).toEqual(new Map([['b', record('b', 2)]]));
      expect(await records.appliedSeq(shard)).toBe(3);
    });

    test('the applied seq moves even if no record changes', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 0, 4, []);
      expect(await records.appliedSeq(shard)).toBe(4);
    });

    test('of many applies over one range exactly one takes effect', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await Promise.all(
        Array.from({ length: 10 }, (_, i) => records.apply(shard, 0, 1, [put(`only-${i}`, 1), put('a', 1)])),
      );
      expect((await readAll(await records.scan(shard))).size).toBe(2);
    });

    test('a scan during applies returns each record once, and gives any later state with the later changes applied', async () => {
      const { records } = subject.store;
      const shard = newShard();
      const ids = Array.from({ length: 2_000 }, (_, i) => `r${i}`);
      await records.apply(
        shard,
        0,
        1,
        ids.map((id) => put(id, 1, 384)),
      );
      const changesAt = (seq: number) => [
        ...ids.filter((_, i) => i % 40 === seq).map((id) => put(id, seq, 384)),
        put(`new-${seq}`, seq),
        remove(`r${seq * 100}`),
      ];
      const scan = await records.scan(shard);
      const batches = scan.batches[Symbol.asyncIterator]();
      const seen = new Map<string, number>();
      let applied = 1;
      for (let next = await batches.next(); !next.done; next = await batches.next()) {
        for (const { id, seq } of next.value) {
          expect(seen.has(id)).toBe(false);
          seen.set(id, seq);
        }
        if (applied === 4) continue;
        applied++;
        await records.apply(shard, applied - 1, applied, changesAt(applied));
      }
      expect(scan.throughSeq).toBe(1);
      expect(scan.reachedSeq).toBeGreaterThanOrEqual(1);
      expect(scan.reachedSeq).toBeLessThanOrEqual(applied);
      expect(Math.max(...seen.values())).toBeLessThanOrEqual(scan.reachedSeq);
      for (let seq = 2; seq <= applied; seq++) {
        for (const { id, record } of changesAt(seq)) {
          if (record) seen.set(id, record.seq);
          else seen.delete(id);
        }
      }
      const after = await records.scan(shard);
      expect(after.throughSeq).toBe(applied);
      expect(seen).toEqual(new Map([...(await readAll(after))].map(([id, { seq }]) => [id, seq])));
      expect(after.reachedSeq).toBe(applied);
    });

    test('batches stay near one mebibyte', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(
        shard,
        0,
        1,
        Array.from({ length: 2_000 }, (_, i) => put(`r${i}`, 1, 384)),
      );
      let batches = 0;
      for await (const batch of (await records.scan(shard)).batches) {
        batches++;
        expect(batch.reduce((sum, { vector }) => sum + vector.byteLength, 0)).toBeLessThan(1.5 * 1024 * 1024);
      }
      expect(batches).toBeGreaterThan(2);
    });

    test('a scan may be abandoned, and its iterator ends', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(
        shard,
        0,
        1,
        Array.from({ length: 2_000 }, (_, i) => put(`r${i}`, 1, 384)),
      );
      for (let i = 0; i < 150; i++) {
        const batches = (await records.scan(shard)).batches[Symbol.asyncIterator]();
        if (i % 3 > 0) await batches.next();
        if (i % 3 > 1) await batches.next();
        await batches.return!();
        await batches.return!();
        expect((await batches.next()).done).toBe(true);
      }
      await records.apply(shard, 1, 2, [put('r0', 2)]);
      expect((await readAll(await records.scan(shard))).get('r0')?.seq).toBe(2);
    });

    test("a scan ends with 'closed' when the store is closed", async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(
        shard,
        0,
        1,
        Array.from({ length: 2_000 }, (_, i) => put(`r${i}`, 1, 384)),
      );
      const batches = (await records.scan(shard)).batches[Symbol.asyncIterator]();
      await batches.next();
      await subject.close();
      await expect(batches.next()).rejects.toMatchObject({ name: 'StoreError', kind: 'closed' });
      await batches.return!();
      expect((await readAll(await (await subject.reopen()).records.scan(shard))).size).toBe(2_000);
    });

    test('scans of one state each end on their own', async () => {
      const { records } = subject.store;
      const shard = newShard();
      const changes = Array.from({ length: 2_000 }, (_, i) => put(`r${i}`, 1, 384));
      await records.apply(shard, 0, 1, changes);
      const scans = await Promise.all([1, 2, 3].map(() => records.scan(shard)));
      const [givenUp, other] = scans.map((scan) => scan.batches[Symbol.asyncIterator]());
      for (let i = 0; i < 4; i++) await givenUp.return!();
      const first = await other.next();
      await records.apply(shard, 1, 2, [put('new', 2)]);
      const isOld = ({ id }: { id: string }) => id !== 'new';
      expect([...(await readAll(scans[2])).values()].filter(isOld)).toHaveLength(2_000);
      let rest = 0;
      for (let next = await other.next(); !next.done; next = await other.next())
        rest += next.value.filter(isOld).length;
      expect(first.value.filter(isOld).length + rest).toBe(2_000);
    });

    test('scans of different states run concurrently', async () => {
      const { records } = subject.store;
      const shard = newShard();
      const scans: RecordScan[] = [];
      for (let seq = 1; seq <= 5; seq++) {
        await records.apply(shard, seq - 1, seq, [put('a', seq), put(`b${seq}`, seq)]);
        scans.push(await records.scan(shard));
      }
      const seen = await Promise.all(scans.map(readAll));
      expect(scans.map(({ throughSeq }) => throughSeq)).toEqual([1, 2, 3, 4, 5]);
      seen.forEach((found, at) => {
        const { throughSeq, reachedSeq } = scans[at];
        expect(found.get('a')?.seq).toBeGreaterThanOrEqual(throughSeq);
        for (let seq = 1; seq <= throughSeq; seq++) expect(found.get(`b${seq}`)).toEqual(record(`b${seq}`, seq));
        for (const { seq } of found.values()) expect(seq).toBeLessThanOrEqual(reachedSeq);
      });
    });

    test('ids of any form stay separate, and so do shards', async () => {
      const { records } = subject.store;
      const { id } = newCollection();
      await records.apply(
        `${id}.0`,
        0,
        1,
        WEIRD_IDS.map((weird) => put(weird, 1)),
      );
      await records.apply(`${id}.1`, 0, 2, [put('a', 2)]);
      expect([...(await readAll(await records.scan(`${id}.0`))).keys()].sort()).toEqual([...WEIRD_IDS].sort());
      for (const weird of WEIRD_IDS) expect(await recordsOf(records, `${id}.0`, [weird])).toEqual([record(weird, 1)]);
      await records.apply(`${id}.0`, 1, 2, WEIRD_IDS.filter((weird) => weird !== 'a').map(remove));
      expect(await readAll(await records.scan(`${id}.0`))).toEqual(new Map([['a', record('a', 1)]]));
      expect(await readAll(await records.scan(`${id}.1`))).toEqual(new Map([['a', record('a', 2)]]));
    });

    test('a row whose id is not valid text is reported separately, and writes of the id that it decodes to do not touch it', async () => {
      const { records } = subject.store;
      const shard = newShard();
      const [real, long] = ['\ufffd', 'x'.repeat(1_027)];
      await records.apply(shard, 0, 1, [put('a', 1), put(real, 1)]);
      for (const bytes of [Buffer.of(0xff), Buffer.from(long)]) await subject.respell(shard, real, bytes);
      await records.apply(shard, 1, 2, [put(real, 2)]);
      const scan = async () => {
        const found = await records.scan(shard);
        const all = await readAll(found);
        expect(found.unreadable).toEqual([]);
        expect([...found.stray].sort()).toEqual([long, real]);
        return all;
      };
      expect([...(await scan()).values()]).toEqual(expect.arrayContaining([record('a', 1), record(real, 2)]));
      await records.apply(shard, 2, 3, [remove(real)]);
      expect(await scan()).toEqual(new Map([['a', record('a', 1)]]));
    });

    test('rows that do not belong to the shard are removed on request, and those of other shards stay', async () => {
      const { records } = subject.store;
      const { id } = newCollection();
      const [shard, other] = [`${id}.0`, `${id}.1`];
      const ids = Array.from({ length: 2_500 }, (_, i) => `r${i}`);
      await records.removeForeign(shard, () => true);
      await records.apply(shard, 0, 1, [...ids.map((each) => put(each, 1)), put('\ufffd', 1)]);
      await records.apply(other, 0, 1, [put('r1', 1)]);
      await subject.respell(shard, '\ufffd', Buffer.of(0xff));
      const isOwn = (each: string) => !each.endsWith('9');
      for (let i = 0; i < 2; i++) await records.removeForeign(shard, isOwn);
      const scan = await records.scan(shard);
      expect([...(await readAll(scan)).keys()].sort()).toEqual([...ids.filter(isOwn), '\ufffd'].sort());
      expect([scan.stray, scan.unreadable, await records.appliedSeq(shard)]).toEqual([[], [], 1]);
      expect(await readAll(await records.scan(other))).toEqual(new Map([['r1', record('r1', 1)]]));
      await records.apply(shard, 1, 2, [put('r9', 2)]);
      expect(await recordsOf(records, shard, ['r9'])).toEqual([record('r9', 2)]);
    });

    test('survives a restart', async () => {
      const shard = newShard();
      await subject.store.records.apply(shard, 0, 2, [put('a', 1), put('b', 2)]);
      await subject.store.records.apply(shard, 2, 3, [remove('b')]);
      const { records } = await subject.reopen();
      expect(await records.appliedSeq(shard)).toBe(3);
      expect(await readAll(await records.scan(shard))).toEqual(new Map([['a', record('a', 1)]]));
    });

    test('the caller may transfer what it returns', async () => {
      const { records } = subject.store;
      const shard = newShard();
      await records.apply(shard, 0, 1, [put('a', 1)]);
      const [found] = await recordsOf(records, shard, ['a']);
      const parts = [found.vector.buffer, found.metadata.buffer, found.leaf.buffer] as ArrayBuffer[];
      structuredClone(null, { transfer: parts });
      expect(await recordsOf(records, shard, ['a'])).toEqual([record('a', 1)]);
    });
  });
}
