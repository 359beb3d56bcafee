/**
 * Compares a Python verifier with client/verify, with which it shares no code: both must accept and
 * refuse the same proofs.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { getAddressDecoder } from '@solana/web3.js';
import fc from 'fast-check';
import {
  collectionAddress,
  type RecordProof,
  VerificationError,
  verifyAccount,
  verifyProof,
  verifyTransaction,
} from '../../client/index.ts';
import { canonicalJson } from '../../client/verify/canonical-json.ts';
import { metaHashOf, vecHashOf } from '../../client/verify/content-hash.ts';
import { parseJson } from '../../lib/json/text.ts';
import { FORGERIES } from '../support/forged-proofs.ts';
import { FormatPage } from '../support/format-page.ts';
import { randomFrom } from '../support/random.ts';
import { REFUSED_ACCOUNTS } from '../support/refused-accounts.ts';
import { type Attempt, REFUSED_PROOFS } from '../support/refused-proofs.ts';
import {
  type HonestTransaction,
  MESSAGE_AT,
  REFUSED_TRANSACTIONS,
  signed,
  type TransactionAttempt,
} from '../support/refused-transactions.ts';
import { seed } from '../support/seed.ts';
import { SIGNATURES } from '../support/signatures.ts';
import {
  EXAMPLE_COLLECTION,
  type ExampleAccount,
  exampleOnLedger,
  GOLDEN_SETS,
  honestProofs,
  honestTransaction,
} from '../unit/client/format-example.ts';
import { ProvingCollection } from '../unit/lib/merkle/collection.ts';
import { AwkwardJson } from './awkward-json.ts';
import type { PythonAnswer, Request } from './python.ts';

const page = FormatPage.read();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The client's result in the other verifier's terms; the reasons differ. */
function clientOn(attempt: () => unknown): { is: unknown } | 'refused' | 'error' {
  try {
    return { is: attempt() };
  } catch (error) {
    return error instanceof VerificationError ? 'refused' : 'error';
  }
}

const outcome = (answer: PythonAnswer) => ('is' in answer ? answer : 'refused' in answer ? 'refused' : 'error');

const requestOf = ({ proof, root, id, record }: Attempt): Request => ({
  of: 'proof',
  proof: JSON.stringify(proof),
  known: { id, merkleRoot: root },
  record: record && JSON.stringify({ id, values: record.values, metadata: record.metadata }),
});

const transactionRequest = ({ transaction, expected }: TransactionAttempt): Request => ({
  of: 'transaction',
  transaction: JSON.stringify(transaction),
  authority: expected.authority,
  collection: expected.collectionId,
  signature: expected.signature,
  root: expected.merkleRoot,
  version: expected.version,
});

const clientOnProof = ({ proof, root, id, record }: Attempt) =>
  clientOn(() => verifyProof(root, JSON.parse(JSON.stringify(proof)) as RecordProof, { ...record, id }));

export type Ask = (requests: readonly Request[]) => Promise<PythonAnswer[]>;

/** The tests of one verifier, called through `ask`. */
export function verifierBattery(ask: Ask): void {
  describe('proofs', () => proofs(ask));
  describe('content', () => content(ask));
  describe('the ledger', () => ledger(ask));
}

function proofs(ask: Ask): void {
  test('each row of the page is refused', async () => {
    const attempts = honestProofs(page).flatMap((honest) =>
      Object.values(REFUSED_PROOFS).flatMap((make) => make(honest)),
    );
    const answers = await ask(attempts.map(requestOf));
    answers.forEach((answer, at) => {
      expect([attempts[at], answer]).toEqual([attempts[at], { refused: expect.any(String) }]);
    });
    console.log(`${attempts.length} refused`);
  });

  test('golden proofs hold, with their own records only', async () => {
    const attempts = GOLDEN_SETS.flatMap(({ records, proofs, root }) => {
      const collection = new ProvingCollection(3, records);
      return Object.keys(proofs).flatMap((id): Attempt[] => {
        const proof = collection.prove(id);
        return [undefined, ...records].map((record) => ({ proof, root, id, record }));
      });
    });
    const answers = await ask(attempts.map(requestOf));
    const held = answers.filter((answer, at) => {
      expect([attempts[at], outcome(answer)]).toEqual([attempts[at], clientOnProof(attempts[at]!)]);
      return 'is' in answer;
    });
    const proofs = GOLDEN_SETS.flatMap((set) => Object.values(set.proofs));
    expect(held).toHaveLength(proofs.length + proofs.filter(({ present }) => present).length);
  });

  test('both accept or refuse forged proofs alike', async () => {
    const random = new AwkwardJson(randomFrom(seed));
    const attempts: Attempt[] = [];
    while (attempts.length < 20_000) {
      const ids = [...new Set(Array.from({ length: random.below(60) }, () => `x${random.text(8)}`))];
      const collection = new ProvingCollection(
        random.below(4),
        ids.map((id, at) => ({ id, values: [at, 1], metadata: { at } })),
      );
      for (const id of [...ids.slice(0, 10), 'nobody', 'other']) {
        const proof = collection.prove(id);
        const root = proof.merkleRoot;
        attempts.push({ proof, root, id }, { proof: { ...collection.prove('somebody'), id }, root, id });
        for (const forge of Object.values(FORGERIES)) {
          const hash = random.below(2) === 0 ? 'ab'.repeat(32) : '0'.repeat(64);
          const draw = { at: random.below(1_000), other: random.below(1_000), bit: random.below(256), hash };
          attempts.push({ proof: forge(proof, draw), root, id });
        }
      }
    }
    const answers = await ask(attempts.map(requestOf));
    const refused = answers.filter((answer, at) => {
      expect([attempts[at], outcome(answer)]).toEqual([attempts[at], clientOnProof(attempts[at]!)]);
      return 'refused' in answer;
    });
    console.log(`${attempts.length} proofs, ${refused.length} refused by both`);
    expect(refused.length).toBeGreaterThan(attempts.length / 2);
  });
}

