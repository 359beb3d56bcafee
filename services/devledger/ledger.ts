/**
 * Solana ledger in one process. LiteSVM runs the programs; this file adds blocks, transaction
 * history and durability.
 *
 * - Calls are synchronous, one at a time: a transaction is executed and durable in the journal
 *   before its result is returned.
 * - A start restores the accounts' bytes from the journal and executes nothing again.
 * - A failure of the journal (disk full) throws `LedgerStoppedError`. Memory is then ahead of the
 *   disk, so the process must end.
 */
import { randomBytes } from 'node:crypto';
import { getBase58Decoder } from '@solana/web3.js';
import type { LiteSVM } from 'litesvm';
import { BlockClock } from './block-clock.ts';
import { Faucet } from './faucet.ts';
import type { Journal, JournalLine } from './journal.ts';
import {
  type CompiledInstruction,
  type KeptAccount,
  type TransactionError,
  type TransactionRecord,
  transactionError,
} from './ledger-state.ts';
import { invalidParams, RPC_ERROR, RpcError } from './rpc-error.ts';
import { TransactionHistory } from './transaction-history.ts';
import { readTransaction, type WireTransaction } from './wire-transaction.ts';

type SvmModule = typeof import('litesvm');
type SvmAddress = Parameters<LiteSVM['getAccount']>[0];
type SvmTransaction = Parameters<LiteSVM['sendTransaction']>[0];

export class LedgerStoppedError extends Error {
  override name = 'LedgerStoppedError';
}

export const AIRDROP_MAX_LAMPORTS = 1_000_000_000_000_000;
/** Growth in bytes after which the journal is replaced. */
const REPLACE_AFTER_BYTES = 32 * 1024 * 1024;
/** Heights start near the wall clock's, so a ledger created later starts above all earlier ones. */
const HEIGHT_EPOCH_MS = Date.UTC(2024, 0, 1);
const MS_PER_HEIGHT = 400;
/** Balance of the faucet before each airdrop, exact in JSON. */
const FAUCET_LAMPORTS = 2 * AIRDROP_MAX_LAMPORTS;
/**
 * Number of the service's newest transactions that are kept, and of those of all other senders.
 * docs/trust.md quotes it.
 */
const TRANSACTIONS_KEPT = 10_000;
const SYSTEM_PROGRAM = '1'.repeat(32);

const base58 = getBase58Decoder();

type ExecutionMeta = ReturnType<InstanceType<SvmModule['FailedTransactionMetadata']>['meta']>;

export interface LedgerOptions {
  replaceAfterBytes?: number;
  transactionsKept?: number;
}

export class Ledger {
  readonly blocks: BlockClock;
  readonly history: TransactionHistory;
  readonly #svm: LiteSVM;
  readonly #module: SvmModule;
  readonly #journal: Journal;
  readonly #genesis: JournalLine & { kind: 'genesis' };
  readonly #faucet: Faucet;
  /** Addresses whose state differs from a fresh LiteSVM's. */
  readonly #touched = new Set<string>();
  readonly #replaceAfterBytes: number;
  #replaceAtBytes: number;

