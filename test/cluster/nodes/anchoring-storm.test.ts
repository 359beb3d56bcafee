import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { committedCut, cutContains } from '../../../lib/shard/cut.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { isThorough } from '../../support/effort.ts';
import { randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { until } from '../../support/until.ts';
import { commitTo } from '../../unit/services/anchoring/fixture.ts';
import { AnchoringCluster } from './anchoring-cluster.ts';
import { INSTANTS } from './gate.ts';

const STORM_MS = isThorough ? 15_000 : 6_000;
const COLLECTIONS = 4;

let cluster: AnchoringCluster;
beforeAll(async () => {
  cluster = await AnchoringCluster.open(3);
});
afterAll(() => cluster.end());

test('instances that all believe they are in charge pause at random, and the network loses, delays and repeats transactions', async () => {
  const random = randomFrom(seed);
  const rows: CollectionRow[] = [];
  for (let count = 0; count < COLLECTIONS; count++) rows.push(await cluster.collection(2));
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const loose: Promise<unknown>[] = [];
  let isOver = false;
  cluster.onSend = async (_, arrive) => {
    const fate = isOver ? 1 : random();
    if (fate < 0.3) throw new Error('lost');
    if (fate < 0.6) await delay(1_500 * random());
    // A transaction still on its way when the test ends finds no ledger.
    if (fate < 0.5)
      loose.push(
        delay(4_000 * random())
          .then(arrive)
          .catch(() => undefined),
      );
    return arrive();
  };
  for (const { sight } of cluster.instances) sight.isBlind = true;
  const endMs = performance.now() + STORM_MS;
  while (performance.now() < endMs) {
    const row = pick(rows);
    const instance = pick(cluster.instances);
    if (random() < 0.5) {
      const cut = await commitTo(cluster.store, row, Math.floor(2 * random()));
      void instance.submit(row, cut, 0).catch(() => undefined);
    }
    const { gate } = pick(cluster.instances);
    const pauseMs = random() < 0.6 ? 500 * random() : 5_000 * random();
    if (gate.trap === null && !gate.isShut) {
      const chosen = pick(INSTANTS);
      gate.trap = (instant) => {
        if (instant !== chosen) return false;
        loose.push(delay(pauseMs).then(() => gate.open()));
        return true;
      };
    }
    await delay(60 * random());
  }
  isOver = true;
  for (const { gate, sight } of cluster.instances) {
    gate.open();
    sight.isBlind = false;
  }
  await Promise.all(loose);
  expect(cluster.watch.breaches).toEqual([]);
  for (const row of rows) {
    const cut = await committedCut(cluster.store.log, row);
    await until('all is anchored', async () => {
      const confirmed = (await cluster.store.anchors.get(row.id))?.confirmed;
      return confirmed && cutContains(confirmed.cut, cut);
    });
    const { confirmed, halted } = (await cluster.store.anchors.get(row.id))!;
    expect(halted).toBeNull();
    expect(await cluster.onChainVersion(row)).toBe(confirmed!.version);
    expect(cluster.watch.versions.get(row.id)!.length).toBeGreaterThan(0);
  }
  expect(cluster.watch.breaches.splice(0)).toEqual([]);
});