function content(ask: Ask): void {
  test('canonical JSON of numbers, texts and objects', async () => {
    const random = new AwkwardJson(randomFrom(seed));
    const everyUnit = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit)).filter((char) =>
      char.isWellFormed(),
    );
    const texts = [
      ...Array.from({ length: 60_000 }, () => random.number()),
      ...Array.from({ length: 5_000 }, () => random.object()),
      ...Array.from({ length: 2_046 }, (_, at) => [`1e${at - 1_022}`, `${2 ** (at - 1_022)}`]).flat(),
      JSON.stringify(everyUnit.join('')),
      JSON.stringify(Object.fromEntries(everyUnit.map((char) => [char, 1]))),
      ...fc.sample(fc.json({ stringUnit: 'binary', maxDepth: 6 }), { seed, numRuns: 3_000 }),
    ];
    const answers = await ask(texts.map((text) => ({ of: 'canonical', text })));
    answers.forEach((answer, at) => {
      expect([texts[at], outcome(answer)]).toEqual([texts[at], clientOn(() => canonicalJson(parseJson(texts[at]!)))]);
    });
    console.log(`${texts.length} texts`);
  });

  test('hashes of values and metadata, and invalid records', async () => {
    const random = new AwkwardJson(randomFrom(seed));
    const values = Array.from({ length: 20_000 }, () => `[${random.value()}, ${random.value()}]`);
    const others = [
      ...['3.4028235677973366e38', '1e39', '-1e400', '"1"', 'null', 'true', '[1]', '{}'].map((value) => `[${value}]`),
      ...['[]', '{}', 'null', '"1"', '1'],
    ];
    const metadata = [
      ...Array.from({ length: 3_000 }, () => random.object()),
      'null',
      '[]',
      '1',
      '"x"',
      '{"a": 1e400}',
      '{"\\ud800": 1}',
      '["\\udc00"]',
    ];
    const records = [
      ...[...values, ...others].map((list) => `{"id": "x", "values": ${list}}`),
      ...metadata.map((object) => `{"id": "x", "values": [1], "metadata": ${object}}`),
    ];
    const answers = await ask(records.map((record) => ({ of: 'content', record })));
    answers.forEach((answer, at) => {
      const record = parseJson(records[at]!) as { values: number[]; metadata?: object };
      const found = clientOn(() => contentOf(record));
      expect([records[at], outcome(answer)]).toEqual([records[at], found]);
    });
    expect(answers.filter((answer) => 'error' in answer).length).toBeGreaterThan(15);
    console.log(`${records.length} records`);
  });

  /** Hashes the expected content as `verifyProof` does. */
  function contentOf({ values, metadata = {} }: { values: number[]; metadata?: object }): string[] {
    const isObject = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
    if (!Array.isArray(values) || values.length === 0 || !isObject) throw new TypeError('no record');
    return [hex(vecHashOf(values)), hex(metaHashOf(metadata))];
  }
}

