/** Servers of one ledger that have not all seen as much of it: what one of them does not know is not held against what another one said. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../lib/runtime.ts';
import { collectionRoot } from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/shard-head.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import { openAuthority } from '../../services/anchoring/ledger/authority.ts';
import { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import { RpcPool } from '../../services/anchoring/ledger/rpc-pool.ts';
import { LedgerRelay } from '../support/ledger-relay.ts';
import { until } from '../support/until.ts';
import { AnchoringFixture, rpc, SILENT } from './anchoring-fixture.ts';

const WAIT_MS = 30_000;
/** What makes a blockhash too old: every transaction of the embedded ledger is a block. */
const BLOCKS = 151;
const nowMs = () => SYSTEM_CLOCK.monotonicMs();

let fixture: AnchoringFixture;
let relay: LedgerRelay;
let client: LedgerClient;
let row: CollectionRow;
let cut: Cut;

beforeEach(async () => {
  fixture = await AnchoringFixture.open();
  relay = await LedgerRelay.open();
  const urls = [`${relay.url}/behind`, `${relay.url}/newest`];
  const pool = new RpcPool({ embedded: true, urls: () => urls }, nowMs);
  client = new LedgerClient(pool, await openAuthority(relay.environment.PROVEC_SOLANA_KEYPAIR!, false, SILENT), nowMs);
  row = await fixture.collection();
  cut = await fixture.commit(row);
});
afterEach(async () => {
  await fixture.end();
  await relay.close();
});

const stored = () => fixture.store.anchors.get(row.id);
async function outliveBlockhash(): Promise<void> {
  for (let blocks = 0; blocks < BLOCKS; blocks++) await rpc(relay.ledgerUrl, 'requestAirdrop', [client.authority, 1]);
}

interface Asked {
  id: unknown;
  method: string;
  params: [unknown, { minContextSlot?: number }?];
}

test.each([
  { what: 'a server that has not seen the blocks in which it was taken', isBehind: true },
  { what: 'servers that began after them, while an account is shown as it was before', isBehind: false },
])('a transaction is not given up on the word of $what', async ({ isBehind }) => {
  const slot = await rpc<number>(relay.ledgerUrl, 'getSlot');
  let isOutlived = false;
  relay.intercept = async ({ path, asked, forward }) => {
    const { id, method, params } = JSON.parse(asked) as Asked;
    const answer = (part: object) => JSON.stringify({ jsonrpc: '2.0', id, ...part });
    if (method === 'getSignatureStatuses') {
      if (isOutlived && isBehind && path === '/behind') return answer({ result: { context: { slot }, value: [null] } });
      if (isOutlived && isBehind) return forward();
      // Until the transaction is outlived nobody knows of it, so that it stays in flight.
      const { result } = JSON.parse(await forward()) as { result: object };
      return answer({ result: { ...result, value: [null] } });
    }
    if (method !== 'getAccountInfo' || path !== '/behind' || !isOutlived) return forward();
    if (!isBehind && (params[1]?.minContextSlot ?? 0) > slot)
      return answer({ error: { code: -32016, message: 'Minimum context slot has not been reached' } });
    return answer({ result: { context: { slot }, value: null } });
  };
  const anchoring = await fixture.start({ ledger: client });
  const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
  await until('a transaction is in flight', async () => (await stored())?.inFlight != null);
  const { signature } = (await stored())!.inFlight!;
  await until('the ledger has it', async () => {
    const { value } = await rpc<{ value: unknown[] }>(relay.ledgerUrl, 'getSignatureStatuses', [[signature]]);
    return value[0] !== null;
  });
  await outliveBlockhash();
  isOutlived = true;
  await until('it is no longer in flight', async () => (await stored())!.inFlight?.signature !== signature);
  relay.intercept = null;
  expect(await confirmed).toMatchObject(collectionRoot(cut));
  expect((await anchoring.stats()).failures).toBe(0);
});

test('a transaction in a block that may still be taken back is neither confirmed nor given up, however old its blockhash', async () => {
  let isTakenBack = true;
  let answered = 0;
  let height = 0;
  relay.rewrite = (method, answer) => {
    if (method === 'getEpochInfo')
      height = (JSON.parse(answer) as { result: { blockHeight: number } }).result.blockHeight;
    if (method !== 'getSignatureStatuses' || !isTakenBack) return answer;
    answered += 1;
    return answer.replaceAll('"finalized"', '"processed"');
  };
  const anchoring = await fixture.start({ ledger: client });
  const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
  await until('a transaction is in flight', async () => (await stored())?.inFlight !== null && answered > 0);
  const { signature, lastValidBlockHeight } = (await stored())!.inFlight!;
  await outliveBlockhash();
  // Whoever asks for the height now learns that it is too old.
  await client.signClose(row.id);
  await until('the height is known', async () => {
    await client.finalizedBlock();
    return height > Number(lastValidBlockHeight);
  });
  const before = answered;
  await until('it was asked for again and again', () => answered > before + 3);
  expect(await stored()).toMatchObject({ inFlight: { signature }, confirmed: null });
  isTakenBack = false;
  expect(await confirmed).toMatchObject(collectionRoot(cut));
  expect((await anchoring.stats()).failures).toBe(0);
});

/** Answers at `/behind` are those that a server gave which follows the ledger no more. */
function freeze(shown: { account: unknown; slot: number }): void {
  relay.intercept = async ({ path, asked, forward }) => {
    const { id, method } = JSON.parse(asked) as Asked;
    if (path !== '/behind') return forward();
    const answer = (result: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result });
    const { slot } = shown;
    if (method === 'getAccountInfo') return answer({ context: { slot }, value: shown.account });
    if (method === 'getSignatureStatuses') return answer({ context: { slot }, value: [null] });
    if (method === 'getEpochInfo') return answer({ absoluteSlot: slot, blockHeight: slot });
    // It hands on what it is sent, and knows blockhashes of its own time only.
    return forward();
  };
}

test('a server that stands still, asked first, keeps nothing back, and has nothing halted', async () => {
  const first = await fixture.start({ ledger: client });
  await first.submit(row.id, cut, WAIT_MS);
  const slot = await rpc<number>(relay.ledgerUrl, 'getSlot');
  const asked = [await client.address(row.id), { encoding: 'base64' }];
  const { value: account } = await rpc<{ value: unknown }>(relay.ledgerUrl, 'getAccountInfo', asked);
  await first.submit(row.id, await fixture.commit(row), WAIT_MS);
  await first.stop();
  const aged = (await stored())!;
  const confirmedAt = new Date(0).toISOString();
  await fixture.store.anchors.put({
    ...aged,
    revision: aged.revision + 1,
    epoch: aged.epoch + 1,
    confirmed: { ...aged.confirmed!, confirmedAt },
  });
  freeze({ account, slot });
  expect(await client.read(row.id)).toMatchObject({ fields: { version: 1 } });
  expect(await client.survey(row.id, aged)).toMatchObject({ account: { fields: { version: 2 } } });
  // What nobody shows is not there.
  const further = { created: true, confirmed: { version: 3 } };
  expect(await client.survey(row.id, further)).toMatchObject({ account: { fields: { version: 2 } } });

  const second = await fixture.start({ ledger: client });
  const newest = await fixture.commit(row);
  expect(await second.submit(row.id, newest, WAIT_MS)).toMatchObject({ version: 3 });
  expect((await stored())!.halted).toBeNull();
});
