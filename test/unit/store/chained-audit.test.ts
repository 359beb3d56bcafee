import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Seals } from '../../../lib/secret/seals.ts';
import type { AuditStore, StoredAudit } from '../../../store/audit.ts';
import { ChainedAudit } from '../../../store/chained-audit.ts';
import { ForgedRows } from '../../../store/forged-rows.ts';
import { type Store, StoreError } from '../../../store/port.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';

const TRAIL = '36485dfb-ba57-4c16-940b-88feaa18bb4c';

describe('an audit trail that was changed behind the back of the store', () => {
  let folder: string;
  let store: Store;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
    store = await openSqliteStore(folder, { keys: TEST_KEYS });
    for (const number of [1, 2, 3, 4, 5, 6]) await store.audit.append(TRAIL, { number });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const change = (sql: string) => inStoreFile(folder, 'log.db', (file) => file.exec(sql));
  const faults = async (after = 0) =>
    (await store.audit.page(TRAIL, after, 10)).items.map(({ seq, fault }) => [seq, fault]);

  test('is reported at each place where it shows', async () => {
    expect(await faults()).toEqual([1, 2, 3, 4, 5, 6].map((seq) => [seq, null]));
    change(`UPDATE audit SET entry = '{"number":9}' WHERE seq = 2`);
    change('DELETE FROM audit WHERE seq IN (4, 5)');
    const found = [
      [1, null],
      [2, 'The service did not write this entry.'],
      [3, 'The entry before this one was changed.'],
      [6, 'Entries 4 to 5 are missing.'],
    ];
    expect(await faults()).toEqual(found);
    expect(await faults(2)).toEqual(found.slice(2));
    expect(await faults(3)).toEqual(found.slice(3));
    expect(await faults(4)).toEqual([[6, 'Entries 5 to 5 are missing.']]);
    change('DELETE FROM audit WHERE seq < 3');
    expect(await faults()).toEqual([
      [3, 'Entries 1 to 2 are missing.'],
      [6, 'Entries 4 to 5 are missing.'],
    ]);
  });

  test('its entries do not pass for those of another place or trail', async () => {
    change(`UPDATE audit SET seq = 7 WHERE seq = 6`);
    change(`INSERT INTO audit SELECT 'operator', seq, previous, entry, seal FROM audit WHERE seq = 1`);
    expect((await faults()).slice(-1)).toEqual([[7, 'The service did not write this entry.']]);
    const { items } = await store.audit.page('operator', 0, 10);
    expect(items.map(({ entry, fault }) => [entry, fault])).toEqual([[null, 'The service did not write this entry.']]);
  });

  test('that ends at an impossible position, takes no more entries', async () => {
    change(`INSERT INTO audit VALUES ('${TRAIL}', ${Number.MAX_SAFE_INTEGER}, '', '', '')`);
    await expect(store.audit.append(TRAIL, { number: 7 })).rejects.toMatchObject({ kind: 'damaged' });
    await store.audit.append('another', { number: 1 });
  });

  test('two processes that append at once write one chain', async () => {
    const other = await openSqliteStore(folder, { keys: TEST_KEYS, nodeFolder: join(folder, 'other') });
    const audits: AuditStore[] = [store.audit, other.audit];
    const appended = Array.from({ length: 100 }, (_, number) => audits[number % 2]!.append(TRAIL, { both: number }));
    await Promise.all(appended);
    await other.close();
    const { items } = await store.audit.page(TRAIL, 6, 200);
    expect(items.map(({ seq, fault }) => [seq, fault])).toEqual(
      Array.from({ length: 100 }, (_, index) => [index + 7, null]),
    );
    expect(new Set(items.map(({ entry }) => entry!.both)).size).toBe(100);
  });

  /** The store's own rows, with an append that fails as `fail` says, once. */
  function failingOnce(fail: (append: () => Promise<number>) => Promise<number>): AuditStore {
    let isDue = true;
    const rows = new Map<number, Parameters<StoredAudit['append']>[0][number]>();
    const stored: StoredAudit = {
      async append(given) {
        const append = async (): Promise<number> => {
          const taken = given.findIndex(({ seq }) => rows.has(seq));
          const free = taken < 0 ? given : given.slice(0, taken);
          for (const row of free) rows.set(row.seq, row);
          return free.length;
        };
        if (!isDue) return append();
        isDue = false;
        return fail(append);
      },
      last: async () => [...rows.values()].at(-1) ?? null,
      page: async (_, from, limit) => [...rows.values()].filter(({ seq }) => seq >= from).slice(0, limit),
      trim: async () => undefined,
    };
    return new ChainedAudit(stored, new Seals(TEST_KEYS.audit), new ForgedRows());
  }
  const unknown = () => new StoreError('unknown', 'the connection was lost');

  test('an append with an unknown outcome leaves each entry once, in order', async () => {
    for (const isStored of [true, false]) {
      const audit = failingOnce(async (append) => {
        if (isStored) await append();
        throw unknown();
      });
      await Promise.all([1, 2, 3].map((number) => audit.append(TRAIL, { number })));
      const { items } = await audit.page(TRAIL, 0, 10);
      expect(items.map(({ entry, fault }) => [entry!.number, fault])).toEqual([1, 2, 3].map((at) => [at, null]));
    }
  });

  test('an append that fails rejects its entries, and the next one succeeds', async () => {
    const audit = failingOnce(() => Promise.reject(new StoreError('unavailable', 'no store')));
    await expect(audit.append(TRAIL, { number: 1 })).rejects.toMatchObject({ kind: 'unavailable' });
    await audit.append(TRAIL, { number: 2 });
    expect((await audit.page(TRAIL, 0, 10)).items.map(({ seq, entry }) => [seq, entry!.number])).toEqual([[1, 2]]);
  });
});
