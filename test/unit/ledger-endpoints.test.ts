/** Two endpoints of one ledger, of which the one that is asked first says what no node would, or what was so long ago: the other one's word counts. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { call } from '../../lib/actions/call.ts';
import { readConfig } from '../../lib/config.ts';
import { SYSTEM_CLOCK } from '../../lib/runtime.ts';
import { collectionRoot } from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/shard-head.ts';
import type { AnchorRow } from '../../lib/store/anchors.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import anchoringService from '../../services/anchoring/anchoring.service.ts';
import { openAuthority } from '../../services/anchoring/ledger/authority.ts';
import { LedgerClient } from '../../services/anchoring/ledger/ledger-client.ts';
import { LedgerUnreachableError, RpcPool } from '../../services/anchoring/ledger/rpc-pool.ts';
import { LedgerRelay } from '../support/ledger-relay.ts';
import { until } from '../support/until.ts';
import { AnchoringFixture, rpc, SILENT } from './anchoring-fixture.ts';

const WAIT_MS = 30_000;
const LONG_AGO = new Date(0).toISOString();
const nowMs = () => SYSTEM_CLOCK.monotonicMs();

let fixture: AnchoringFixture;
let relay: LedgerRelay;
let truth: LedgerClient;
let client: LedgerClient;
let row: CollectionRow;
let cut: Cut;

beforeAll(async () => {
  fixture = await AnchoringFixture.open();
  relay = await LedgerRelay.open();
  truth = await relay.client('authority');
});
beforeEach(async () => {
  client = await newClient();
  row = await fixture.collection();
  cut = await fixture.commit(row);
});
afterEach(async () => {
  relay.intercept = null;
  await fixture.stop();
});
afterAll(async () => {
  await fixture.end();
  await relay.close();
});

async function newClient(): Promise<LedgerClient> {
  const urls = [`${relay.url}/odd`, `${relay.url}/sound`];
  const authority = await openAuthority(relay.environment.PROVEC_SOLANA_KEYPAIR!, false, SILENT);
  return new LedgerClient(new RpcPool({ embedded: true, urls: () => urls }, nowMs), authority, nowMs);
}
const stored = () => fixture.store.anchors.get(row.id);
const onLedger = async () => (await truth.read(row.id)) as { status: string; fields: { version: number } };
const height = () => rpc<number>(relay.ledgerUrl, 'getSlot');
async function passBlocks(blocks: number): Promise<void> {
  for (let each = 0; each < blocks; each++) await rpc(relay.ledgerUrl, 'requestAirdrop', [client.authority, 1]);
}
async function rawAccount(): Promise<Record<string, unknown> | null> {
  const asked = [await client.address(row.id), { encoding: 'base64' }];
  return (await rpc<{ value: Record<string, unknown> | null }>(relay.ledgerUrl, 'getAccountInfo', asked)).value;
}
/** Anchors the collection once. */
async function anchored(): Promise<AnchorRow> {
  const anchoring = await fixture.start({ ledger: client });
  await anchoring.submit(row.id, cut, WAIT_MS);
  await anchoring.stop();
  return (await stored())!;
}
/** Puts the row back as somebody else left it, long ago. */
async function putBack(older: AnchorRow): Promise<void> {
  const { revision, epoch } = (await stored())!;
  const confirmed = older.confirmed && { ...older.confirmed, confirmedAt: LONG_AGO };
  await fixture.store.anchors.put({ ...older, confirmed, revision: revision + 1, epoch: epoch + 1 });
}

type Params = [string[] & string, { minContextSlot?: number }?];
type Part = { result: unknown } | { error: { code: number; message: string; data?: unknown } };
interface Asked {
  params: Params;
  path: string;
  forward(): Promise<string>;
}
/** Answers one method in another way, at the odd endpoint alone; null leaves it as it is. */
function odd(method: string, answer: (asked: Asked) => Part | null | Promise<Part | null>, everywhere = false): void {
  const before = relay.intercept;
  relay.intercept = async (passing) => {
    const asked = JSON.parse(passing.asked) as { id: unknown; method: string; params: Params };
    const isMeant = asked.method === method && (everywhere || passing.path === '/odd');
    const part = isMeant ? await answer({ ...passing, params: asked.params }) : null;
    if (part !== null) return JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...part });
    return before?.(passing) ?? passing.forward();
  };
}
const SWALLOWED: Part = { result: '1'.repeat(64) };

