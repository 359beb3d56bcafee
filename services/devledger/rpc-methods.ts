import { isAddress, isSignature } from '@solana/web3.js';
import type { ValidationRule } from 'fastest-validator';
import { FastestValidator } from '../../lib/fastest-validator.ts';
import { BLOCKHASH_BLOCKS } from './block-clock.ts';
import { AIRDROP_MAX_LAMPORTS, type Ledger } from './ledger.ts';
import type { AccountState, TransactionRecord } from './ledger-state.ts';
import { invalidParams, RPC_ERROR, RpcError } from './rpc-error.ts';

type Method = (ledger: Ledger, params: unknown) => unknown;

interface Options {
  minContextSlot?: number | null;
  dataSlice?: { offset?: number | null; length?: number | null } | null;
}

/** What the methods take, by position. */
interface Params {
  address: string;
  blockhash: string;
  bytes: number;
  lamports: number;
  signatures: string[];
  wire: string;
  options?: Options;
}

/** The largest transaction that Solana's network carries. */
const TRANSACTION_MAX_BYTES = 1232;
const ACCOUNT_MAX_BYTES = 10 * 1024 * 1024;

const validator = new FastestValidator({ haltOnFirstError: true });

const whole = (min: number, max: number) => ({ type: 'number', integer: true, min, max }) as const;
const maybe = <R extends object>(rule: R) => ({ ...rule, optional: true }) as const;
const checked = (holds: (value: string) => boolean, what: string) =>
  ({
    type: 'custom',
    check: (value: unknown) =>
      typeof value === 'string' && holds(value) ? true : [{ type: 'text', message: `expected ${what}` }],
  }) as const;

const ADDRESS = checked((text) => text.length <= 44 && isAddress(text), 'a base58 address of 32 bytes');
const SIGNATURE = checked((text) => text.length <= 88 && isSignature(text), 'a base58 signature of 64 bytes');
const BYTES = whole(0, ACCOUNT_MAX_BYTES);
const RULES: { [Name in keyof Params]-?: ValidationRule } = {
  address: ADDRESS,
  blockhash: ADDRESS,
  bytes: BYTES,
  lamports: whole(1, AIRDROP_MAX_LAMPORTS),
  signatures: { type: 'array', max: 256, items: SIGNATURE },
  wire: checked((text) => {
    const bytes = Buffer.from(text, 'base64');
    return bytes.length <= TRANSACTION_MAX_BYTES && bytes.toString('base64') === text;
  }, `canonical base64 of at most ${TRANSACTION_MAX_BYTES} bytes`),
  // Fields that are not named here are ignored, as validators do; all commitments are one.
  options: maybe({
    type: 'object',
    props: {
      commitment: maybe({ type: 'enum', values: ['processed', 'confirmed', 'finalized'] }),
      minContextSlot: maybe(whole(0, Number.MAX_SAFE_INTEGER)),
      encoding: maybe({ type: 'equal', value: 'base64', strict: true }),
      dataSlice: maybe({ type: 'object', props: { offset: maybe(BYTES), length: maybe(BYTES) } }),
    },
  }),
};

function method<Name extends keyof Params>(
  names: readonly Name[],
  answer: (ledger: Ledger, params: Pick<Params, Name>) => unknown,
): Method {
  const check = validator.compile<object>(Object.fromEntries(names.map((name) => [name, RULES[name]])));
  return (ledger, values = []) => {
    if (!Array.isArray(values)) throw invalidParams('expected an array');
    const params: Partial<Params> = Object.fromEntries(names.map((name, at) => [name, values[at] ?? undefined]));
    const found = check(params);
    if (Array.isArray(found)) throw invalidParams(`${found[0]?.field}: ${found[0]?.message}`);
    const contextSlot = ledger.blocks.height;
    if ((params.options?.minContextSlot ?? 0) > contextSlot)
      throw new RpcError(RPC_ERROR.MIN_CONTEXT_SLOT, 'Minimum context slot has not been reached', { contextSlot });
    return answer(ledger, params as Pick<Params, Name>);
  };
}

const inContext = ({ blocks }: Ledger, value: unknown) => ({
  context: { apiVersion: '2.0.0', slot: blocks.height },
  value,
});

function accountAnswer({ data, executable, lamports, owner }: AccountState, { dataSlice }: Options) {
  const bytes = Buffer.from(data, 'base64');
  const offset = dataSlice?.offset ?? 0;
  const shown = bytes.subarray(offset, offset + (dataSlice?.length ?? ACCOUNT_MAX_BYTES));
  const shownData = [shown.toString('base64'), 'base64'];
  return { data: shownData, executable, lamports: Number(lamports), owner, rentEpoch: 0, space: bytes.length };
}

const statusAnswer = (record: TransactionRecord | null) =>
  record && { slot: record.slot, confirmations: null, err: record.err, confirmationStatus: 'finalized' };

/** Methods that change nothing; a web page may have no others. */
export const READS: ReadonlyMap<unknown, Method> = new Map(
  Object.entries<Method>({
    getHealth: () => 'ok',
    getBlockHeight: method(['options'], ({ blocks }) => blocks.height),
    getEpochInfo: method(['options'], ({ blocks: { height } }) => ({ absoluteSlot: height, blockHeight: height })),
    getLatestBlockhash: method(['options'], (ledger) => {
      const { latestBlockhash: blockhash, height } = ledger.blocks;
      return inContext(ledger, { blockhash, lastValidBlockHeight: height + BLOCKHASH_BLOCKS });
    }),
    isBlockhashValid: method(['blockhash', 'options'], (ledger, { blockhash }) =>
      inContext(ledger, ledger.blocks.isValid(blockhash)),
    ),
    getBalance: method(['address', 'options'], (ledger, { address }) =>
      inContext(ledger, Number(ledger.account(address)?.lamports ?? 0)),
    ),
    getMinimumBalanceForRentExemption: method(['bytes', 'options'], (ledger, { bytes }) =>
      ledger.minimumBalance(bytes),
    ),
    getRecentPrioritizationFees: ({ blocks }) => [{ slot: blocks.height, prioritizationFee: 0 }],
    getAccountInfo: method(['address', 'options'], (ledger, { address, options = {} }) => {
      const account = ledger.account(address);
      return inContext(ledger, account && accountAnswer(account, options));
    }),
    getSignatureStatuses: method(['signatures'], (ledger, { signatures }) => {
      const found = signatures.map((signature) => statusAnswer(ledger.transaction(signature)));
      return inContext(ledger, found);
    }),
  }),
);

const WRITES = Object.entries<Method>({
  requestAirdrop: method(['address', 'lamports', 'options'], (ledger, { address, lamports }) =>
    ledger.airdrop(address, lamports),
  ),
  sendTransaction: method(['wire', 'options'], (ledger, { wire }) => ledger.send(Buffer.from(wire, 'base64'))),
});

/** The methods of Solana's JSON-RPC that Provec, and who checks it, uses. */
export const METHODS: ReadonlyMap<unknown, Method> = new Map([...READS, ...WRITES]);