  /** Restores the ledger from the journal's lines, or creates a new one if there are none. */
  constructor(module: SvmModule, journal: Journal, lines: JournalLine[], options: LedgerOptions = {}) {
    const { replaceAfterBytes = REPLACE_AFTER_BYTES, transactionsKept = TRANSACTIONS_KEPT } = options;
    this.#replaceAfterBytes = replaceAfterBytes;
    this.#replaceAtBytes = replaceAfterBytes;
    this.#svm = new module.LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
    this.#module = module;
    this.#journal = journal;
    const [first] = lines;
    this.#genesis = first?.kind === 'genesis' ? first : newGenesis();
    if (!first) this.#append(this.#genesis);
    let { height } = this.#genesis;
    this.#faucet = new Faucet(this.#genesis.hash);
    const payers = lines.flatMap((line) => (line.kind === 'payer' ? [line.address] : []));
    this.history = new TransactionHistory(transactionsKept, height, payers);
    const accounts = new Map<string, KeptAccount>();
    for (const line of lines) {
      if (line.kind === 'blocks') height = Math.max(height, line.height);
      if (line.kind === 'account') accounts.set(line.account.address, line.account);
      if (line.kind !== 'transaction') continue;
      height = Math.max(height, line.transaction.slot);
      this.history.add(line.transaction);
      for (const account of line.accounts) accounts.set(account.address, account);
    }
    this.blocks = new BlockClock(this.#genesis.hash, height, (reserved) =>
      this.#append({ kind: 'blocks', height: reserved }),
    );
    // Executable accounts come last: a program can be loaded only if the account with its code
    // exists.
    const live = [...accounts.values()].filter(({ lamports }) => lamports !== '0');
    for (const account of live.sort((left, right) => Number(left.executable) - Number(right.executable)))
      this.#set(account);
    if (journal.bytes > replaceAfterBytes) this.#replaceJournal();
  }

  get genesisHash(): string {
    return this.#genesis.hash;
  }

  account(address: string): KeptAccount | null {
    const account = this.#svm.getAccount(address as SvmAddress);
    if (!account.exists || account.lamports === 0n) return null;
    return {
      address,
      lamports: String(account.lamports),
      owner: account.programAddress,
      executable: account.executable,
      data: Buffer.from(account.data).toString('base64'),
    };
  }

  /**
   * Keeps the transactions that this address pays for, no matter how many others there are. Throws
   * LedgerStoppedError.
   */
  keepOf(payer: string): void {
    if (this.history.payers.has(payer)) return;
    this.#append({ kind: 'payer', address: payer });
    this.history.keepOf(payer);
  }

  minimumBalance(bytes: number): number {
    return Number(this.#svm.minimumBalanceForRentExemption(BigInt(bytes)));
  }

  /**
   * Executes a transaction like a validator's RPC with preflight, and returns its signature. Throws
   * RpcError, and then nothing has changed.
   */
  send(bytes: Buffer): string {
    const wire = readTransaction(bytes);
    const simulated = this.#simulate(wire);
    if (simulated.err === 'SignatureFailure') {
      throw new RpcError(RPC_ERROR.SIGNATURE_FAILURE, 'Transaction signature verification failure');
    }
    let { err } = simulated;
    if (!this.blocks.isValid(wire.blockhash)) err = 'BlockhashNotFound';
    if (this.history.get(wire.signature)) err = 'AlreadyProcessed';
    if (err !== null) {
      const reason = typeof err === 'string' ? err : JSON.stringify(err);
      throw new RpcError(RPC_ERROR.PREFLIGHT_FAILURE, `Transaction simulation failed: ${reason}`, {
        err,
        logs: simulated.logs,
      });
    }
    this.#execute(wire, simulated.blockTime);
    return wire.signature;
  }

  /** Creates lamports for a wallet with a transaction of the faucet, and returns its signature. */
  airdrop(address: string, amount: number): string {
    const account = this.account(address) ?? emptyAccount(address);
    const lamports = BigInt(account.lamports) + BigInt(amount);
    if (account.owner !== SYSTEM_PROGRAM || account.data !== '') throw invalidParams('the account is no wallet');
    // Keeps every balance an exact number in JSON.
    if (lamports > Number.MAX_SAFE_INTEGER) throw invalidParams('the wallet would hold too much');
    this.#set({ ...emptyAccount(this.#faucet.address), lamports: String(FAUCET_LAMPORTS) });
    return this.send(this.#faucet.transfer(address, amount, this.blocks.latestBlockhash));
  }

  /** Executes a transaction without effect, at the next block's time. */
  #simulate(wire: WireTransaction): { err: TransactionError | null; logs: string[]; blockTime: number } {
    const blockTime = Math.max(Math.floor(Date.now() / 1000), this.history.newest?.content.blockTime ?? 0);
    this.#svm.setClock(new this.#module.Clock(BigInt(this.blocks.height + 1), 0n, 0n, 0n, BigInt(blockTime)));
    const result = this.#svm.simulateTransaction(wire.transaction as unknown as SvmTransaction);
    return { err: this.#errorOf(result), logs: result.meta().logs(), blockTime };
  }

  /** Executes a transaction at the simulated time, and makes it durable as the next block. */
  #execute({ transaction, signature, wire, writable, message }: WireTransaction, blockTime: number): void {
    const slot = this.blocks.height + 1;
    const addresses: string[] = [...message.staticAccounts];
    const balances = () => addresses.map((address) => Number(this.account(address)?.lamports ?? 0));
    const before = balances();
    const result = this.#svm.sendTransaction(transaction as unknown as SvmTransaction);
    const meta = result instanceof this.#module.FailedTransactionMetadata ? result.meta() : result;
    const content = { wire, blockTime, addresses, before, after: balances(), ...executionOf(meta) };
    this.#record({ signature, slot, err: this.#errorOf(result), content }, writable);
  }

  #record(transaction: TransactionRecord, written: readonly string[]): void {
    for (const address of written) this.#touched.add(address);
    const accounts = written.map((address) => this.account(address) ?? emptyAccount(address));
    this.#append({ kind: 'transaction', transaction, accounts });
    this.blocks.advance();
    this.history.add(transaction);
    if (this.#journal.bytes > this.#replaceAtBytes) this.#replaceJournal();
  }

  #errorOf(result: object): TransactionError | null {
    return result instanceof this.#module.FailedTransactionMetadata ? transactionError(result) : null;
  }