describe('an answer that no node gives', () => {
  const context = { slot: 1_000_000_000 };
  const stranger = { slot: 1, err: null, confirmationStatus: 'finalized', confirmations: null };
  test.each([
    ['nothing', null],
    ['no statuses', { context }],
    ['fewer statuses', { context, value: [] }],
    ['more statuses', { context, value: [stranger, stranger] }],
    ['an empty status', { context, value: [{}] }],
    ['no error', { context, value: [{ ...stranger, err: undefined }] }],
    ['a word that is none', { context, value: [{ ...stranger, confirmationStatus: 'rooted' }] }],
    ['neither word nor count', { context, value: [{ slot: 1, err: null }] }],
    ['no slot', { value: [stranger] }],
  ])('%s is no status', async (_, result) => {
    odd('getSignatureStatuses', () => ({ result }));
    const { signature } = await truth.signClose(row.id);
    expect(await client.status(signature)).toEqual({ status: 'unknown' });
  });

  test.each([
    ['a count of votes', { confirmations: 3 }, 'processed'],
    ['no votes left to count', { confirmations: null, confirmationStatus: null }, 'confirmed'],
    ['an error', { confirmations: 3, confirmationStatus: 'confirmed', err: { InstructionError: [0, 'X'] } }, 'failed'],
  ])('%s is one', async (_, part, status) => {
    odd('getSignatureStatuses', () => ({ result: { context, value: [{ slot: 1, err: null, ...part }] } }));
    expect(await client.status('1'.repeat(64))).toMatchObject({ status });
  });

  test.each([
    ['nothing', null],
    ['no account', { context }],
    ['no owner', { context, value: { data: ['', 'base64'] } }],
    ['no data', { context, value: { owner: '1'.repeat(32) } }],
    ['no slot', { value: null }],
    ['an earlier slot than was asked for', { context: { slot: 1 }, value: null }],
  ])('%s is no account', async (_, result) => {
    const { wire, signature } = await truth.signCreate(row.id);
    await truth.send(wire);
    await until('it is there', async () => (await truth.status(signature)).status === 'confirmed');
    odd('getAccountInfo', () => ({ result }));
    expect(await client.read(row.id, 2n)).toEqual({ status: 'found', fields: null });
    // One that is asked at no slot may show what was earlier.
    if (result === null || !('context' in result) || result.context.slot > 1)
      expect((await client.survey(row.id, { created: false, confirmed: null })).account.status).toBe('found');
  });
});

describe('a refusal of one endpoint', () => {
  test.each([
    ['of a method that it lacks', 'getLatestBlockhash', { code: -32601, message: 'Method not found' }],
    [
      'of a blockhash that it does not know yet',
      'sendTransaction',
      { code: -32002, message: 'Transaction simulation failed', data: { err: 'BlockhashNotFound', logs: [] } },
    ],
  ])('%s is not that of the ledger', async (_, method, error) => {
    odd(method, () => ({ error }));
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject({ version: 1 });
  });
});

describe('a transaction in flight', () => {
  test('that one endpoint calls processed for ever is asked for at another', async () => {
    odd('getSignatureStatuses', ({ params }) => {
      const processed = { slot: 5, confirmations: 0, err: null, confirmationStatus: 'processed' };
      return { result: { context: { slot: 5 }, value: params[0].map(() => processed) } };
    });
    const anchoring = await fixture.start({ ledger: client });
    const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
    expect(await confirmed).toMatchObject(collectionRoot(cut));
  });

  test('that landed is followed by the next one, however long after', async () => {
    const anchoring = await fixture.start({ ledger: client });
    await anchoring.submit(row.id, cut, WAIT_MS);
    await passBlocks(310);
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 2 });
    expect((await anchoring.stats()).failures).toBe(0);
  });

  test('is not lost to one height that is none', async () => {
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

  test('is not dropped for an endpoint that is far behind, even if another one misses calls', async () => {
    const AHEAD = 100_000;
    let isFar = false;
    odd('sendTransaction', () => (isFar ? null : SWALLOWED), true);
    for (const method of ['getEpochInfo', 'getLatestBlockhash', 'getSignatureStatuses', 'getAccountInfo'])
      odd(method, async ({ forward }) => ({ result: moved(JSON.parse(await forward()).result, AHEAD) }), true);
    odd('getEpochInfo', () => (isFar ? { result: { absoluteSlot: 50_000, blockHeight: 50_000 } } : null));
    odd('getSignatureStatuses', ({ params }) =>
      isFar ? { result: { context: { slot: 50_000 }, value: params[0].map(() => null) } } : null,
    );
    let missed = 0;
    odd(
      'getEpochInfo',
      ({ path }) => {
        if (!isFar || path !== '/sound' || missed === 3) return null;
        missed += 1;
        return { error: { code: -32005, message: 'Too many requests' } };
      },
      true,
    );
    const anchoring = await fixture.start({ ledger: client });
    const confirmed = anchoring.submit(row.id, cut, WAIT_MS);
    await until('a transaction is in flight', async () => (await stored())?.inFlight != null);
    isFar = true;
    expect(await confirmed).toMatchObject(collectionRoot(cut));
    expect((await stored())!.halted).toBeNull();
  });
});

