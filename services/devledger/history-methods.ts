import type { Ledger } from './ledger.ts';
import type { TransactionRecord } from './ledger-state.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';
import { type BlockOptions, type Method, method, SIGNATURES_MAX, type TransactionOptions } from './rpc-params.ts';
import {
  type TransactionEncoding,
  type TransactionForm,
  transactionAnswer,
  transactionInBlock,
} from './transaction-answers.ts';

type Given<O extends TransactionOptions> = O | TransactionEncoding;

const optionsOf = <O extends TransactionOptions>(given: Given<O>): Partial<O> =>
  typeof given === 'string' ? ({ encoding: given } as Partial<O>) : given;

const formOf = ({ encoding, maxSupportedTransactionVersion }: TransactionOptions): TransactionForm => ({
  encoding: encoding ?? 'json',
  maxVersion: maxSupportedTransactionVersion ?? null,
});

/** Throws RpcError if the block does not exist yet, or its transaction may have been pruned. */
function assertBlock({ blocks, history }: Ledger, slot: number): void {
  if (slot > blocks.height) throw new RpcError(RPC_ERROR.BLOCK_NOT_AVAILABLE, `Block not available for slot ${slot}`);
  const { firstSlot } = history;
  if (slot < firstSlot && history.at(slot) === null)
    throw new RpcError(
      RPC_ERROR.BLOCK_CLEANED_UP,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${firstSlot}`,
    );
}

/** Returns a block, which has one transaction or none. The time of an empty block is unknown. */
function blockAnswer({ blocks, history }: Ledger, slot: number, options: Partial<BlockOptions>) {
  const kept = history.at(slot);
  return {
    blockhash: blocks.hashAt(slot),
    previousBlockhash: blocks.hashAt(slot - 1),
    parentSlot: slot - 1,
    blockHeight: slot,
    blockTime: kept?.content.blockTime ?? null,
    ...transactionsOf(kept, options),
    ...(options.rewards !== false && { rewards: [] }),
  };
}

function transactionsOf(kept: TransactionRecord | null, options: Partial<BlockOptions>) {
  const held = kept ? [kept] : [];
  const { transactionDetails: details } = options;
  if (details === 'none') return {};
  if (details === 'signatures') return { signatures: held.map(({ signature }) => signature) };
  return { transactions: held.map((each) => transactionInBlock(each, formOf(options))) };
}

/** RPC methods about past transactions and blocks. */
export const HISTORY_METHODS: Readonly<Record<string, Method>> = {
  getTransaction: method(
    ['signature', 'transactionOptions'],
    ({ history }, { signature, transactionOptions: given = {} }) => {
      const record = history.get(signature);
      return record && transactionAnswer(record, formOf(optionsOf(given)));
    },
  ),
  getSignaturesForAddress: method(
    ['address', 'signaturesOptions'],
    ({ history }, { address, signaturesOptions: { limit, before, until } = {} }) =>
      history
        .of(address, { limit: limit ?? SIGNATURES_MAX, before, until })
        .map(({ signature, slot, err, content: { blockTime } }) => ({
          signature,
          slot,
          err,
          memo: null,
          blockTime,
          confirmationStatus: 'finalized',
        })),
  ),
  getBlock: method(['slot', 'blockOptions'], (ledger, { slot, blockOptions: given = {} }) => {
    assertBlock(ledger, slot);
    return blockAnswer(ledger, slot, optionsOf<BlockOptions>(given));
  }),
  getBlockTime: method(['slot'], (ledger, { slot }) => {
    assertBlock(ledger, slot);
    return ledger.history.at(slot)?.content.blockTime ?? null;
  }),
  getFirstAvailableBlock: ({ history }) => history.firstSlot,
};
