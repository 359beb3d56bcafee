import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { anchorTable } from '../../../../services/cluster/collection-table.ts';
import { emptyAnchorRow } from '../../../../store/anchors.ts';
import { head, newCollection } from '../../../contract/store-rows.ts';
import { openTemporaryStore, type TemporaryStore } from '../../../support/world.ts';

let opened: TemporaryStore;
beforeAll(async () => {
  opened = await openTemporaryStore();
});
afterAll(() => opened.destroy());

test('wanted and confirmed are both versions, whatever else the logs hold', async () => {
  const { store } = opened;
  const row = newCollection();
  await store.catalog.createCollection(row, null);
  const wanted = [
    { ...head(9), version: 2 },
    { ...head(5), version: 3 },
  ];
  await store.anchors.add({ ...emptyAnchorRow(row.id, 'So11111111111111111111111111111111111111112', 0), wanted });
  const { rows } = await anchorTable(store, SYSTEM_CLOCK, null, { offset: 0, limit: 10 });
  expect(rows).toMatchObject([{ collectionId: row.id, wantedVersion: 5 }]);
});
