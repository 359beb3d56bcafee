import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { collectionRoot } from '../../../../lib/shard/collection-root.ts';
import { cutContains } from '../../../../lib/shard/cut.ts';
import { type Cut, EMPTY_HEAD } from '../../../../lib/shard/head.ts';
import type { Anchoring } from '../../../../services/anchoring/anchoring.ts';
import { until } from '../../../support/until.ts';
import { AnchoringFixture, headOf, rpc } from './fixture.ts';

const WAIT_MS = 60_000;

describe('the life of an anchor', () => {
  let fixture: AnchoringFixture;
  let anchoring: Anchoring;

  beforeAll(async () => {
    fixture = await AnchoringFixture.open();
    anchoring = await fixture.start();
  });
  afterAll(() => fixture.end());

  test('an address that received funds before its account existed becomes one anyway', async () => {
    const row = await fixture.collection();
    const paid = await rpc<string>(fixture.where.url, 'requestAirdrop', [
      await fixture.client.address(row.id),
      1_000_000,
    ]);
    await until('it is paid', async () => {
      const { value } = await rpc<{ value: unknown[] }>(fixture.where.url, 'getSignatureStatuses', [[paid]]);
      return value[0] !== null;
    });
    expect(await fixture.client.read(row.id)).toEqual({ status: 'absent' });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 1 });
    expect(await fixture.client.read(row.id)).toMatchObject({ status: 'found', fields: { version: 1 } });
  });

  test('an account is created, carries each root in turn, and returns its rent when closed', async () => {
    const row = await fixture.collection();
    const before = await fixture.client.balance();
    expect(await fixture.client.read(row.id)).toEqual({ status: 'absent' });

    for (let version = 1; version <= 3; version++) {
      const cut = await fixture.commit(row);
      const confirmed = await anchoring.submit(row.id, cut, WAIT_MS);
      expect(confirmed).toMatchObject(collectionRoot(cut));
      expect(await fixture.client.read(row.id)).toEqual({
        status: 'found',
        fields: { ...collectionRoot(cut), decisions: 0 },
      });
    }
    const history = await fixture.store.anchors.history(row.id, 10, null);
    expect(history.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(await fixture.signatures(row.id)).toEqual(expect.arrayContaining(history.map(({ signature }) => signature)));

    const rent = before - (await fixture.client.balance());
    expect(rent).toBeGreaterThan(1_000_000n);
    await fixture.store.catalog.dropCollection(row.id, true);
    await anchoring.close(row.id);
    await until('the row is gone', async () => (await fixture.store.anchors.get(row.id)) === null);
    expect(await fixture.client.read(row.id)).toEqual({ status: 'absent' });
    const feesOfFiveTransactions = 5n * 5_000n;
    expect(await fixture.client.balance()).toBe(before - feesOfFiveTransactions);
    await until(
      'its history is gone',
      async () => (await fixture.store.anchors.history(row.id, 10, null)).length === 0,
    );
  });

  test('a confirmation is awaited before its root is requested, but not if there never was one', async () => {
    const row = await fixture.collection();
    const first = await fixture.commit(row);
    expect(await anchoring.confirmation(row.id, first, WAIT_MS)).toBeNull();
    await anchoring.submit(row.id, first, WAIT_MS);
    const second = await fixture.commit(row);
    const waiting = anchoring.confirmation(row.id, second, WAIT_MS);
    await anchoring.submit(row.id, second, WAIT_MS);
    expect(await waiting).toMatchObject({ version: 2 });
  });

  test('cuts of several shards are merged, and the confirmed cut contains each of them', async () => {
    const row = await fixture.collection(4);
    const other = await fixture.collection(1);
    const cuts = [0, 1, 2, 3].map((at) => [0, 1, 2, 3].map((index) => (index === at ? headOf(index, 1) : EMPTY_HEAD)));
    const elsewhere = anchoring.submit(other.id, [headOf(0, 1)], WAIT_MS);
    const confirmed = await Promise.all(cuts.map((cut) => anchoring.submit(row.id, cut, WAIT_MS)));
    expect(confirmed.every((one, at) => one !== null && cutContains(one.cut, cuts[at]))).toBe(true);
    const whole = [0, 1, 2, 3].map((index) => headOf(index, 1));
    const { merkleRoot } = collectionRoot(whole);
    await until('all shards are on chain', async () => (await fixture.onChain(row))?.merkleRoot === merkleRoot);
    expect((await elsewhere)!.version).toBe(1);
  });

  test('concurrent submits share anchors', async () => {
    const row = await fixture.collection();
    await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS);
    const cuts: Cut[] = [];
    for (let count = 0; count < 40; count++) cuts.push(await fixture.commit(row));
    const confirmed = await Promise.all(cuts.map((cut) => anchoring.submit(row.id, cut, WAIT_MS)));
    for (const [at, one] of confirmed.entries()) expect(one!.version).toBeGreaterThanOrEqual(cuts[at][0].seq);
    expect((await fixture.signatures(row.id)).length).toBeLessThan(10);
    expect(await anchoring.submit(row.id, cuts[0], WAIT_MS)).toMatchObject({ version: 41 });
  });

  test('a shard that was only reopened has nothing new to anchor', async () => {
    const row = await fixture.collection();
    const cut = await fixture.commit(row);
    const confirmed = await anchoring.submit(row.id, cut, WAIT_MS);
    const opened = cut.map((head) => ({ ...head, seq: head.seq + 1 }));
    expect(await anchoring.submit(row.id, opened, 0)).toEqual(confirmed);
    expect((await fixture.store.anchors.get(row.id))!.wantedAt).toBeNull();
  });

  test('an empty collection can be anchored, and a waiting cut shows in the metrics', async () => {
    const row = await fixture.collection();
    const confirmed = await anchoring.submit(row.id, [EMPTY_HEAD], WAIT_MS);
    expect(confirmed).toMatchObject({ version: 0, vectorCount: 0, merkleRoot: '0'.repeat(64) });
    expect(await anchoring.submit(row.id, await fixture.commit(row), 0)).toBeNull();
    expect(await anchoring.stats()).toMatchObject({ pending: 1, halted: 0 });
    await until('nothing is pending', async () => (await anchoring.stats()).pending === 0);
    expect(await anchoring.stats()).toMatchObject({ oldestPendingSeconds: 0, failures: 0 });
  });

  test('forty collections at once are all anchored', async () => {
    const rows = await Promise.all(Array.from({ length: 40 }, () => fixture.collection()));
    const confirmed = await Promise.all(rows.map((row) => anchoring.submit(row.id, [headOf(0, 1)], WAIT_MS)));
    expect(confirmed.map((one) => one?.version)).toEqual(rows.map(() => 1));
  });
});
