/**
 * Two endpoints of one ledger, `/odd`, which is asked first, and `/sound`, with a new collection
 * per test. Importing this file registers its hooks.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Cut } from '../../../../../lib/shard/head.ts';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { openAuthority } from '../../../../../services/anchoring/ledger/authority.ts';
import { LedgerClient } from '../../../../../services/anchoring/ledger/ledger-client.ts';
import { RpcPool } from '../../../../../services/anchoring/ledger/rpc-pool.ts';
import type { AnchorRow } from '../../../../../store/anchors.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import { LedgerRelay } from '../../../../support/ledger-relay.ts';
import { AnchoringFixture, rpc, SILENT } from '../fixture.ts';

export const WAIT_MS = 30_000;
const monotonicMs = () => SYSTEM_CLOCK.monotonicMs();

export let fixture: AnchoringFixture;
export let relay: LedgerRelay;
export let truth: LedgerClient;
export let client: LedgerClient;
export let row: CollectionRow;
export let cut: Cut;

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
  relay.rewrite = null;
  await fixture.stop();
});
afterAll(async () => {
  await fixture.end();
  await relay.close();
});

export async function newClient(
  paths: readonly string[] = ['/odd', '/sound'],
  now = monotonicMs,
): Promise<LedgerClient> {
  const urls = paths.map((path) => relay.url + path);
  const authority = await openAuthority(relay.environment.PROVEC_SOLANA_KEYPAIR!, false, SILENT);
  return new LedgerClient(new RpcPool({ embedded: true, urls: () => urls }, now), authority, now);
}
export const stored = () => fixture.store.anchors.get(row.id);
export const onLedger = async () => (await truth.read(row.id)) as { status: string; fields: { version: number } };
export const height = () => rpc<number>(relay.ledgerUrl, 'getBlockHeight');
export async function passBlocks(blocks: number): Promise<void> {
  for (let each = 0; each < blocks; each++) await rpc(relay.ledgerUrl, 'requestAirdrop', [client.authority, 1]);
}
export async function rawAccount(): Promise<Record<string, unknown> | null> {
  const asked = [await client.address(row.id), { encoding: 'base64' }];
  return (await rpc<{ value: Record<string, unknown> | null }>(relay.ledgerUrl, 'getAccountInfo', asked)).value;
}
/** Anchors the collection's first root, or another one. */
export async function anchored(newest = cut): Promise<AnchorRow> {
  const anchoring = await fixture.start({ ledger: client });
  await anchoring.submit(row.id, newest, WAIT_MS);
  await anchoring.stop();
  return (await stored())!;
}
/** Restores an older row as an attacker would. */
export async function putBack(older: AnchorRow): Promise<void> {
  const { revision, epoch } = (await stored())!;
  await fixture.store.anchors.put({ ...older, revision: revision + 1, epoch: epoch + 1 });
}

/** Captures the collection's current account, to return it later. */
export async function shownNow(): Promise<() => Part> {
  const slot = await height();
  const value = await rawAccount();
  return () => ({ result: { context: { slot }, value } });
}

type Params = [string[] & string, { minContextSlot?: number }?];
export type Part = { result: unknown } | { error: { code: number; message: string; data?: unknown } };
interface Asked {
  params: Params;
  path: string;
  forward(): Promise<string>;
}
/** Replaces the odd endpoint's response to one method; null keeps the response. */
export function odd(
  method: string,
  answer: (asked: Asked) => Part | null | Promise<Part | null>,
  everywhere = false,
): void {
  const before = relay.intercept;
  relay.intercept = async (passing) => {
    const asked = JSON.parse(passing.asked) as { id: unknown; method: string; params: Params };
    const isMeant = asked.method === method && (everywhere || passing.path === '/odd');
    const part = isMeant ? await answer({ ...passing, params: asked.params }) : null;
    if (part !== null) return JSON.stringify({ jsonrpc: '2.0', id: asked.id, ...part });
    return before?.(passing) ?? passing.forward();
  };
}

/** Makes the sound endpoint refuse a method while `isAway` returns true. */
export function away(method: string, isAway: () => boolean): void {
  const error = { code: -32005, message: 'Too many requests' };
  odd(method, ({ path }) => (path === '/sound' && isAway() ? { error } : null), true);
}
