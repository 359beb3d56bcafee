import { isAddress, isSignature } from '@solana/web3.js';
import type { ValidationRule } from 'fastest-validator';
import { FastestValidator } from '../../lib/fastest-validator.ts';
import { isJsonObject } from '../../lib/records/fields.ts';
import { AIRDROP_MAX_LAMPORTS, type Ledger } from './ledger.ts';
import { invalidParams, RPC_ERROR, RpcError } from './rpc-error.ts';
import type { TransactionEncoding } from './transaction-answers.ts';

/** Handles a call of one method. Throws RpcError. */
export type Method = (ledger: Ledger, params: unknown) => unknown;

interface Options {
  minContextSlot?: number | null;
  dataSlice?: { offset?: number | null; length?: number | null } | null;
}

export interface AccountOptions extends Options {
  encoding?: 'base64' | 'jsonParsed' | null;
}

export interface TransactionOptions extends Options {
  encoding?: TransactionEncoding | null;
  maxSupportedTransactionVersion?: number | null;
}

export interface BlockOptions extends TransactionOptions {
  transactionDetails?: 'full' | 'signatures' | 'none' | null;
  rewards?: boolean | null;
}

interface SignaturesOptions extends Options {
  limit?: number | null;
  before?: string | null;
  until?: string | null;
}

/** Types of the parameters, which methods take by position. */
interface Params {
  address: string;
  addresses: string[];
  blockhash: string;
  bytes: number;
  lamports: number;
  signature: string;
  signatures: string[];
  slot: number;
  wire: string;
  options?: Options;
  accountOptions?: AccountOptions;
  /** A string is short for options with that encoding. */
  transactionOptions?: TransactionOptions | TransactionEncoding;
  blockOptions?: BlockOptions | TransactionEncoding;
  signaturesOptions?: SignaturesOptions;
}

/** Largest transaction that Solana's network accepts. */
const TRANSACTION_MAX_BYTES = 1232;
/** Maximum, and default, number of signatures in one response. */
export const SIGNATURES_MAX = 1_000;
export const ACCOUNT_MAX_BYTES = 10 * 1024 * 1024;

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
const SLOT = whole(0, Number.MAX_SAFE_INTEGER);
const oneOf = (...values: string[]) => maybe({ type: 'enum', values });
const TRANSACTION_ENCODINGS = ['json', 'jsonParsed', 'base64', 'base58'];
/** Other fields are ignored, like on validators. All blocks are final at any commitment. */
const COMMON = {
  commitment: oneOf('processed', 'confirmed', 'finalized'),
  minContextSlot: maybe(SLOT),
  dataSlice: maybe({ type: 'object', props: { offset: maybe(BYTES), length: maybe(BYTES) } }),
};
const TRANSACTION = {
  ...COMMON,
  // As on validators, which keep no history of blocks that are not confirmed.
  commitment: oneOf('confirmed', 'finalized'),
  encoding: oneOf(...TRANSACTION_ENCODINGS),
  maxSupportedTransactionVersion: maybe(whole(0, 255)),
};
const options = (props: object) => maybe({ type: 'object', props });
const orEncoding = (props: object) =>
  maybe({ type: 'multi', rules: [oneOf(...TRANSACTION_ENCODINGS), options(props)] });
const RULES: { [Name in keyof Params]-?: ValidationRule } = {
  address: ADDRESS,
  blockhash: ADDRESS,
  bytes: BYTES,
  lamports: whole(1, AIRDROP_MAX_LAMPORTS),
  addresses: { type: 'array', max: 100, items: ADDRESS },
  signature: SIGNATURE,
  signatures: { type: 'array', max: 256, items: SIGNATURE },
  slot: SLOT,
  wire: checked((text) => {
    const bytes = Buffer.from(text, 'base64');
    return bytes.length <= TRANSACTION_MAX_BYTES && bytes.toString('base64') === text;
  }, `canonical base64 of at most ${TRANSACTION_MAX_BYTES} bytes`),
  options: options({ ...COMMON, encoding: maybe({ type: 'equal', value: 'base64', strict: true }) }),
  accountOptions: options({ ...COMMON, encoding: oneOf('base64', 'jsonParsed') }),
  transactionOptions: orEncoding(TRANSACTION),
  blockOptions: orEncoding({
    ...TRANSACTION,
    transactionDetails: oneOf('full', 'signatures', 'none'),
    rewards: maybe({ type: 'boolean' }),
  }),
  signaturesOptions: options({
    ...COMMON,
    commitment: TRANSACTION.commitment,
    limit: maybe(whole(1, SIGNATURES_MAX)),
    before: maybe(SIGNATURE),
    until: maybe(SIGNATURE),
  }),
};

/** Returns a method whose positional parameters are checked by RULES. */
export function method<Name extends keyof Params>(
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
    const given = Object.values(params).find((value): value is Options => isJsonObject(value));
    if ((given?.minContextSlot ?? 0) > contextSlot)
      throw new RpcError(RPC_ERROR.MIN_CONTEXT_SLOT, 'Minimum context slot has not been reached', { contextSlot });
    return answer(ledger, params as Pick<Params, Name>);
  };
}

/** Wraps a result with the current slot. */
export const inContext = ({ blocks }: Ledger, value: unknown) => ({
  context: { apiVersion: '2.0.0', slot: blocks.height },
  value,
});