function ledger(ask: Ask): void {
  let account: ExampleAccount;
  let authority: string;
  let honest: HonestTransaction;
  beforeAll(async () => {
    const example = await exampleOnLedger();
    ({ account, authority } = example);
    honest = honestTransaction(example);
  });

  test('transactions: each row of the page is refused', async () => {
    const attempts = Object.values(REFUSED_TRANSACTIONS).flatMap((make) => make(honest));
    const answers = await ask(attempts.map(transactionRequest));
    answers.forEach((answer, at) => {
      expect([attempts[at], answer]).toEqual([attempts[at], { refused: expect.any(String) }]);
    });
    console.log(`${attempts.length} transactions refused`);
  });

  test('transactions: both accept or refuse them alike, with every byte changed', async () => {
    const { transaction } = honest;
    const message = Buffer.from(transaction.transaction[0], 'base64').subarray(MESSAGE_AT);
    const changed = Array.from(message, (byte, at) =>
      [1, 0x80, 0xff].map((mask) => signed(honest, Buffer.from(message).fill(byte ^ mask, at, at + 1))),
    );
    const untimed = [null, undefined, 0, 253_402_300_799].map((blockTime) => ({
      ...honest,
      transaction: { ...transaction, blockTime },
    }));
    const attempts: TransactionAttempt[] = [honest, ...untimed, ...changed.flat()];
    const answers = await ask(attempts.map(transactionRequest));
    answers.forEach((answer, at) => {
      const { transaction: sent, expected } = attempts[at]!;
      const found = clientOn(() => {
        const { anchoredAt, slot } = verifyTransaction(JSON.parse(JSON.stringify(sent)), expected);
        return anchoredAt ?? `in slot ${slot}`;
      });
      expect([at, outcome(answer)]).toEqual([at, found]);
    });
    const held = answers.filter((answer) => 'is' in answer).length;
    // The blockhash and the transaction's fee settings do not affect the root.
    expect(held).toBeGreaterThan(32 * 3);
    console.log(`${attempts.length} transactions, ${attempts.length - held} refused by both`);
  });

  test('signatures, as the ledger accepts them', async () => {
    const answers = await ask(
      SIGNATURES.map(({ publicKey, signature, message }) => ({ of: 'signature', publicKey, signature, message })),
    );
    answers.forEach((answer, at) => {
      expect([SIGNATURES[at], answer]).toEqual([SIGNATURES[at], { is: SIGNATURES[at]!.isSigned }]);
    });
  });

  test('addresses', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((each) => each.fill(0, 0, 4)),
    );
    const drawn = fc.sample(fc.tuple(bytes, fc.uuid()), { seed, numRuns: 2_000 });
    const pairs = drawn.map(([key, collection]) => ({
      authority: getAddressDecoder().decode(key) as string,
      collection,
    }));
    const first = pairs[0]!;
    const none = [
      '',
      '1',
      `1${first.authority}`,
      first.authority.slice(1),
      'O'.repeat(32),
      'z'.repeat(44),
      'z'.repeat(500),
    ];
    pairs.push(...none.map((each) => ({ ...first, authority: each })));
    pairs.push(
      ...['', first.collection.toUpperCase(), `${first.collection}\n`].map((each) => ({ ...first, collection: each })),
    );
    const answers = await ask(pairs.map((pair) => ({ of: 'address', ...pair })));
    answers.forEach((answer, at) => {
      const { authority: base, collection } = pairs[at]!;
      const found = clientOn(() => collectionAddress(base, collection));
      // One verifier refuses what the other calls an invalid argument.
      expect([pairs[at], outcome(answer)]).toEqual([pairs[at], found === 'refused' ? 'error' : found]);
    });
  });

  test('accounts: each row of the page, every byte changed, truncated anywhere', async () => {
    const { data, owner, address } = account;
    const changed = Array.from(data, (byte, at) =>
      [1, 0x80, 0xff].map((mask) => Uint8Array.from(data).fill(byte ^ mask, at, at + 1)),
    );
    const cut = Array.from(data, (_, length) => data.subarray(0, length));
    const longer = [[0], [0, 0, 0, 0, 0], [1, 0, 2, 0, 7, 7], [255, 255, 0, 0, 0]].map((end) =>
      Buffer.concat([data, Buffer.from(end)]),
    );
    const rows = Object.entries(REFUSED_ACCOUNTS).filter(([row]) => row !== 'A1');
    const accounts = [
      account,
      ...rows.flatMap(([, make]) => make(account)),
      ...[...changed.flat(), ...cut, ...longer].map((each) => ({ address, owner, data: each })),
    ];
    const collection = EXAMPLE_COLLECTION;
    const answers = await ask(
      accounts.map((each) => ({
        of: 'account',
        owner: each.owner,
        data: Buffer.from(each.data).toString('base64'),
        authority,
        collection,
      })),
    );
    answers.forEach((answer, at) => {
      const found = clientOn(() => {
        const { merkleRoot, version, vectorCount, decisions } = verifyAccount(accounts[at]!, {
          authority,
          collectionId: collection,
        });
        return [merkleRoot, version, vectorCount, decisions];
      });
      expect([at, outcome(answer)]).toEqual([at, found]);
    });
    console.log(
      `${accounts.length} accounts, ${answers.filter((answer) => 'refused' in answer).length} refused by both`,
    );
  });
}
