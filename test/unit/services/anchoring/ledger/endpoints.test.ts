/**
 * Two endpoints of one ledger. The first one to be asked returns state from long ago, so the other
 * endpoint's answers must count.
 */

import { describe, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { call } from '../../../../../contracts/actions/call.ts';
import { collectionRoot } from '../../../../../lib/shard/collection-root.ts';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { readConfig } from '../../../../../process/config.ts';
import { runtimeOf } from '../../../../../process/runtime.ts';
import anchoringService from '../../../../../services/anchoring/anchoring.service.ts';
import { LedgerUnreachableError } from '../../../../../services/anchoring/ledger/rpc-pool.ts';
import { until } from '../../../../support/until.ts';
import { AnchoringFixture, SILENT } from '../fixture.ts';
import {
  anchored,
  away,
  client,
  cut,
  fixture,
  height,
  newClient,
  odd,
  onLedger,
  type Part,
  passBlocks,
  putBack,
  rawAccount,
  relay,
  row,
  shownNow,
  stored,
  truth,
  WAIT_MS,
} from './two-endpoints.ts';

const SWALLOWED: Part = { result: '1'.repeat(64) };

describe('a transaction in flight', () => {
  test('that one endpoint calls processed forever is requested from another', async () => {
    odd('getSignatureStatuses', ({ params }) => {
      const processed = { slot: 5, confirmations: 0, err: null, confirmationStatus: 'processed' };
      return { result: { context: { slot: 5 }, value: params[0].map(() => processed) } };
    });
    const anchoring = await fixture.start({ ledger: client });
    const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
    expect(await confirmed).toMatchObject(collectionRoot(cut));
  });

  test('that landed is followed by the next one, however late', async () => {
    let passedMs = 0;
    const ledger = await newClient(undefined, () => performance.now() + passedMs);
    const anchoring = await fixture.start({ ledger });
    await anchoring.submit(row.id, cut, WAIT_MS);
    await passBlocks(310);
    // The time that these blocks take, so that nothing finalized before them is trusted.
    passedMs = 310 * 400;
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 2 });
    expect((await anchoring.stats()).failures).toBe(0);
  });

  test('is not left to a frozen endpoint, whatever else it says about its time', async () => {
    await anchored();
    const slot = await height();
    const longAgo = await shownNow();
    await anchored(await fixture.commit(row));
    odd('getAccountInfo', longAgo);
    odd('getSignatureStatuses', () => ({ result: { context: { slot }, value: [null] } }));
    odd('getEpochInfo', () => ({ result: { absoluteSlot: slot, blockHeight: slot } }));
    const expected = (await stored())!;
    expect(await client.survey(row.id, expected)).toMatchObject({ account: { fields: { version: 2 } } });
    // A version that no endpoint returns does not exist.
    const further = { created: true, confirmed: { version: 3 } };
    expect(await client.survey(row.id, further)).toMatchObject({ account: { fields: { version: 2 } } });
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 3 });
  });

  test('is not left to a frozen endpoint while the other one is away', async () => {
    const slot = await height();
    odd('getEpochInfo', () => ({ result: { absoluteSlot: slot, blockHeight: slot } }));
    let isAway = true;
    away('getEpochInfo', () => isAway);
    let now = 0;
    const patient = await newClient(undefined, () => now);
    expect(await patient.finalizedBlock()).toMatchObject({ slot: BigInt(slot), missing: 1 });
    now += 30_001;
    await expect(patient.finalizedBlock()).rejects.toThrow(LedgerUnreachableError);
    isAway = false;
    now += 30_001;
    await passBlocks(1);
    expect((await patient.finalizedBlock()).slot).toBeGreaterThan(BigInt(slot));
  });

  test('is not lost because of one invalid height', async () => {
    const absurd = 4_000_000_000_000;
    let isSwallowed = true;
    let answered = 0;
    odd('sendTransaction', () => (isSwallowed ? SWALLOWED : null), true);
    odd('getEpochInfo', async () => {
      if (answered > 0 || (await stored())?.inFlight == null) return null;
      answered += 1;
      return { result: { absoluteSlot: absurd, blockHeight: absurd } };
    });
    const anchoring = await fixture.start({ ledger: client });
    const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
    await until('it was answered', () => answered > 0);
    await passBlocks(151);
    isSwallowed = false;
    expect(await confirmed).toMatchObject(collectionRoot(cut));
  });

  test('is not dropped because of an endpoint that is far behind, even if another one misses calls', async () => {
    const AHEAD = 100_000;
    let isFar = false;
    odd('sendTransaction', () => (isFar ? null : SWALLOWED), true);
    for (const method of ['getEpochInfo', 'getLatestBlockhash', 'getSignatureStatuses', 'getAccountInfo'])
      odd(method, async ({ forward }) => ({ result: moved(JSON.parse(await forward()).result, AHEAD) }), true);
    odd('getEpochInfo', () => (isFar ? { result: { absoluteSlot: 50_000, blockHeight: 50_000 } } : null));
    odd('getSignatureStatuses', ({ params }) =>
      isFar ? { result: { context: { slot: 50_000 }, value: params[0].map(() => null) } } : null,
    );
    let misses = 3;
    away('getEpochInfo', () => isFar && misses-- > 0);
    const anchoring = await fixture.start({ ledger: client });
    const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
    await until('a transaction is in flight', async () => (await stored())?.inFlight != null);
    isFar = true;
    expect(await confirmed).toMatchObject(collectionRoot(cut));
    expect((await stored())!.halted).toBeNull();
  });
});

