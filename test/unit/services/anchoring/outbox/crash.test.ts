import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { collectionRoot } from '../../../../../lib/shard/collection-root.ts';
import type { OutboxStep } from '../../../../../services/anchoring/context.ts';
import { until } from '../../../../support/until.ts';
import { AnchoringFixture, rpc } from '../fixture.ts';

const WAIT_MS = 30_000;
const STEPS: OutboxStep[] = ['signed', 'persisted', 'sent', 'confirmed'];
/** The first root takes two transactions (create, update), and a fault can hit either. */
const FAULTS = STEPS.flatMap((step) => [0, 1].map((occurrence) => [step, occurrence] as const));

const never = () => new Promise<void>(() => {});

let fixture: AnchoringFixture;

// A ledger that died several times restarts with growing pauses, so each test has its own.
describe('the ledger is killed at every instant of the outbox', () => {
  beforeEach(async () => {
    fixture = await AnchoringFixture.open();
  });
  afterEach(() => fixture.end());

  test.each(FAULTS)('at "%s" (%i): the root is anchored exactly once', async (at, occurrence) => {
    const row = await fixture.collection();
    const cut = await fixture.commit(row);
    let seen = 0;
    const anchoring = await fixture.start({
      async onStep(step, collectionId) {
        if (collectionId === row.id && step === at && seen++ === occurrence) await fixture.killLedger();
      },
    });
    const confirmed = await anchoring.submit(row.id, cut, WAIT_MS);
    expect(confirmed).toMatchObject(collectionRoot(cut));
    const signatures = await fixture.signatures(row.id);
    expect(signatures).toHaveLength(2);
    expect(signatures[0]).toBe(confirmed!.signature);
    await anchoring.stop();
  });

  test('the version on chain only grows while ledger and service are killed in turn', async () => {
    const row = await fixture.collection(2);
    let last = 0;
    for (let round = 0; round < 4; round++) {
      const at = STEPS[round];
      let reached = false;
      const killed = await fixture.start({
        async onStep(step, collectionId) {
          if (collectionId !== row.id || step !== at || reached) return;
          await fixture.killLedger();
          reached = true;
          await never();
        },
      });
      void killed.submit(row.id, await fixture.commit(row, round % 2), 0);
      await until('the fault is reached', () => reached);
      const version = (await fixture.onChain(row))?.version ?? 0;
      expect(version).toBeGreaterThanOrEqual(last);
      last = version;
    }
    const anchoring = await fixture.start();
    const cut = await fixture.commit(row);
    expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject(collectionRoot(cut));
    await anchoring.stop();
  });
});