/** Slots and heights of an answer, on a ledger that is further on. */
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
  test('halts nothing while the endpoint that knows better does not answer', async () => {
    await anchored();
    const slot = await height();
    const value = await rawAccount();
    cut = await fixture.commit(row);
    await putBack(await anchored());
    let missed = 0;
    odd('getAccountInfo', () => ({ result: { context: { slot }, value } }));
    odd(
      'getAccountInfo',
      ({ path }) => {
        if (path !== '/sound' || missed === 3) return null;
        missed += 1;
        return { error: { code: -32005, message: 'Too many requests' } };
      },
      true,
    );
    await expect(client.survey(row.id, (await stored())!)).rejects.toThrow(LedgerUnreachableError);
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 3 });
    expect(missed).toBe(3);
  });

  test.each([
    { what: 'the first endpoint', isAlone: false },
    { what: 'the only endpoint that answers, blockhashes apart', isAlone: true },
  ])('and a store of that time do not bring its root over a newer one, shown by $what', async ({ isAlone }) => {
    const older = await anchored();
    const slot = await height();
    const value = await rawAccount();
    const newer = await truth.signUpdate(row.id, { merkleRoot: 'ab'.repeat(32), version: 5, vectorCount: 9 });
    await truth.send(newer.wire);
    await until('it is there', async () => (await onLedger()).fields.version === 5);
    if (isAlone) await passBlocks(310);
    await putBack(older);
    let shown = 0;
    odd('getAccountInfo', () => {
      shown += 1;
      return { result: { context: { slot }, value } };
    });
    let isAway = isAlone;
    odd(
      'getAccountInfo',
      ({ path }) => (isAway && path === '/sound' ? { error: { code: -32005, message: 'Node is behind' } } : null),
      true,
    );
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

  test.each(['/odd', '/sound'])('does not count, be the answer of %s the last', async (last) => {
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
    const believed = { created: false, confirmed: null };
    expect(await client.survey(row.id, believed)).toMatchObject({ account: { fields: { version: 1 } } });
    expect(answered).toBe(last);
  });

  test('is nothing that verify goes by', async () => {
    await anchored();
    const other = await AnchoringFixture.open();
    const config = readConfig({
      PROVEC_DATA_DIR: other.folder,
      PROVEC_SOLANA_RPC_URLS: `${relay.url}/odd,${relay.url}/sound`,
      PROVEC_SOLANA_KEYPAIR: relay.environment.PROVEC_SOLANA_KEYPAIR,
    });
    const broker = new ServiceBroker({ logger: false });
    broker.createService(anchoringService({ config, store: other.store, clock: SYSTEM_CLOCK, log: SILENT }, null));
    await broker.start();
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value: null } }));
    const onChain = await call(broker, 'anchoring.onChain', { collectionId: row.id });
    await broker.stop();
    await other.end();
    expect(onChain).toMatchObject({ status: 'found', version: 1 });
  });

  test('is not what an operator decides about', async () => {
    await anchored();
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value: null } }));
    const anchoring = await fixture.start({ ledger: client });
    await anchoring.halt(row.id, 'A contradiction.');
    const newest = await fixture.commit(row);
    await anchoring.resume(row.id, await anchoring.shown(row.id));
    expect(await anchoring.submit(row.id, newest, WAIT_MS)).toMatchObject({ version: 2 });
  });

  test('has no transaction of that time named for a root that is adopted', async () => {
    const older = await anchored();
    const slot = await height();
    const value = await rawAccount();
    const signatures = await rpc<unknown>(relay.ledgerUrl, 'getSignaturesForAddress', [await client.address(row.id)]);
    cut = await fixture.commit(row);
    const { signature } = (await anchored()).confirmed!;
    await putBack({ ...older, wanted: cut });
    odd('getAccountInfo', () => ({ result: { context: { slot }, value } }));
    odd('getSignaturesForAddress', ({ params }) =>
      (params[1]?.minContextSlot ?? 0) > slot
        ? { error: { code: -32016, message: 'Minimum context slot has not been reached' } }
        : { result: signatures },
    );
    await fixture.start({ ledger: client });
    await until('it is adopted', async () => (await stored())!.confirmed?.version === 2);
    expect((await stored())!.confirmed!.signature).toBe(signature);
  });

  test('under another program halts nothing, and a deleted collection is closed all the same', async () => {
    await anchored();
    const value = { ...(await rawAccount()), data: ['', 'base64'] };
    odd('getAccountInfo', () => ({ result: { context: { slot: 1 }, value } }));
    const anchoring = await fixture.start({ ledger: client });
    expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toMatchObject({ version: 2 });
    let lone = 0;
    odd(
      'getAccountInfo',
      () => {
        lone += 1;
        return lone > 4 ? null : { result: { context: { slot: 1_000_000_000 }, value } };
      },
      true,
    );
    await anchoring.close(row.id);
    await until('the row is forgotten', async () => (await stored()) === null);
    expect(await truth.read(row.id)).toEqual({ status: 'absent' });
  });
});
