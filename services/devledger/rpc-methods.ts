import { getBase58Decoder } from '@solana/web3.js';
import { BLOCKHASH_BLOCKS } from './block-clock.ts';
import { AIRDROP_MAX_LAMPORTS, type Ledger } from './ledger.ts';
import type { AccountState, TransactionRecord } from './ledger-state.ts';
import { invalidParams, RPC_ERROR, RpcError } from './rpc-error.ts';
import { decodeBytes, type RpcOptions, type RpcParams } from './rpc-params.ts';
import { transactionAnswer } from './transaction-answer.ts';
import { readMessageStrictly, readTransaction, signaturesHold, TRANSACTION_MAX_BYTES } from './wire-transaction.ts';

type Method = (ledger: Ledger, params: RpcParams) => unknown;

const SLOTS_PER_EPOCH = 432_000;
const ACCOUNT_MAX_BYTES = 10 * 1024 * 1024;
const BASE58_DATA_MAX_BYTES = 128;
const WIRE_MAX_CHARS = 4 * Math.ceil(TRANSACTION_MAX_BYTES / 3) + 64;
const ACCOUNT_ENCODINGS = ['base64', 'jsonParsed', 'base58'] as const;
const base58 = getBase58Decoder();

const context = (ledger: Ledger) => ({ context: { apiVersion: '2.0.0', slot: ledger.blocks.height } });

/** Reads the configuration at `index` and checks commitment and slot. */
function optionsAt(ledger: Ledger, params: RpcParams, index: number): RpcOptions {
  const options = params.options(index);
  options.checkContext(ledger.blocks.height);
  return options;
}

function accountAnswer(account: AccountState | null, options: RpcOptions) {
  // A validator answers jsonParsed with base64 where it has no parser for the owner program, and so
  // does this one.
  const encoding = options.oneOf('encoding', ACCOUNT_ENCODINGS, 'base64');
  const slice = options.nested('dataSlice');
  const offset = slice.integer('offset', 0, ACCOUNT_MAX_BYTES, 0);
  const length = slice.integer('length', 0, ACCOUNT_MAX_BYTES, ACCOUNT_MAX_BYTES);
  if (account === null) return null;
  const whole = Buffer.from(account.data, 'base64');
  const data = whole.subarray(offset, offset + length);
  if (encoding === 'base58' && data.length > BASE58_DATA_MAX_BYTES) {
    throw invalidParams(`base58 encodes at most ${BASE58_DATA_MAX_BYTES} bytes; ask for base64`);
  }
  return {
    data: encoding === 'base58' ? [base58.decode(data), 'base58'] : [data.toString('base64'), 'base64'],
    executable: account.executable,
    lamports: Number(account.lamports),
    owner: account.owner,
    rentEpoch: 0,
    space: whole.length,
  };
}

const status = ({ slot, err }: TransactionRecord) => ({
  slot,
  confirmations: null,
  err,
  status: err === null ? { Ok: null } : { Err: err },
  confirmationStatus: 'finalized',
});

function height(ledger: Ledger, params: RpcParams): number {
  optionsAt(ledger, params, 0);
  return ledger.blocks.height;
}

