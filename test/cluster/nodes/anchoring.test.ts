import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import { cutContains } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { until } from '../../support/until.ts';
import { commitTo, headOf } from '../../unit/services/anchoring/fixture.ts';
import { AnchoringCluster, type Instance } from './anchoring-cluster.ts';

const WAIT_MS = 20_000;
/** For many requests at once on a busy machine. */
const LONG_WAIT_MS = 120_000;

let cluster: AnchoringCluster;
beforeAll(async () => {
  cluster = await AnchoringCluster.open(3);
  await cluster.settle();
});
afterEach(() => {
  expect(cluster.watch.breaches.splice(0)).toEqual([]);
});
afterAll(() => cluster.end());

const rowOf = async ({ id }: CollectionRow) => (await cluster.store.anchors.get(id))!;
/** Returns the instance at a position, modulo their number. */
const at = (place: number): Instance => cluster.instances[place % cluster.instances.length];

async function isAnchored(row: CollectionRow, cut: Cut): Promise<boolean> {
  const { version } = collectionRoot(cut);
  const versions = cluster.watch.versions.get(row.id)!;
  return versions.at(-1) === version && (await rowOf(row)).confirmed?.version === version;
}

describe('any instance accepts requests', () => {
  test('each answers with a receipt, whichever is in charge, and everything requested is on chain', async () => {
    const rows = await Promise.all(Array.from({ length: 12 }, () => cluster.collection(2)));
    const asked = rows.flatMap((row, place) =>
      [0, 1, 2].map(async (turn) => {
        const cut = [headOf(0, turn + 1), headOf(1, 1)];
        const receipt = await at(place + turn).submit(row, cut, WAIT_MS);
        expect(receipt.status).toBe('confirmed');
        const { confirmed } = await rowOf(row);
        expect(cutContains(confirmed!.cut, cut)).toBe(true);
        const history = await at(turn).ask('anchoring.history', {
          collectionId: row.id,
          limit: 10,
          before: null,
        });
        expect(history.faults).toEqual([]);
        expect(history.items.map(({ signature }) => signature)).toContain(receipt.signature);
      }),
    );
    await Promise.all(asked);
    for (const row of rows) expect(await isAnchored(row, [headOf(0, 3), headOf(1, 1)])).toBe(true);
  });

  test('concurrent submits to all instances share anchors, and the confirmed cut contains each of them', async () => {
    const row = await cluster.collection();
    const cuts: Cut[] = [];
    for (let count = 0; count < 60; count++) cuts.push(await commitTo(cluster.store, row));
    const receipts = await Promise.all(cuts.map((cut, place) => at(place).submit(row, cut, WAIT_MS)));
    expect(receipts.map(({ status }) => status)).toEqual(cuts.map(() => 'confirmed'));
    expect(await isAnchored(row, cuts.at(-1)!)).toBe(true);
    expect(cluster.watch.sent.get(row.id)!.length).toBeLessThan(20);
  });

  test('a receipt arrives in time even if all events are lost, and reads of the store are few', async () => {
    const muted = cluster.instances.map(({ broker }) => ({ broker, broadcast: broker.broadcast }));
    for (const { broker } of muted) broker.broadcast = async () => undefined;
    try {
      const reads = () => cluster.instances.reduce((sum, { sight }) => sum + sight.waitReads, 0);
      const before = reads();
      const startMs = performance.now();
      const rows = await Promise.all(Array.from({ length: 40 }, () => cluster.collection()));
      const receipts = await Promise.all(
        rows.flatMap((row) => cluster.instances.map((instance) => instance.submit(row, [headOf(0, 1)], WAIT_MS))),
      );
      expect(receipts.every(({ status }) => status === 'confirmed')).toBe(true);
      const seconds = (performance.now() - startMs) / 1_000;
      expect(reads() - before).toBeLessThanOrEqual(cluster.instances.length * (10 * seconds + 1));
    } finally {
      for (const { broker, broadcast } of muted) broker.broadcast = broadcast;
    }
  });

  test('halt, resume and close apply everywhere, and all instances report the same numbers', async () => {
    const row = await cluster.collection();
    const collectionId = row.id;
    await at(0).submit(row, await commitTo(cluster.store, row), WAIT_MS);
    await at(1).ask('anchoring.halt', { collectionId, reason: 'because' });
    const cut = await commitTo(cluster.store, row);
    for (const instance of cluster.instances) {
      expect((await instance.submit(row, cut, WAIT_MS)).status).toBe('pending');
      expect(await instance.ask('anchoring.stats', {})).toMatchObject({ halted: 1, pending: 0 });
    }
    await at(2).ask('anchoring.resume', { collectionId });
    for (const instance of cluster.instances)
      expect((await instance.submit(row, cut, WAIT_MS)).status).toBe('confirmed');
    const figures = await Promise.all(cluster.instances.map((instance) => instance.ask('anchoring.stats', {})));
    for (const { halted, pending } of figures) expect({ halted, pending }).toEqual({ halted: 0, pending: 0 });
    await cluster.settle();
    const counted = await Promise.all(cluster.instances.map((instance) => instance.ask('anchoring.stats', {})));
    let confirmed = 0;
    for await (const page of cluster.store.anchors.all()) {
      for (const { collectionId } of page)
        confirmed += (await cluster.store.anchors.history(collectionId, 1_000, null)).length;
    }
    for (const one of counted) expect(one).toEqual({ ...counted[0], confirmed });

    await cluster.store.catalog.dropCollection(collectionId, true);
    await at(0).ask('anchoring.close', { collectionId });
    await until('the row is gone', async () => (await cluster.store.anchors.get(collectionId)) === null);
    expect(await cluster.client.read(collectionId)).toEqual({ status: 'absent' });
  });
});

test('anchors a hundred and twenty collections at once', async () => {
  const rows = await Promise.all(Array.from({ length: 120 }, () => cluster.collection()));
  const receipts = await Promise.all(rows.map((row, place) => at(place).submit(row, [headOf(0, 1)], LONG_WAIT_MS)));
  expect(receipts.filter(({ status }) => status === 'confirmed')).toHaveLength(120);
  for (const row of rows) expect(cluster.watch.sent.get(row.id)).toHaveLength(2);
}, 180_000);
