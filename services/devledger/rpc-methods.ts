import { BLOCKHASH_BLOCKS } from './block-clock.ts';
import { HISTORY_METHODS } from './history-methods.ts';
import type { KeptAccount, TransactionRecord } from './ledger-state.ts';
import { parsedMint } from './parsed-mint.ts';
import { invalidParams } from './rpc-error.ts';
import { ACCOUNT_MAX_BYTES, type AccountOptions, inContext, type Method, method } from './rpc-params.ts';

/** Slots per epoch, as on Solana. Nothing here depends on epochs. */
const EPOCH_SLOTS = 432_000;

function accountAnswer(account: KeptAccount | null, { dataSlice, encoding }: AccountOptions) {
  if (account === null) return null;
  const { data, executable, lamports, owner } = account;
  const bytes = Buffer.from(data, 'base64');
  const parsed = encoding === 'jsonParsed' ? parsedMint(account) : null;
  if (parsed !== null)
    return { data: parsed, executable, lamports: Number(lamports), owner, rentEpoch: 0, space: bytes.length };
  const offset = dataSlice?.offset ?? 0;
  const shown = bytes.subarray(offset, offset + (dataSlice?.length ?? ACCOUNT_MAX_BYTES));
  const shownData = [shown.toString('base64'), 'base64'];
  return { data: shownData, executable, lamports: Number(lamports), owner, rentEpoch: 0, space: bytes.length };
}

const statusAnswer = (record: TransactionRecord | null) =>
  record && { slot: record.slot, confirmations: null, err: record.err, confirmationStatus: 'finalized' };

/** Maximum base64 characters of account data in one response. */
const ACCOUNTS_MAX_CHARS = 16 * 1024 * 1024;

/** Throws RpcError if several accounts are too large for one response. */
function accountsAnswer(accounts: readonly (KeptAccount | null)[], options: AccountOptions) {
  const chars = accounts.reduce((sum, account) => sum + (account?.data.length ?? 0), 0);
  if (accounts.length > 1 && chars > ACCOUNTS_MAX_CHARS)
    throw invalidParams(`the accounts have more than ${ACCOUNTS_MAX_CHARS} characters of data; ask for fewer`);
  return accounts.map((account) => accountAnswer(account, options));
}

/** Methods that change nothing, the only ones that web pages may call. */
export const READ_METHODS: ReadonlyMap<unknown, Method> = new Map(
  Object.entries<Method>({
    getHealth: () => 'ok',
    getBlockHeight: method(['options'], ({ blocks }) => blocks.height),
    getEpochInfo: method(['options'], ({ blocks: { height } }) => ({
      absoluteSlot: height,
      blockHeight: height,
      epoch: Math.floor(height / EPOCH_SLOTS),
      slotIndex: height % EPOCH_SLOTS,
      slotsInEpoch: EPOCH_SLOTS,
    })),
    getEpochSchedule: () => ({
      slotsPerEpoch: EPOCH_SLOTS,
      leaderScheduleSlotOffset: EPOCH_SLOTS,
      warmup: false,
      firstNormalEpoch: 0,
      firstNormalSlot: 0,
    }),
    getGenesisHash: ({ genesisHash }) => genesisHash,
    getSlot: method(['options'], ({ blocks }) => blocks.height),
    getVersion: () => ({ 'solana-core': '2.0.0', 'feature-set': 0 }),
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
    getAccountInfo: method(['address', 'accountOptions'], (ledger, { address, accountOptions = {} }) =>
      inContext(ledger, accountAnswer(ledger.account(address), accountOptions)),
    ),
    getMultipleAccounts: method(['addresses', 'accountOptions'], (ledger, { addresses, accountOptions = {} }) =>
      inContext(
        ledger,
        accountsAnswer(
          addresses.map((address) => ledger.account(address)),
          accountOptions,
        ),
      ),
    ),
    getSignatureStatuses: method(['signatures'], (ledger, { signatures }) => {
      const found = signatures.map((signature) => statusAnswer(ledger.history.get(signature)));
      return inContext(ledger, found);
    }),
    ...HISTORY_METHODS,
  }),
);

const WRITES = Object.entries<Method>({
  requestAirdrop: method(['address', 'lamports', 'options'], (ledger, { address, lamports }) =>
    ledger.airdrop(address, lamports),
  ),
  sendTransaction: method(['wire', 'options'], (ledger, { wire }) => ledger.send(Buffer.from(wire, 'base64'))),
});

/** Methods of Solana's JSON-RPC that Provec, its verifiers and explorers use. */
export const METHODS: ReadonlyMap<unknown, Method> = new Map([...READ_METHODS, ...WRITES]);