  #set({ address, lamports, owner, executable, data }: KeptAccount): void {
    this.#touched.add(address);
    const bytes = Buffer.from(data, 'base64');
    this.#svm.setAccount({
      address,
      lamports: BigInt(lamports),
      programAddress: owner,
      executable,
      data: bytes,
      space: BigInt(bytes.length),
    } as unknown as Parameters<LiteSVM['setAccount']>[0]);
  }

  #append(line: JournalLine): void {
    try {
      this.#journal.append(line);
    } catch (error) {
      throw new LedgerStoppedError('The embedded ledger cannot write its journal.', { cause: error });
    }
  }

  #replaceJournal(): void {
    this.#journal.replace(this.#everything());
    this.#replaceAtBytes = this.#journal.bytes + this.#replaceAfterBytes;
  }

  *#everything(): Iterable<JournalLine> {
    yield this.#genesis;
    yield { kind: 'blocks', height: this.blocks.reserved };
    for (const address of this.history.payers) yield { kind: 'payer', address };
    for (const address of this.#touched) {
      const account = this.account(address);
      if (account) yield { kind: 'account', account };
      else this.#touched.delete(address);
    }
    for (const transaction of this.history.all()) yield { kind: 'transaction', transaction, accounts: [] };
  }
}

function newGenesis(): JournalLine & { kind: 'genesis' } {
  const now = Date.now();
  const height = Math.max(1_000, Math.floor((now - HEIGHT_EPOCH_MS) / MS_PER_HEIGHT));
  const hash = base58.decode(randomBytes(32));
  return { kind: 'genesis', format: 1, hash, height, createdAt: new Date(now).toISOString() };
}

/** Returns the parts of an execution that a transaction's record keeps. */
function executionOf(meta: ExecutionMeta) {
  const inner = meta.innerInstructions().map((called, index) => ({
    index,
    instructions: called.map((each): CompiledInstruction => {
      const instruction = each.instruction();
      return {
        programIdIndex: instruction.programIdIndex(),
        accounts: [...instruction.accounts()],
        data: base58.decode(instruction.data()),
        stackHeight: each.stackHeight(),
      };
    }),
  }));
  return {
    units: Number(meta.computeUnitsConsumed()),
    logs: meta.logs(),
    inner: inner.filter(({ instructions }) => instructions.length > 0),
  };
}

function emptyAccount(address: string): KeptAccount {
  return { address, lamports: '0', owner: SYSTEM_PROGRAM, executable: false, data: '' };
}