/** The methods of Solana's JSON-RPC that Provec and a ledger explorer use. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['getHealth', () => 'ok'],
  ['getVersion', () => ({ 'solana-core': '2.0.0', 'feature-set': 0 })],
  ['getGenesisHash', (ledger) => ledger.genesisHash],
  ['getSlot', height],
  ['getBlockHeight', height],
  ['getFirstAvailableBlock', () => 0],
  ['minimumLedgerSlot', () => 0],
  [
    'getEpochInfo',
    (ledger, params) => {
      const slot = height(ledger, params);
      return {
        absoluteSlot: slot,
        blockHeight: slot,
        epoch: Math.floor(slot / SLOTS_PER_EPOCH),
        slotIndex: slot % SLOTS_PER_EPOCH,
        slotsInEpoch: SLOTS_PER_EPOCH,
        transactionCount: null,
      };
    },
  ],
  [
    'getEpochSchedule',
    () => ({
      firstNormalEpoch: 0,
      firstNormalSlot: 0,
      leaderScheduleSlotOffset: SLOTS_PER_EPOCH,
      slotsPerEpoch: SLOTS_PER_EPOCH,
      warmup: false,
    }),
  ],
  [
    'getBlockTime',
    (ledger, params) => ledger.history.atSlot(params.integer(0, 0, Number.MAX_SAFE_INTEGER))?.blockTime ?? null,
  ],
  [
    'getLatestBlockhash',
    (ledger, params) => {
      optionsAt(ledger, params, 0);
      const { latestBlockhash: blockhash, height: now } = ledger.blocks;
      return { ...context(ledger), value: { blockhash, lastValidBlockHeight: now + BLOCKHASH_BLOCKS } };
    },
  ],
  [
    'isBlockhashValid',
    (ledger, params) => {
      optionsAt(ledger, params, 1);
      return { ...context(ledger), value: ledger.blocks.isValid(params.address(0)) };
    },
  ],
  [
    'getBalance',
    (ledger, params) => {
      optionsAt(ledger, params, 1);
      return { ...context(ledger), value: ledger.balance(params.address(0)) };
    },
  ],
  [
    'getMinimumBalanceForRentExemption',
    (ledger, params) => {
      optionsAt(ledger, params, 1);
      return ledger.minimumBalance(params.integer(0, 0, ACCOUNT_MAX_BYTES));
    },
  ],
  [
    'getFeeForMessage',
    (ledger, params) => {
      optionsAt(ledger, params, 1);
      const message = readMessageStrictly(decodeBytes(params.text(0, WIRE_MAX_CHARS), 'base64'));
      const known = ledger.blocks.isValid(message.lifetimeToken);
      return { ...context(ledger), value: known ? ledger.fee(message.header.numSignerAccounts) : null };
    },
  ],
  [
    'getRecentPrioritizationFees',
    (ledger, params) => {
      if (params.has(0)) params.addresses(0, 128);
      return [{ slot: ledger.blocks.height, prioritizationFee: 0 }];
    },
  ],
  [
    'requestAirdrop',
    (ledger, params) => {
      optionsAt(ledger, params, 2);
      return ledger.airdrop(params.address(0), params.integer(1, 1, AIRDROP_MAX_LAMPORTS));
    },
  ],
  [
    'getAccountInfo',
    (ledger, params) => {
      const options = optionsAt(ledger, params, 1);
      return { ...context(ledger), value: accountAnswer(ledger.account(params.address(0)), options) };
    },
  ],
  [
    'getMultipleAccounts',
    (ledger, params) => {
      const options = optionsAt(ledger, params, 1);
      const value = params.addresses(0, 100).map((address) => accountAnswer(ledger.account(address), options));
      return { ...context(ledger), value };
    },
  ],
  [
    'sendTransaction',
    (ledger, params) => {
      const options = optionsAt(ledger, params, 1);
      const encoding = options.oneOf('encoding', ['base58', 'base64'] as const, 'base58');
      return ledger.send(decodeBytes(params.text(0, WIRE_MAX_CHARS), encoding), options.flag('skipPreflight'));
    },
  ],
  [
    'simulateTransaction',
    (ledger, params) => {
      const options = optionsAt(ledger, params, 1);
      const encoding = options.oneOf('encoding', ['base58', 'base64'] as const, 'base58');
      const wire = readTransaction(decodeBytes(params.text(0, WIRE_MAX_CHARS), encoding));
      if (!signaturesHold(wire)) {
        throw new RpcError(RPC_ERROR.SIGNATURE_FAILURE, 'Transaction signature verification failure');
      }
      const refusal = ledger.refusal(wire);
      const result = refusal ? { err: refusal, logs: [], unitsConsumed: 0 } : ledger.simulate(wire);
      return { ...context(ledger), value: { accounts: null, returnData: null, ...result } };
    },
  ],
  [
    'getSignatureStatuses',
    (ledger, params) => {
      params.options(1).flag('searchTransactionHistory');
      const value = params.signatures(0, 256).map((signature) => {
        const transaction = ledger.history.find(signature);
        return transaction && status(transaction);
      });
      return { ...context(ledger), value };
    },
  ],
  [
    'getSignaturesForAddress',
    (ledger, params) => {
      const options = optionsAt(ledger, params, 1);
      const limit = options.integer('limit', 1, 1_000, 1_000);
      const found = ledger.history.ofAddress(
        params.address(0),
        limit,
        options.signature('before'),
        options.signature('until'),
      );
      return found.map(({ signature, slot, err, memo, blockTime }) => ({
        signature,
        slot,
        err,
        memo,
        blockTime,
        confirmationStatus: 'finalized',
      }));
    },
  ],
  [
    'getTransaction',
    (ledger, params) => {
      const options = optionsAt(ledger, params, 1);
      const encoding = options.oneOf('encoding', ['json', 'jsonParsed', 'base58', 'base64'] as const, 'json');
      const found = ledger.history.find(params.signature(0));
      return found && transactionAnswer(found, encoding);
    },
  ],
]);
