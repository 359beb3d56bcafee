import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { isThorough } from '../../support/effort.ts';
import { until } from '../../support/until.ts';
import { commitTo, rpc } from '../../unit/services/anchoring/fixture.ts';
import { AnchoringCluster, type Instance } from './anchoring-cluster.ts';
import { INSTANTS, type Instant } from './gate.ts';

const WAIT_MS = 20_000;
/**
 * Time from the pause: the other instances must see an unchanged beat for 4 s, and both check once
 * per second.
 */
const TAKE_OVER_MAX_MS = 10_000;
/** The first root takes two transactions, and an instance can stop in either. */
const PAUSES = INSTANTS.flatMap((instant) => [0, 1].map((occurrence) => [instant, occurrence] as const)).filter(
  (_, at) => isThorough || at % 5 === 0,
);

let cluster: AnchoringCluster;
beforeAll(async () => {
  cluster = await AnchoringCluster.open(3);
});
beforeEach(() => cluster.settle());
afterAll(() => cluster.end());

const isConfirmed = async ({ id }: CollectionRow, cut: Cut) =>
  (await cluster.store.anchors.get(id))?.confirmed?.version === collectionRoot(cut).version;

/** Shuts the gate of the instance that first reaches the given occurrence of an instant. */
function pauseAt(instant: Instant, occurrence: number): Promise<Instance> {
  let seen = 0;
  return until(`an instance pauses ${instant}`, () => {
    for (const { gate } of cluster.instances) {
      gate.trap ??= (reached) => {
        if (reached !== instant || seen++ !== occurrence) return false;
        for (const other of cluster.instances) if (other.gate !== gate) other.gate.trap = () => false;
        return true;
      };
    }
    return cluster.instances.find(({ gate }) => gate.isShut);
  });
}

const others = (paused: Instance): Instance[] => cluster.instances.filter((instance) => instance !== paused);

function wakeAll(): void {
  for (const { gate } of cluster.instances) gate.open();
}

describe('an instance that pauses at any point', () => {
  test.each(PAUSES)(
    '%s (%i): another continues, and the first does no harm when it wakes',
    async (instant, occurrence) => {
      const row = await cluster.collection();
      const pausing = pauseAt(instant, occurrence);
      const first = await commitTo(cluster.store, row);
      for (const instance of cluster.instances) void instance.submit(row, first, 0).catch(() => undefined);
      const paused = await pausing;
      const startMs = performance.now();
      const [other, another] = others(paused);
      await until('another has it confirmed', () => isConfirmed(row, first));
      expect(performance.now() - startMs).toBeLessThan(TAKE_OVER_MAX_MS);
      const second = await commitTo(cluster.store, row);
      expect((await other.submit(row, second, WAIT_MS)).status).toBe('confirmed');

      // When it resumes, other instances are at work.
      const third = await commitTo(cluster.store, row);
      const asked = another.submit(row, third, WAIT_MS);
      wakeAll();
      expect((await asked).status).toBe('confirmed');
      const fourth = await commitTo(cluster.store, row);
      expect((await paused.submit(row, fourth, WAIT_MS)).status).toBe('confirmed');
      expect(await cluster.onChainVersion(row)).toBe(4);
      expect(cluster.watch.versions.get(row.id)).toEqual([...new Set(cluster.watch.versions.get(row.id))]);
      expect(cluster.watch.breaches.splice(0)).toEqual([]);
      expect((await cluster.store.anchors.get(row.id))!.halted).toBeNull();
    },
  );
});

test('a transaction delayed until it has expired, which arrives after its successor, changes nothing', async () => {
  const row = await cluster.collection();
  await cluster.instances[0].submit(row, await commitTo(cluster.store, row), WAIT_MS);
  const late: (() => Promise<string>)[] = [];
  let isLost = true;
  cluster.onSend = (_, arrive) => {
    if (!isLost) return arrive();
    late.push(arrive);
    return Promise.reject(new Error('lost'));
  };
  const second = await commitTo(cluster.store, row);
  void cluster.instances[1].submit(row, second, 0);
  await until('it is lost', () => late.length > 0);
  const lost = (await cluster.store.anchors.get(row.id))!.inFlight!;
  for (let blocks = 0; blocks < 151; blocks++) {
    await rpc(cluster.watch.ledgerUrl, 'requestAirdrop', [cluster.client.authority, 1]);
  }
  isLost = false;
  await until('another is confirmed', () => isConfirmed(row, second));
  const { confirmed } = (await cluster.store.anchors.get(row.id))!;
  expect(confirmed!.signature).not.toBe(lost.signature);
  for (const arrive of late) await arrive();
  expect(await cluster.onChainVersion(row)).toBe(2);
  expect(cluster.watch.breaches.splice(0)).toEqual([]);
});

test('a successor that asks a lagging ledger node waits for it and halts nothing', async () => {
  const row = await cluster.collection();
  const [asked] = cluster.instances;
  // It considers itself responsible, and is paused meanwhile.
  const successor = await cluster.start();
  successor.sight.isBlind = true;
  await cluster.settle();
  successor.gate.shut();
  await asked.submit(row, await commitTo(cluster.store, row), WAIT_MS);
  const behind = await cluster.account(row);
  await asked.submit(row, await commitTo(cluster.store, row), WAIT_MS);
  for (const { gate } of cluster.instances) if (gate !== successor.gate) gate.shut();
  successor.gate.open();
  cluster.answerAccountsWith(behind);
  const third = await commitTo(cluster.store, row);
  const receipt = successor.submit(row, third, WAIT_MS);
  await until('the node that is behind was asked again and again', () => cluster.answeredBehind > 1);
  expect((await cluster.store.anchors.get(row.id))!.halted).toBeNull();
  cluster.answerAccountsWith(null);
  expect((await receipt).status).toBe('confirmed');
  expect(await cluster.onChainVersion(row)).toBe(3);
  successor.sight.isBlind = false;
  wakeAll();
  expect(cluster.watch.breaches.splice(0)).toEqual([]);
});

test('two instances that both believe they are in charge, and pause in turn, never have two transactions in flight', async () => {
  const row = await cluster.collection();
  const rounds = 4;
  for (let round = 0; round < rounds; round++) {
    const pausing = pauseAt(INSTANTS[round % INSTANTS.length], 0);
    const cut = await commitTo(cluster.store, row);
    for (const instance of cluster.instances) void instance.submit(row, cut, 0).catch(() => undefined);
    const first = await pausing;
    // The instance that takes over is paused as well, while the first one resumes.
    const [one, two] = others(first);
    for (const { gate } of [one, two]) gate.trap = (instant) => instant.startsWith('before');
    await until('the next one pauses', () => one.gate.isShut || two.gate.isShut || isConfirmed(row, cut));
    first.gate.open();
    one.gate.open();
    two.gate.open();
    await until('it is confirmed', () => isConfirmed(row, cut));
  }
  expect(await cluster.onChainVersion(row)).toBe(rounds);
  expect(cluster.watch.breaches.splice(0)).toEqual([]);
});