describe('the service is killed at every instant of the outbox', () => {
  beforeAll(async () => {
    fixture = await AnchoringFixture.open();
  });
  afterEach(() => fixture.stop());
  afterAll(() => fixture.end());

  test.each(FAULTS)('at "%s" (%i): its successor continues', async (at, occurrence) => {
    const row = await fixture.collection();
    let seen = 0;
    let reached = false;
    const killed = await fixture.start({
      async onStep(step, collectionId) {
        if (collectionId !== row.id || step !== at || seen++ !== occurrence) return;
        reached = true;
        await never();
      },
    });
    const cut = await fixture.commit(row);
    void killed.submit(row.id, cut, 0);
    await until('the fault is reached', () => reached);
    const sent = (await fixture.store.anchors.get(row.id))?.inFlight ?? null;

    const anchoring = await fixture.start();
    await until('the root is confirmed', async () => {
      return (await fixture.store.anchors.get(row.id))?.confirmed?.version === 1;
    });
    const stored = (await fixture.store.anchors.get(row.id))!;
    expect(await fixture.client.read(row.id)).toEqual({
      status: 'found',
      fields: { ...collectionRoot(cut), decisions: 0 },
    });
    const signatures = await fixture.signatures(row.id);
    expect(signatures).toHaveLength(2);
    expect(signatures[0]).toBe(stored.confirmed!.signature);
    if (sent) expect(signatures).toContain(sent.signature);
    await anchoring.stop();
  });

  test('between a commit and its request: its successor finds the commit in the log', async () => {
    const row = await fixture.collection();
    const cut = await fixture.commit(row);
    await fixture.start();
    await until('the root is confirmed', async () => {
      return (await fixture.store.anchors.get(row.id))?.confirmed?.version === 1;
    });
    expect(await fixture.client.read(row.id)).toEqual({
      status: 'found',
      fields: { ...collectionRoot(cut), decisions: 0 },
    });
  });

  test('the service pauses with a signed transaction while another continues: it never sends it', async () => {
    const row = await fixture.collection();
    let signed = 0;
    let wake = () => {};
    const awake = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const sleeper = await fixture.start({
      // The first transaction creates the account.
      onStep: async (step) => (step === 'signed' && ++signed === 2 ? awake : undefined),
    });
    void sleeper.submit(row.id, await fixture.commit(row), 0);
    await until('it sleeps', () => signed === 2);
    const other = await fixture.start();
    expect(await other.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 2 });
    await other.stop();
    wake();
    expect(await sleeper.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 3 });
    const history = await fixture.store.anchors.history(row.id, 10, null);
    // The other instance may have found version 1 in the log and anchored it before it was asked
    // for version 2.
    expect(history.map(({ version }) => version).slice(0, 2)).toEqual([3, 2]);
    const signatures = await fixture.signatures(row.id);
    // The oldest transaction created the account.
    expect(signatures.slice(0, -1)).toEqual(history.map(({ signature }) => signature));
    await sleeper.stop();
  });

  test('while it closes: the account is closed and the rent returns', async () => {
    for (const at of STEPS) {
      const row = await fixture.collection();
      const before = await fixture.client.balance();
      let closing = false;
      let reached = false;
      const killed = await fixture.start({
        async onStep(step, collectionId) {
          if (collectionId !== row.id || !closing || step !== at) return;
          reached = true;
          await never();
        },
      });
      await killed.submit(row.id, await fixture.commit(row), WAIT_MS);
      closing = true;
      await fixture.store.catalog.dropCollection(row.id, true);
      await killed.close(row.id);
      await until('the fault is reached', () => reached);

      const anchoring = await fixture.start();
      await until('the row is gone', async () => (await fixture.store.anchors.get(row.id)) === null);
      expect(await fixture.client.read(row.id)).toEqual({ status: 'absent' });
      expect(await fixture.client.balance()).toBe(before - 3n * 5_000n);
      await anchoring.stop();
    }
  });

  test('a transaction that was never sent and has expired is signed anew', async () => {
    const row = await fixture.collection();
    let reached = false;
    const killed = await fixture.start({
      async onStep(step) {
        if (step !== 'persisted') return;
        reached = true;
        await never();
      },
    });
    const cut = await fixture.commit(row);
    void killed.submit(row.id, cut, 0);
    await until('it is in flight', () => reached);
    const { signature, lastValidBlockHeight } = (await fixture.store.anchors.get(row.id))!.inFlight!;
    // Every transaction is a block.
    for (let blocks = 0; blocks < 151; blocks++) {
      await rpc(fixture.where.url, 'requestAirdrop', [fixture.client.authority, 1]);
    }
    // The client caches the height briefly, and a fast machine makes all these blocks within that
    // time.
    const height = async (): Promise<bigint> => (await fixture.client.finalizedBlock()).height;
    await until('it has expired', async () => (await height()) > BigInt(lastValidBlockHeight));

    const anchoring = await fixture.start();
    expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject(collectionRoot(cut));
    expect(await fixture.signatures(row.id)).toHaveLength(2);
    expect(await fixture.signatures(row.id)).not.toContain(signature);
    expect((await anchoring.stats()).failures).toBe(1);
    await anchoring.stop();
  });
});
