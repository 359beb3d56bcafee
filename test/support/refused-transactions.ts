import {
  getBase58Decoder,
  getBase58Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/web3.js';
import type { ExpectedAnchor } from '../../client/index.ts';
import { LedgerKey } from './ledger-key.ts';

/** A node's response to getTransaction, and the anchor that the transaction must have written. */
export interface TransactionAttempt {
  transaction: unknown;
  expected: ExpectedAnchor;
}

interface Answer {
  slot: number;
  blockTime: number;
  meta: { err: null; innerInstructions: [] };
  transaction: [string, 'base64'];
}

/** A valid response, and the material for forgeries. */
export interface HonestTransaction extends TransactionAttempt {
  transaction: Answer;
  /** Address of the collection's account. */
  mint: string;
  /** The authority's. */
  key: LedgerKey;
}

interface Instruction {
  program: number;
  accounts: number[];
  data: Buffer;
}

/** The parts of a transaction, each of which a forger can change. */
interface Parts {
  /** What stands in front of the header, as in versions other than the first. */
  prefix: Buffer;
  header: [number, number, number];
  addresses: string[];
  blockhash: Buffer;
  instructions: Instruction[];
  suffix: Buffer;
}

/** Changed parts; without signatures the transaction gets the one that is right for it. */
type Change = Partial<Parts> & { signatures?: Buffer[] };

const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
/** Programs other than the right one, which would take the same or other instructions. */
const OTHER_PROGRAMS = [
  '11111111111111111111111111111111',
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEc',
];
/** RFC 8032, 7.1, test 2. */
const STRANGER_KEY = new LedgerKey('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb');
const STRANGER = STRANGER_KEY.address;
const OTHER_COLLECTION = '11111111-2222-4333-8444-555555555555';
const UPDATE_FIELD = Buffer.from('dde9312db5cadcc8', 'hex');
const UPDATE_AUTHORITY = Buffer.from('d7e4a6e45464567b', 'hex');
const EMITS = Buffer.from('faa6b4fa0d0cb846', 'hex');
const UPDATE_HEAD = 9;
/** Where the signature and the message begin in a transaction with one signature. */
const SIGNATURE_AT = 1;
export const MESSAGE_AT = 65;
/** Order of the curve's base point. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

const base58 = (text: string): Buffer => Buffer.from(getBase58Encoder().encode(text));
const counted = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(bytes.length), bytes]);

function text(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function fieldData(name: string | Buffer, value: string, kind = 3, head = UPDATE_FIELD): Buffer {
  return Buffer.concat([head, Buffer.of(kind), text(name), text(value)]);
}

function partsOf(wire: string): Parts {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(wire, 'base64'));
  const { header, staticAccounts, lifetimeToken, instructions } =
    getCompiledTransactionMessageDecoder().decode(messageBytes);
  return {
    prefix: Buffer.alloc(0),
    header: [header.numSignerAccounts, header.numReadonlySignerAccounts, header.numReadonlyNonSignerAccounts],
    addresses: [...staticAccounts],
    blockhash: base58(lifetimeToken),
    instructions: instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
      program: programAddressIndex,
      accounts: [...accountIndices],
      data: Buffer.from(data!),
    })),
    suffix: Buffer.alloc(0),
  };
}

function messageOf({ prefix, header, addresses, blockhash, instructions, suffix }: Parts): Buffer {
  const calls = instructions.map(({ program, accounts, data }) =>
    Buffer.concat([Buffer.of(program), counted(Buffer.from(accounts)), counted(data)]),
  );
  return Buffer.concat([
    prefix,
    Buffer.from(header),
    Buffer.of(addresses.length),
    ...addresses.map(base58),
    blockhash,
    Buffer.of(calls.length),
    ...calls,
    suffix,
  ]);
}

const wireOf = (signatures: Buffer[], message: Buffer): Buffer =>
  Buffer.concat([Buffer.of(signatures.length), ...signatures, message]);

const withBytes = (honest: HonestTransaction, bytes: Buffer): TransactionAttempt => ({
  ...honest,
  transaction: { ...honest.transaction, transaction: [bytes.toString('base64'), 'base64'] },
});

/** The message with one signature, by which the proof names the transaction. */
function withSignature(honest: HonestTransaction, signature: Buffer, message: Buffer): TransactionAttempt {
  const attempt = withBytes(honest, wireOf([signature], message));
  return { ...attempt, expected: { ...honest.expected, signature: getBase58Decoder().decode(signature) } };
}

/** The message, signed by the authority. */
export const signed = (honest: HonestTransaction, message: Buffer): TransactionAttempt =>
  withSignature(honest, honest.key.sign(message), message);

/** Variants with each of these changes to its parts. */
const changed =
  (...changes: ((parts: Parts, honest: HonestTransaction) => Change)[]) =>
  (honest: HonestTransaction): TransactionAttempt[] =>
    changes.map((change) => {
      const parts = partsOf(honest.transaction.transaction[0]);
      const { signatures, ...others } = change(parts, honest);
      const whole = { ...parts, ...others };
      const message = messageOf(whole);
      if (signatures !== undefined) return withBytes(honest, wireOf(signatures, message));
      const key = whole.addresses[0] === STRANGER ? STRANGER_KEY : honest.key;
      return withSignature(honest, key.sign(message), message);
    });

/** Replaces the first and the last instruction that writes a field. */
const eachUpdate = (change: (update: Instruction, parts: Parts, honest: HonestTransaction) => Instruction[]) =>
  changed(
    ...[1, -1].map((at) => (parts: Parts, honest: HonestTransaction) => {
      const place = at < 0 ? parts.instructions.length - 1 : at;
      const made = change(parts.instructions[place]!, parts, honest);
      return { instructions: parts.instructions.toSpliced(place, 1, ...made) };
    }),
  );

const all =
  (...makes: ((honest: HonestTransaction) => TransactionAttempt[])[]) =>
  (honest: HonestTransaction) =>
    makes.flatMap((make) => make(honest));

const withMembers = (name: string, values: readonly unknown[]) => (honest: HonestTransaction) =>
  values.map((value) => {
    const [outer, inner] = name.split('.') as [keyof Answer, string?];
    const member = inner === undefined ? value : { ...(honest.transaction[outer] as object), [inner]: value };
    return { ...honest, transaction: JSON.parse(JSON.stringify({ ...honest.transaction, [outer]: member })) };
  });

const withResults = (values: readonly unknown[]) => (honest: HonestTransaction) =>
  values.map((transaction) => ({ ...honest, transaction }));

/** The same transaction with different expectations. */
const expecting =
  (...others: ((expected: ExpectedAnchor) => Partial<ExpectedAnchor>)[]) =>
  (honest: HonestTransaction): TransactionAttempt[] =>
    others.map((other) => ({ ...honest, expected: { ...honest.expected, ...other(honest.expected) } }));

const bytesOf = ({ transaction }: HonestTransaction): Buffer => Buffer.from(transaction.transaction[0], 'base64');
const signatureOf = (honest: HonestTransaction): Buffer => bytesOf(honest).subarray(SIGNATURE_AT, MESSAGE_AT);

const cut = (honest: HonestTransaction): TransactionAttempt[] => {
  const bytes = bytesOf(honest);
  return Array.from(bytes, (_, length) =>
    length < MESSAGE_AT
      ? withBytes(honest, bytes.subarray(0, length))
      : signed(honest, bytes.subarray(MESSAGE_AT, length)),
  );
};

/** A non-canonical count in two bytes, and trailing bytes. */
const longer = (honest: HonestTransaction): TransactionAttempt[] => {
  const bytes = bytesOf(honest);
  return [
    withBytes(honest, Buffer.concat([Buffer.of(0x81, 0), bytes.subarray(1)])),
    ...[Buffer.of(0), bytes, Buffer.alloc(1233 - bytes.length)].map((rest) =>
      signed(honest, Buffer.concat([bytes.subarray(MESSAGE_AT), rest])),
    ),
  ];
};

/** The message as it is, with signatures that are not the authority's. */
const missigned = (honest: HonestTransaction): TransactionAttempt[] => {
  const message = bytesOf(honest).subarray(MESSAGE_AT);
  const signature = signatureOf(honest);
  const flipped = [0, 31, 32, 63].map((at) => Buffer.from(signature).fill(signature[at]! ^ 1, at, at + 1));
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`);
  const another = Buffer.from((s + L).toString(16).padStart(64, '0'), 'hex').reverse();
  return [
    ...flipped,
    Buffer.alloc(64),
    Buffer.concat([signature.subarray(0, 32), another]),
    STRANGER_KEY.sign(message),
    honest.key.sign(message.subarray(1)),
    honest.key.sign(bytesOf(honest)),
  ].map((each) => withSignature(honest, each, message));
};

/** Another root, or another version, under the signature that the authority gave. */
const rewritten = (honest: HonestTransaction): TransactionAttempt[] => {
  const merkleRoot = 'ab'.repeat(32);
  const version = honest.expected.version + 1;
  const attempts = changed(
    withField('merkleRoot', merkleRoot),
    withField('version', String(version).padStart(20, '0')),
    ({ blockhash }) => ({ blockhash: Buffer.from(blockhash).reverse() }),
    withBudgets(1, 1),
  )(honest);
  return attempts.map(({ transaction }, at) => {
    const message = bytesOf({ transaction } as HonestTransaction).subarray(MESSAGE_AT);
    const attempt = withSignature(honest, signatureOf(honest), message);
    const claimed = [{ merkleRoot }, { version }][at];
    return { ...attempt, expected: { ...attempt.expected, ...claimed } };
  });
};

/** Start of a message of version 0, and its end with one lookup table. */
const VERSION_0 = Buffer.of(0x80);
const ONE_TABLE = Buffer.concat([Buffer.of(1), base58(STRANGER), Buffer.of(1, 0, 0)]);

const named = (data: Buffer): string =>
  data.subarray(UPDATE_HEAD + 4, UPDATE_HEAD + 4 + data.readUInt32LE(9)).toString();

/**
 * Answers that must be refused, by row of docs/format.md, made from a valid transaction. What is
 * changed is signed again, by the authority wherever it is the first address, so that a verifier
 * refuses each for its row alone.
 */
export const REFUSED_TRANSACTIONS: Readonly<Record<string, (honest: HonestTransaction) => TransactionAttempt[]>> = {
  T1: all(
    withResults([7, 'x', [], {}, true]),
    withMembers('slot', [undefined, null, -1, 1.5, '7', 2 ** 53]),
    withMembers('blockTime', [-1, 1.5, '7', true, 253_402_300_800, {}]),
    withMembers('meta', [undefined, null, 7, 'x']),
    withMembers('transaction', [undefined, null, 'x', [], {}, ['AA==', 'base58'], ['AA==']]),
    withMembers(
      'transaction',
      ['A', 'AA=A', '====', 'AAA', 'A A=', 'AA==\n', 7, null].map((each) => [each, 'base64']),
    ),
  ),
  T2: withResults([null]),
  T3: withMembers('meta.err', [undefined, {}, 'AccountInUse', { InstructionError: [1, { Custom: 0 }] }, false, 0]),
  T4: withMembers('meta.innerInstructions', [[{ index: 1, instructions: [] }], {}, 'x', true]),
  T5: all(
    cut,
    longer,
    // Solana reads a one-byte count of 200 as the first byte of a longer count.
    changed(withBudgets(8, 100), withBudgets(1, 200)),
    eachUpdate((update) => [{ ...update, data: Buffer.concat([update.data, Buffer.of(0)]) }]),
    eachUpdate((update) => [{ ...update, data: update.data.subarray(0, -1) }]),
    eachUpdate((update) => [{ ...update, data: fieldData(Buffer.from([0xff, 0xfe]), 'x') }]),
  ),
  T6: all(
    changed(
      () => ({ signatures: [] }),
      (_, honest) => ({ signatures: [signatureOf(honest), signatureOf(honest)] }),
      (_, honest) => ({ signatures: [Buffer.alloc(64), signatureOf(honest)] }),
      () => ({ signatures: [Buffer.alloc(64)] }),
    ),
    // The bytes of one signature, with a count of zero or two.
    (honest) =>
      [0, 2].map((count) => {
        const bytes = bytesOf(honest);
        bytes[0] = count;
        return withBytes(honest, bytes);
      }),
    expecting(() => ({ signature: getBase58Decoder().decode(new Uint8Array(64).fill(7)) })),
  ),
  T7: changed(
    () => ({ prefix: VERSION_0, suffix: Buffer.of(0) }),
    () => ({ prefix: VERSION_0, suffix: ONE_TABLE }),
    () => ({ prefix: Buffer.of(0x81), suffix: Buffer.of(0) }),
    ({ header: [, , others] }) => ({ header: [2, 0, others] }),
    ({ header: [, , others] }) => ({ header: [0, 0, others] }),
    ({ header: [, , others] }) => ({ header: [1, 1, others] }),
  ),
  T8: all(
    changed(
      ({ addresses }) => ({ addresses: addresses.with(0, STRANGER) }),
      ({ addresses }) => ({ addresses: [STRANGER, ...addresses] }),
      ({ addresses: [authority, mint, ...others] }) => ({ addresses: [mint!, authority!, ...others] }),
      () => ({ addresses: [] }),
      // Names the authority, but the authority did not sign.
      ({ addresses: [authority, ...others], instructions }) => ({
        addresses: [STRANGER, ...others, authority!],
        instructions: instructions.map((each) =>
          each.accounts.length === 2 ? { ...each, accounts: [each.accounts[0]!, others.length + 1] } : each,
        ),
      }),
    ),
    expecting(() => ({ authority: STRANGER })),
  ),
  T9: all(
    changed(
      ...OTHER_PROGRAMS.map((program) => ({ addresses }: Parts) => ({
        addresses: addresses.with(addresses.indexOf(TOKEN_2022), program),
      })),
      ...OTHER_PROGRAMS.map((program) => ({ addresses, instructions }: Parts) => ({
        addresses: [...addresses, program],
        instructions: [...instructions, { program: addresses.length, accounts: [1, 0], data: Buffer.of(1) }],
      })),
    ),
    eachUpdate((update, { addresses }) => [{ ...update, program: addresses.length }]),
    eachUpdate((update) => [{ ...update, program: 0xff }]),
  ),
  T10: all(
    eachUpdate((update) => [{ ...update, accounts: [update.accounts[1]!, update.accounts[0]!] }]),
    eachUpdate((update) => [{ ...update, accounts: [1, 1] }]),
    eachUpdate((update) => [{ ...update, accounts: [0, 0] }]),
    eachUpdate((update) => [{ ...update, accounts: [] }]),
    eachUpdate((update) => [{ ...update, accounts: [1] }]),
    eachUpdate((update) => [{ ...update, accounts: [1, 0, 0] }]),
    eachUpdate((update) => [{ ...update, accounts: [1, 0xff] }]),
    eachUpdate((update, { addresses }) => [{ ...update, accounts: [addresses.length, 0] }]),
    changed(({ addresses }, { mint }) => ({ addresses: addresses.with(addresses.indexOf(mint), STRANGER) })),
    expecting(() => ({ collectionId: OTHER_COLLECTION })),
  ),
  T11: all(
    ...[0, 1, 2, 4, 255].map((kind) =>
      eachUpdate((update) => [{ ...update, data: fieldData('merkleRoot', 'x', kind) }]),
    ),
    ...[UPDATE_AUTHORITY, EMITS].map((head) =>
      eachUpdate((update) => [{ ...update, data: fieldData('a', 'b', 3, head) }]),
    ),
    ...[[], [9], [25, 0], [...UPDATE_FIELD]].map((data) =>
      eachUpdate((update) => [{ ...update, data: Buffer.from(data) }]),
    ),
    eachUpdate((honest) => [honest, { ...honest, data: fieldData('name', 'x') }]),
    eachUpdate((honest) => [{ ...honest, data: fieldData('other', 'x') }]),
    eachUpdate((honest) => [honest, { ...honest, data: fieldData('MerkleRoot', 'x') }]),
    eachUpdate((honest) => [honest, { ...honest, data: fieldData('merkleRoot\0', 'x') }]),
  ),
  T12: all(
    eachUpdate(() => []),
    eachUpdate((honest) => [honest, honest]),
    eachUpdate((honest) => [honest, { ...honest, data: fieldData(named(honest.data), 'ab'.repeat(30)) }]),
    eachUpdate((honest) => [{ ...honest, data: fieldData(named(honest.data), 'ab'.repeat(30)) }, honest]),
    changed(() => ({ instructions: [] })),
  ),
  T13: all(
    changed(
      withField('merkleRoot', 'ab'.repeat(32)),
      withField('merkleRoot', ''),
      withField('version', '3'),
      withField('version', '4'.padStart(20, '0')),
      withField('version', '+0000000000000000003'),
    ),
    expecting(
      ({ version }) => ({ version: version + 1 }),
      ({ version }) => ({ version: version - 1 }),
      () => ({ merkleRoot: 'cd'.repeat(32) }),
    ),
  ),
  T14: all(missigned, rewritten),
};

/** Adds instructions that the verifier skips. */
function withBudgets(count: number, bytes: number) {
  return ({ addresses, instructions }: Parts): Partial<Parts> => {
    const budget = { program: addresses.indexOf(COMPUTE_BUDGET), accounts: [], data: Buffer.alloc(bytes) };
    return { instructions: [...instructions, ...Array<Instruction>(count).fill(budget)] };
  };
}

function withField(name: string, value: string) {
  return ({ instructions }: Parts): Partial<Parts> => ({
    instructions: instructions.map((each) =>
      each.data.length > UPDATE_HEAD && named(each.data) === name ? { ...each, data: fieldData(name, value) } : each,
    ),
  });
}
