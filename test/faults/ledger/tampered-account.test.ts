import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getBase58Encoder } from '@solana/web3.js';
import type { CollectionDetail } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { encodeLine, type JournalLine } from '../../../services/devledger/journal.ts';
import type { KeptAccount } from '../../../services/devledger/ledger-state.ts';
import { EmbeddedLedger } from '../../support/embedded-ledger.ts';
import { startService, type TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const STRANGER = 'Sysvar1111111111111111111111111111111111111';
const SYSTEM_PROGRAM = '1'.repeat(32);

/** The anchor, as text in the account. */
interface Anchored {
  merkleRoot: string;
  version: number;
  authority: string;
}
const digits = (value: number) => String(value).padStart(20, '0');
const replaced = (account: KeptAccount, from: Buffer, to: Buffer): KeptAccount => {
  const data = Buffer.from(account.data, 'base64');
  let places = 0;
  for (let at = data.indexOf(from); at >= 0; at = data.indexOf(from, at + from.length)) {
    to.copy(data, at);
    places += 1;
  }
  expect(places).toBeGreaterThan(0);
  return { ...account, data: data.toString('base64') };
};
const text = (account: KeptAccount, from: string, to: string) => replaced(account, Buffer.from(from), Buffer.from(to));
const address = (base58: string) => Buffer.from(getBase58Encoder().encode(base58));

const TAMPERINGS: Record<string, (account: KeptAccount, anchored: Anchored) => KeptAccount> = {
  'another-root': (account, { merkleRoot }) => text(account, merkleRoot, 'ab'.repeat(32)),
  'a-root-of-zeros': (account, { merkleRoot }) => text(account, merkleRoot, '0'.repeat(64)),
  'no-hex': (account, { merkleRoot }) => text(account, merkleRoot, 'x'.repeat(64)),
  'a-newer-version': (account, { version }) => text(account, digits(version), digits(version + 5)),
  'an-older-version': (account, { version }) => text(account, digits(version), digits(version - 1)),
  'another-count': (account) =>
    text(account, `vectorCount\u0014\u0000\u0000\u0000${digits(2)}`, `vectorCount\u0014\u0000\u0000\u0000${digits(3)}`),
  'another-authority': (account, { authority }) => replaced(account, address(authority), address(STRANGER)),
  'another-program': (account) => ({ ...account, owner: SYSTEM_PROGRAM }),
  'no-data': (account) => ({ ...account, data: '' }),
  'no-account': (account) => ({ ...account, lamports: '0', data: '' }),
};
const NAMES = Object.keys(TAMPERINGS);

let service: TestService;
let ledger: EmbeddedLedger;
const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;
const roots = new Map<string, string>();
const anchorOf = async (name: string) =>
  (await service.api<{ collection: CollectionDetail }>('GET', `/collections/${name}`)).body.collection.anchor;
const upsert = (name: string, id: string) =>
  service.api('POST', `/collections/${name}/upsert`, { records: [{ id, values: [1, 2], metadata: {} }] });

/** Changes accounts in the ledger's own files. */
function editJournal(change: (account: KeptAccount) => KeptAccount): void {
  const path = join(ledger.folder, 'journal.ndjson');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const last = new Map<string, number>();
  const parsed = lines.map((line) => JSON.parse(line.slice(9)) as JournalLine);
  parsed.forEach((line, at) => {
    if (line.kind === 'account') last.set(line.account.address, at);
    if (line.kind === 'transaction') for (const account of line.accounts) last.set(account.address, at);
  });
  const edited = parsed.map((line, at): JournalLine => {
    const isLast = (account: KeptAccount) => last.get(account.address) === at;
    const of = (account: KeptAccount) => (isLast(account) ? change(account) : account);
    if (line.kind === 'account') return { ...line, account: of(line.account) };
    return line.kind === 'transaction' ? { ...line, accounts: line.accounts.map(of) } : line;
  });
  writeFileSync(path, edited.map(encodeLine).join(''));
}

beforeAll(async () => {
  service = await startService({ PROVEC_ANCHOR_WAIT_MS: '500' });
  ledger = new EmbeddedLedger(service);
  const { authority } = await ledger.client();
  const anchored = new Map<string, Anchored & { name: string }>();
  const fill = async (name: string): Promise<void> => {
    await service.api('POST', '/collections', { name, dimensions: 2 });
    for (const id of ['a', 'b']) await upsert(name, id);
    const { onChainRoot, anchoredVersion, ledgerAddress } = await until(`${name} is anchored`, async () => {
      const verdict = await verify(name);
      return verdict.state === 'match' && verdict;
    });
    roots.set(name, onChainRoot!);
    anchored.set(ledgerAddress!, { name, merkleRoot: onChainRoot!, version: anchoredVersion!, authority });
  };
  await Promise.all([...NAMES, 'untouched'].map(fill));
  await service.provec.stop();
  editJournal((account) => {
    const found = anchored.get(account.address);
    return found && found.name !== 'untouched' ? TAMPERINGS[found.name]!(account, found) : account;
  });
  await service.restart();
});
afterAll(() => service.stop());

/** Answers to each of two verifications and the write after it. */
const answers = new Map<string, { verified: unknown; written: unknown }[]>();

/** Asks about all collections at once, because each verification waits for RPC nodes that lag. */
beforeAll(async () => {
  const ask = async (name: string): Promise<void> => {
    const both = [];
    for (const id of ['c', 'd']) both.push({ verified: await verify(name), written: await upsert(name, id) });
    answers.set(name, both);
  };
  await Promise.all(NAMES.map(ask));
});

describe.each(NAMES)('%s', (name) => {
  test('is a mismatch, before and after writes', () => {
    const answer = {
      verified: { state: 'mismatch', verified: false, reason: expect.stringMatching(/^[A-Z].*\.$/) },
      written: { status: 200, body: { upsertedCount: 1, ledgerTx: null, anchor: { status: 'pending' } } },
    };
    expect(answers.get(name)).toMatchObject([answer, answer]);
  });

  test('is reported as halted, with the last confirmed root', async () => {
    await until('it says so', async () => (await anchorOf(name)).status === 'halted');
    expect(await anchorOf(name)).toMatchObject({
      version: 2,
      merkleRoot: roots.get(name),
      ledgerTx: expect.any(String),
    });
  });
});

test('other collections are anchored as before', async () => {
  expect(await verify('untouched')).toMatchObject({ state: 'match', verified: true });
  expect(await upsert('untouched', 'c')).toMatchObject({ status: 200 });
  await until('the write is anchored', async () => (await verify('untouched')).state === 'match');
  expect(await verify('untouched')).toMatchObject({ state: 'match', vectorCount: 3 });
  expect(await anchorOf('untouched')).toMatchObject({ status: 'confirmed', version: 3 });
});

test('after another restart each is unchanged', async () => {
  await service.restart();
  const expectSame = async (name: string): Promise<void> => {
    expect(await verify(name)).toMatchObject({ state: 'mismatch', verified: false });
    expect(await anchorOf(name)).toMatchObject({ status: 'halted' });
  };
  await Promise.all(NAMES.map(expectSame));
  expect(await verify('untouched')).toMatchObject({ state: 'match' });
});
