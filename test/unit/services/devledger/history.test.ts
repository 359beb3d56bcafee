/** Answers of the embedded ledger about its past, compared with what was done on it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { address, generateKeyPairSigner, getTransactionDecoder } from '@solana/web3.js';
import * as litesvm from 'litesvm';
import { Faucet } from '../../../../services/devledger/faucet.ts';
import { Journal } from '../../../../services/devledger/journal.ts';
import { Ledger } from '../../../../services/devledger/ledger.ts';
import type { TransactionHistory } from '../../../../services/devledger/transaction-history.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import { AnchoringFixture, rpc } from '../anchoring/fixture.ts';

const WAIT_MS = 60_000;
const SOL = 1_000_000_000;
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';

interface Listed {
  signature: string;
  slot: number;
  err: unknown;
  blockTime: number;
}
interface Instruction {
  programIdIndex: number;
  accounts: number[];
  data: string;
}
interface Transaction {
  slot: number;
  blockTime: number;
  version?: 'legacy' | 0;
  meta: { err: unknown; fee: number; preBalances: number[]; postBalances: number[]; logMessages: string[] };
  transaction: {
    signatures: string[];
    message: { accountKeys: string[]; instructions: Instruction[]; recentBlockhash: string };
  };
}
interface Block {
  blockhash: string;
  previousBlockhash: string;
  parentSlot: number;
  blockTime: number | null;
  transactions: Transaction[];
}

let fixture: AnchoringFixture;
let row: CollectionRow;
let mint: string;
let startedSeconds: number;
/** Signatures of three roots, oldest first. */
const roots: string[] = [];

const ask = <T>(method: string, ...params: unknown[]) => rpc<T>(fixture.devLedger.url, method, params);
const listed = (options = {}) => ask<Listed[]>('getSignaturesForAddress', mint, options);
const signaturesOf = (list: readonly { signature: string }[]) => list.map(({ signature }) => signature);

beforeAll(async () => {
  startedSeconds = Math.floor(Date.now() / 1000);
  fixture = await AnchoringFixture.open();
  row = await fixture.collection();
  mint = await fixture.client.address(row.id);
  const anchoring = await fixture.start();
  for (let count = 0; count < 3; count++)
    roots.push((await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS))!.signature);
  await anchoring.stop();
});
afterAll(() => fixture.end());