/** Moves slots and heights of a response, as on a ledger that is further on. */
function moved(part: unknown, by: number): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
  const at = new Set(['slot', 'absoluteSlot', 'blockHeight', 'lastValidBlockHeight']);
  const entries = Object.entries(part).map(([name, value]) => [
    name,
    at.has(name) && typeof value === 'number' ? value + by : moved(value, by),
  ]);
  return Object.fromEntries(entries);
}

describe('an account as it was long ago', () => {
  test('halts nothing while the up-to-date endpoint does not answer', async () => {
    await anchored();
    const longAgo = await shownNow();
    await putBack(await anchored(await fixture.commit(row)));
    let misses = 3;
    odd('getAccountInfo', longAgo);
    away('getAccountInfo', () => misses-- > 0);
    await expect(client.survey(row.id, (await stored())!)).rejects.toThrow(LedgerUnreachableError);
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 3 });
    expect(misses).toBeLessThan(0);
  });

  test.each([
    { what: 'the first endpoint', isAlone: false },
    { what: 'the only endpoint that answers, blockhashes apart', isAlone: true },
  ])('and an equally old store do not bring its root over a newer one, shown by $what', async ({ isAlone }) => {
    const older = await anchored();
    const longAgo = await shownNow();
    const root = { merkleRoot: 'ab'.repeat(32), version: 5, vectorCount: 9, decisions: 0 };
    const newer = await truth.signUpdate(row.id, root);
    await truth.send(newer.wire);
    await until('it is there', async () => (await onLedger()).fields.version === 5);
    if (isAlone) await passBlocks(310);
    await putBack(older);
    let shown = 0;
    odd('getAccountInfo', () => {
      shown += 1;
      return longAgo();
    });
    let isAway = isAlone;
    away('getAccountInfo', () => isAway);
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, await fixture.commit(row), 0)).toBeNull();
    if (isAlone) {
      await until('it was believed more than once', async () => shown > 2 || (await stored())!.inFlight !== null);
      expect(await stored()).toMatchObject({ inFlight: null, halted: null });
      expect((await anchoring.stats()).failures).toBeGreaterThan(0);
      isAway = false;
    }
    await until('it is halted', async () => (await stored())!.halted !== null);
    expect(await onLedger()).toMatchObject({ fields: { version: 5 } });
  });

  test.each(['/odd', '/sound'])('does not count, even if the answer of %s is the last', async (last) => {
    await anchored();
    let answered = '';
    odd(
      'getAccountInfo',
      async ({ path, forward }) => {
        const { result } = JSON.parse(await forward()) as { result: unknown };
        if (path === last) await until('the other one has answered', () => answered !== '');
        answered = path;
        return { result: path === '/odd' ? { context: { slot: 1 }, value: null } : result };
      },
      true,
    );
    const expected = { created: false, confirmed: null };
    expect(await client.survey(row.id, expected)).toMatchObject({ account: { fields: { version: 1 } } });
    expect(answered).toBe(last);
  });

  test('halts nothing if the only endpoint shows it once', async () => {
    await anchored();
    const longAgo = await shownNow();
    await putBack(await anchored(await fixture.commit(row)));
    let looks = 1;
    odd('getAccountInfo', () => (looks-- > 0 ? longAgo() : null), true);
    const anchoring = await fixture.start({ ledger: await newClient(['/sound']) });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 3 });
  });

  test('of another program is not trusted while another endpoint does not answer', async () => {
    await anchored();
    const value = { ...(await rawAccount()), data: ['', 'base64'] };
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value } }));
    away('getAccountInfo', () => true);
    await expect(client.survey(row.id, (await stored())!)).rejects.toThrow(LedgerUnreachableError);
    const nothing = { created: true, confirmed: null };
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value: null } }));
    await expect(client.survey(row.id, nothing)).rejects.toThrow(LedgerUnreachableError);
  });

  test('is ignored by verify', async () => {
    await anchored();
    const other = await AnchoringFixture.open();
    const config = readConfig({
      PROVEC_DATA_DIR: other.folder,
      PROVEC_SOLANA_RPC_URLS: `${relay.url}/odd,${relay.url}/sound`,
      PROVEC_SOLANA_KEYPAIR: relay.environment.PROVEC_SOLANA_KEYPAIR,
    });
    const broker = new ServiceBroker({ logger: false });
    broker.createService(
      anchoringService(runtimeOf({ config, store: other.store, clock: SYSTEM_CLOCK, log: SILENT }), null),
    );
    await broker.start();
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value: null } }));
    const onChain = await call(broker, 'anchoring.onChain', { collectionId: row.id });
    await broker.stop();
    await other.end();
    expect(onChain).toMatchObject({ status: 'found', version: 1 });
  });

  test("is ignored by an operator's decision", async () => {
    await anchored();
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value: null } }));
    const anchoring = await fixture.start({ ledger: client });
    await anchoring.halt(row.id, 'A contradiction.');
    const newest = await fixture.commit(row);
    await anchoring.resume(row.id, await anchoring.shown(row.id));
    expect(await anchoring.submit(row.id, newest, WAIT_MS)).toMatchObject({ version: 2 });
  });

  test('under another program halts nothing, and a deleted collection is still closed', async () => {
    await anchored();
    const value = { ...(await rawAccount()), data: ['', 'base64'] };
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value } }));
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 2 });
    let looks = 4;
    const foreign = { result: { context: { slot: 1_000_000_000 }, value } };
    odd('getAccountInfo', () => (looks-- > 0 ? foreign : null), true);
    await anchoring.close(row.id);
    await until('the row is forgotten', async () => (await stored()) === null);
    expect(await truth.read(row.id)).toEqual({ status: 'absent' });
  });
});