describe.each([
  ['as it was executed', async () => undefined],
  ['after the process was killed', () => fixture.killLedger()],
])('%s', (_, before) => {
  beforeAll(before);

  test('an address has its transactions, newest first, in pages', async () => {
    const all = await listed();
    const [create, ...others] = all.toReversed();
    expect(signaturesOf(others)).toEqual(roots);
    expect(create).toMatchObject({ err: null, memo: null, confirmationStatus: 'finalized' });
    expect(all.map(({ slot }) => slot)).toEqual(all.map(({ slot }) => slot).toSorted((a, b) => b - a));
    expect(await listed({ limit: 2 })).toEqual(all.slice(0, 2));
    expect(await listed({ limit: 2, before: roots[2] })).toEqual(all.slice(1, 3));
    expect(await listed({ before: roots[2], until: create!.signature })).toEqual(all.slice(1, 3));
    expect(await listed({ until: roots[2] })).toEqual([]);
    expect(await listed({ before: '1'.repeat(64) })).toEqual([]);
    expect(await ask('getSignaturesForAddress', (await generateKeyPairSigner()).address)).toEqual([]);
    const ofAuthority = await ask<Listed[]>('getSignaturesForAddress', fixture.client.authority);
    // Also contains the airdrop.
    expect(signaturesOf(ofAuthority).slice(0, -1)).toEqual(signaturesOf(all));
  });

  test('a transaction has its bytes, its place, and its effects', async () => {
    type Wire = { slot: number; transaction: [string, string]; version?: unknown };
    const wire = await ask<Wire>('getTransaction', roots[1], 'base64');
    expect([wire.transaction[1], wire.version]).toEqual(['base64', undefined]);
    const { signatures } = getTransactionDecoder().decode(Buffer.from(wire.transaction[0], 'base64'));
    expect(Object.keys(signatures)).toEqual([fixture.client.authority]);

    const options = { encoding: 'json', maxSupportedTransactionVersion: 0, commitment: 'finalized' };
    const whole = await ask<Transaction>('getTransaction', roots[1], options);
    const { message } = whole.transaction;
    expect(whole).toMatchObject({ slot: wire.slot, version: 'legacy', meta: { err: null, fee: 5_000 } });
    expect(whole.blockTime).toBeGreaterThanOrEqual(startedSeconds);
    expect(whole.blockTime).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
    expect(whole.transaction.signatures).toEqual([roots[1]]);
    expect(message.accountKeys).toContain(mint);
    const programs = message.instructions.map(({ programIdIndex }) => message.accountKeys[programIdIndex]);
    expect(programs.slice(-4)).toEqual(Array(4).fill(TOKEN_2022));
    expect(whole.meta.preBalances[0]! - whole.meta.postBalances[0]!).toBe(5_000);
    expect(whole.meta.logMessages).toContain(`Program ${TOKEN_2022} success`);
    expect(await ask('getTransaction', roots[1])).toMatchObject({ transaction: whole.transaction });

    type Parsed = { accountKeys: object[]; instructions: { programId: string; accounts: string[] }[] };
    const parsed = await ask<{ transaction: { message: Parsed } }>('getTransaction', roots[1], 'jsonParsed');
    expect(parsed.transaction.message.accountKeys).toContainEqual({
      pubkey: mint,
      signer: false,
      writable: true,
      source: 'transaction',
    });
    expect(parsed.transaction.message.instructions.at(-1)).toMatchObject({
      programId: TOKEN_2022,
      accounts: [mint, fixture.client.authority],
    });
    expect(await ask('getTransaction', '1'.repeat(64))).toBeNull();
  });

  test('a block has the transaction of its slot, and blocks form a chain', async () => {
    const [newest] = await listed({ limit: 1 });
    const { slot, blockTime, signature } = newest!;
    const block = await ask<Block>('getBlock', slot, { maxSupportedTransactionVersion: 0 });
    expect(block).toMatchObject({ parentSlot: slot - 1, blockHeight: slot, blockTime, rewards: [] });
    expect(block.transactions.map(({ transaction }) => transaction.signatures)).toEqual([[signature]]);
    const parent = await ask<Block>('getBlock', slot - 1);
    expect(parent.blockhash).toBe(block.previousBlockhash);
    expect(await ask('getBlock', slot, { transactionDetails: 'signatures', rewards: false })).toMatchObject({
      signatures: [signature],
    });
    expect(await ask('getBlockTime', slot)).toBe(blockTime);
    const { message } = block.transactions[0]!.transaction;
    const first = await ask<number>('getFirstAvailableBlock');
    const older = Array.from({ length: slot - first }, (_, at) => first + at);
    const blocks = await Promise.all(older.map((each) => ask<Block>('getBlock', each)));
    expect(blocks.map(({ blockhash }) => blockhash)).toContain(message.recentBlockhash);
  });

  test('a block that does not exist yet, or before the first one, is refused as by a validator', async () => {
    const height = await ask<number>('getBlockHeight');
    const first = await ask<number>('getFirstAvailableBlock');
    await expect(ask('getBlock', height + 1_000)).rejects.toThrow(/^Block not available for slot/);
    for (const method of ['getBlock', 'getBlockTime'])
      await expect(ask(method, first - 1)).rejects.toThrow(/cleaned up, does not exist on node. First available block/);
    expect(await ask('getBlock', first)).toMatchObject({ transactions: [], blockTime: null });
  });

  test('the account is shown parsed, with its root', async () => {
    type Info = { extensions: { extension: string; state: { additionalMetadata?: [string, string][] } }[] };
    type Account = { value: { owner: string; data: { parsed: { type: string; info: Info } } } };
    const { value } = await ask<Account>('getAccountInfo', mint, { encoding: 'jsonParsed' });
    const { type, info } = value.data.parsed;
    expect([value.owner, type]).toEqual([TOKEN_2022, 'mint']);
    const names = info.extensions.map(({ extension }) => extension);
    expect(names.toSorted()).toEqual(['metadataPointer', 'mintCloseAuthority', 'tokenMetadata']);
    const fields = Object.fromEntries(info.extensions.flatMap(({ state }) => state.additionalMetadata ?? []));
    expect(fields).toMatchObject({
      merkleRoot: (await fixture.onChain(row))!.merkleRoot,
      version: '3'.padStart(20, '0'),
    });
    const absent = (await generateKeyPairSigner()).address;
    const both = await ask<{ value: unknown[] }>('getMultipleAccounts', [mint, absent], {
      encoding: 'jsonParsed',
    });
    expect(both.value).toEqual([value, null]);
  });
});

describe('past its bound', () => {
  const KEPT = 20;

  test('the oldest transactions are forgotten, in memory and on disk, and the newest stay', async () => {
    const { journal } = Journal.open(fixture.folder);
    const first = new Ledger(litesvm, journal, [], { replaceAfterBytes: 20_000, transactionsKept: KEPT });
    const wallet = (await generateKeyPairSigner()).address;
    const signatures = Array.from({ length: 3 * KEPT }, () => first.airdrop(wallet, SOL));
    const newest = signatures.slice(-KEPT);
    journal.close();
    const opened = Journal.open(fixture.folder);
    const second = new Ledger(litesvm, opened.journal, opened.lines, { transactionsKept: KEPT });
    opened.journal.close();
    for (const { history } of [first, second]) {
      const kept = history.of(wallet, { limit: 1_000 });
      expect(kept.map(({ signature }) => signature)).toEqual(newest.toReversed());
      expect(history.size).toBe(KEPT);
      expect(history.get(signatures[0]!)).toBeNull();
      expect(history.firstSlot).toBe(kept.at(-1)!.slot);
      expect(history.at(kept[0]!.slot)).toBe(kept[0]);
      expect(history.at(history.firstSlot - 1)).toBeNull();
    }
    expect(opened.lines.length).toBeLessThan(3 * KEPT + 4);
    expect(second.account(address(wallet))!.lamports).toBe(String(3 * KEPT * SOL));
  });

  test.each([
    ['before it sends', true],
    ['later', false],
  ])('transactions of a payer named %s outlast those of others', async (_, isNamedFirst) => {
    const folder = await mkdtemp(join(tmpdir(), 'provec-history-'));
    const { journal } = Journal.open(folder);
    const first = new Ledger(litesvm, journal, [], { replaceAfterBytes: 20_000, transactionsKept: KEPT });
    const payer = new Faucet('a wallet');
    const wallet = (await generateKeyPairSigner()).address;
    first.airdrop(payer.address, 100 * SOL);
    if (isNamedFirst) first.keepOf(payer.address);
    const pay = (lamports: number) => first.send(payer.transfer(wallet, lamports, first.blocks.latestBlockhash));
    const own = Array.from({ length: 3 }, (_, at) => pay(SOL + at));
    if (!isNamedFirst) first.keepOf(payer.address);
    for (let sent = 0; sent < 2 * KEPT; sent++) first.airdrop(wallet, SOL);
    journal.close();
    const opened = Journal.open(folder);
    const second = new Ledger(litesvm, opened.journal, opened.lines, { transactionsKept: KEPT });
    const of = (history: TransactionHistory) => history.of(payer.address, { limit: 1_000 });
    for (const { history } of [first, second]) {
      expect(signaturesOf(of(history))).toEqual(own.toReversed());
      for (const { slot, signature } of of(history)) expect(history.at(slot)!.signature).toBe(signature);
      expect(history.size).toBe(KEPT + own.length);
      expect(history.firstSlot).toBeGreaterThan(of(history)[0]!.slot);
    }
    // They have a bound, too.
    for (let sent = 0; sent < KEPT; sent++) second.send(payer.transfer(wallet, SOL, second.blocks.latestBlockhash));
    expect(second.history.get(own[0]!)).toBeNull();
    expect(of(second.history)).toHaveLength(KEPT);
    opened.journal.close();
    await rm(folder, { recursive: true });
  });
});
