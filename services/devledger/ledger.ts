/**
 * A Solana ledger in one process: LiteSVM runs the programs; blocks, signatures, history and
 * durability, which it lacks, are here.
 *
 * Promises
 * - Calls are synchronous and one at a time: a transaction is executed, written to the journal and
 *   durable before anybody hears of it.
 * - A start restores accounts byte by byte from the journal; nothing is executed again.
 * - A fault of the journal (disk full) throws `LedgerStoppedError`: the memory is then ahead of the
 *   disk and the process must end.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  appendTransactionMessageInstruction,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getBase58Decoder,
  getBase64EncodedWireTransaction,
  type KeyPairSigner,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/web3.js';
import { getTransferSolInstruction } from '@solana-program/system';
import type { FailedTransactionMetadata, LiteSVM, SimulatedTransactionInfo, TransactionMetadata } from 'litesvm';
import { BLOCKHASH_BLOCKS, BlockClock } from './block-clock.ts';
import type { Journal, JournalLine } from './journal.ts';
import type { AccountState, InnerInstructions, TransactionError, TransactionRecord } from './ledger-state.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';
import { transactionError } from './transaction-error.ts';
import { TransactionHistory } from './transaction-history.ts';
import { readTransaction, signaturesHold, type WireTransaction } from './wire-transaction.ts';

type SvmModule = typeof import('litesvm');
type SvmAddress = Parameters<LiteSVM['getAccount']>[0];
type SvmTransaction = Parameters<LiteSVM['sendTransaction']>[0];

export class LedgerStoppedError extends Error {
  override name = 'LedgerStoppedError';
}

/** All there is, in lamports; below 2^53 so that every balance is exact in JSON. */
const SUPPLY = 9_000_000_000_000_000n;
export const AIRDROP_MAX_LAMPORTS = 1_000_000_000_000_000;
/** The journal is written anew when it holds this much more than after the last time. */
export const REPLACE_AFTER_BYTES = 32 * 1024 * 1024;
/**
 * Heights start near the wall clock's, so that a ledger made later stands higher than any made
 * before.
 */
const HEIGHT_EPOCH_MS = Date.UTC(2024, 0, 1);
const MS_PER_HEIGHT = 400;
const LAMPORTS_PER_SIGNATURE = 5_000;
const MEMO_PROGRAM = /^Memo/;

const base58 = getBase58Decoder();
const seconds = (): number => Math.floor(Date.now() / 1000);

export interface Simulation {
  err: TransactionError | null;
  logs: string[];
  unitsConsumed: number;
}

export class Ledger {
  readonly genesisHash: string;
  readonly history = new TransactionHistory();
  readonly blocks: BlockClock;
  readonly #svm: LiteSVM;
  readonly #failed: SvmModule['FailedTransactionMetadata'];
  readonly #clock: SvmModule['Clock'];
  readonly #journal: Journal;
  readonly #genesis: JournalLine & { kind: 'genesis' };
  readonly #faucet: KeyPairSigner;
  /** Addresses whose state differs from a fresh LiteSVM's. */
  readonly #touched = new Set<string>();
  #airdrops: Promise<void> = Promise.resolve();
  readonly #replaceAfterBytes: number;
  #replaceAtBytes: number;

  private constructor(
    module: SvmModule,
    journal: Journal,
    genesis: JournalLine & { kind: 'genesis' },
    height: number,
    faucet: KeyPairSigner,
    replaceAfterBytes: number,
  ) {
    this.#replaceAfterBytes = replaceAfterBytes;
    this.#replaceAtBytes = replaceAfterBytes;
    this.#svm = new module.LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
    this.#failed = module.FailedTransactionMetadata;
    this.#clock = module.Clock;
    this.#journal = journal;
    this.#genesis = genesis;
    this.#faucet = faucet;
    this.genesisHash = genesis.hash;
    this.blocks = new BlockClock(genesis.hash, height, (reserved) =>
      this.#append({ kind: 'blocks', height: reserved }),
    );
  }

  /** Restores the ledger that the journal's lines tell of; a new one when there are none. */
  static async open(
    module: SvmModule,
    journal: Journal,
    lines: JournalLine[],
    replaceAfterBytes = REPLACE_AFTER_BYTES,
  ): Promise<Ledger> {
    const [first] = lines;
    const genesis = first?.kind === 'genesis' ? first : newGenesis();
    if (!first) journal.append(genesis);
    let height = genesis.height;
    const accounts = new Map<string, AccountState>();
    const transactions: TransactionRecord[] = [];
    for (const line of lines) {
      if (line.kind === 'blocks') height = Math.max(height, line.height);
      if (line.kind === 'account') accounts.set(line.account.address, line.account);
      if (line.kind === 'transaction') {
        height = Math.max(height, line.transaction.slot);
        transactions.push(line.transaction);
        for (const account of line.accounts) accounts.set(account.address, account);
      }
    }
    const seed = createHash('sha256').update(`provec embedded ledger faucet ${genesis.hash}`).digest();
    const faucet = await createKeyPairSignerFromPrivateKeyBytes(seed);
    const ledger = new Ledger(module, journal, genesis, height, faucet, replaceAfterBytes);
    ledger.#restore(accounts);
    for (const transaction of transactions) ledger.history.add(transaction);
    if (journal.bytes > replaceAfterBytes) ledger.#replaceJournal();
    return ledger;
  }

  account(address: string): AccountState | null {
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

  balance(address: string): number {
    return Number(this.#svm.getBalance(address as SvmAddress) ?? 0n);
  }

  minimumBalance(bytes: number): number {
    return Number(this.#svm.minimumBalanceForRentExemption(BigInt(bytes)));
  }

  fee(numSigners: number): number {
    return numSigners * LAMPORTS_PER_SIGNATURE;
  }

  /** Executes without effect. */
  simulate(wire: WireTransaction): Simulation {
    this.#setClock(this.blocks.height + 1, seconds());
    const result = this.#svm.simulateTransaction(wire.transaction as unknown as SvmTransaction);
    const err = this.#isFailure(result) ? transactionError(result) : null;
    return { err, logs: result.meta().logs(), unitsConsumed: Number(result.meta().computeUnitsConsumed()) };
  }

  /**
   * Takes a transaction as a validator's RPC does and gives its signature. Throws RpcError; then
   * nothing has happened.
   */
  send(bytes: Buffer, skipPreflight: boolean): string {
    const wire = readTransaction(bytes);
    if (!signaturesHold(wire)) {
      throw new RpcError(RPC_ERROR.SIGNATURE_FAILURE, 'Transaction signature verification failure');
    }
    const refusal = this.refusal(wire);
    const simulation = refusal ? { err: refusal, logs: [], unitsConsumed: 0 } : this.simulate(wire);
    if (simulation.err !== null && !skipPreflight) throw preflightFailure(simulation);
    if (!refusal) this.#execute(wire);
    return wire.signature;
  }

  /** Why the next block cannot take the transaction, before it is executed. */
  refusal(wire: WireTransaction): TransactionError | null {
    if (this.history.find(wire.signature)) return 'AlreadyProcessed';
    return this.blocks.isValid(wire.blockhash) ? null : 'BlockhashNotFound';
  }

  /** Pays out from the faucet by an ordinary transfer and gives its signature. */
  airdrop(address: string, amount: number): Promise<string> {
    // One after the other: two like transfers with one blockhash would be one transaction.
    const paid = this.#airdrops.then(() => this.#payOut(address, amount));
    this.#airdrops = paid.then(
      () => {},
      () => {},
    );
    return paid;
  }

  async #payOut(address: string, amount: number): Promise<string> {
    const instruction = getTransferSolInstruction({
      source: this.#faucet,
      destination: address as KeyPairSigner['address'],
      amount: lamports(BigInt(amount)),
    });
    const lastValidBlockHeight = BigInt(this.blocks.height + BLOCKHASH_BLOCKS);
    const message = pipe(
      createTransactionMessage({ version: 'legacy' }),
      (empty) => setTransactionMessageFeePayerSigner(this.#faucet, empty),
      (paid) =>
        setTransactionMessageLifetimeUsingBlockhash(
          { blockhash: this.blocks.latestBlockhash as never, lastValidBlockHeight },
          paid,
        ),
      (timed) => appendTransactionMessageInstruction(instruction, timed),
    );
    const signed = await signTransactionMessageWithSigners(message);
    return this.send(Buffer.from(getBase64EncodedWireTransaction(signed), 'base64'), false);
  }

  close(): void {
    this.#journal.close();
  }

  #execute(wire: WireTransaction): void {
    const slot = this.blocks.height + 1;
    const blockTime = seconds();
    this.#setClock(slot, blockTime);
    const preBalances = wire.addresses.map((address) => this.balance(address));
    const result = this.#svm.sendTransaction(wire.transaction as unknown as SvmTransaction);
    const postBalances = wire.addresses.map((address) => this.balance(address));
    const err = this.#isFailure(result) ? transactionError(result) : null;
    // A transaction that cannot even pay its fee leaves no trace on a ledger.
    if (err !== null && preBalances[0] === postBalances[0]) return;
    const meta = this.#isFailure(result) ? result.meta() : result;
    const transaction: TransactionRecord = {
      signature: wire.signature,
      slot,
      blockTime,
      wire: wire.bytes.toString('base64'),
      version: wire.version,
      addresses: wire.addresses,
      memo: memoOf(wire),
      fee: this.fee(wire.message.header.numSignerAccounts),
      err,
      logs: meta.logs(),
      computeUnits: Number(meta.computeUnitsConsumed()),
      preBalances,
      postBalances,
      inner: innerInstructions(meta),
    };
    const accounts = wire.writable.map((address) => {
      this.#touched.add(address);
      return this.account(address) ?? goneAccount(address);
    });
    this.#append({ kind: 'transaction', transaction, accounts });
    this.blocks.advance();
    this.history.add(transaction);
    if (this.#journal.bytes > this.#replaceAtBytes) this.#replaceJournal();
  }

  #isFailure(
    result: TransactionMetadata | SimulatedTransactionInfo | FailedTransactionMetadata,
  ): result is FailedTransactionMetadata {
    return result instanceof this.#failed;
  }

  #setClock(slot: number, unixTimestamp: number): void {
    this.#svm.setClock(new this.#clock(BigInt(slot), 0n, 0n, 0n, BigInt(unixTimestamp)));
  }

  #restore(accounts: Map<string, AccountState>): void {
    const faucet = this.#faucet.address as string;
    const fresh = { address: faucet, lamports: String(SUPPLY), owner: '1'.repeat(32), executable: false, data: '' };
    if (!accounts.has(faucet)) accounts.set(faucet, fresh);
    // A program can only be loaded when the account that holds its code is there.
    const live = [...accounts.values()].filter((account) => account.lamports !== '0');
    const ordered = live.sort((left, right) => Number(left.executable) - Number(right.executable));
    for (const account of ordered) {
      this.#touched.add(account.address);
      const data = Buffer.from(account.data, 'base64');
      this.#svm.setAccount({
        address: account.address,
        lamports: BigInt(account.lamports),
        programAddress: account.owner,
        executable: account.executable,
        data,
        space: BigInt(data.length),
      } as unknown as Parameters<LiteSVM['setAccount']>[0]);
    }
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

function goneAccount(address: string): AccountState {
  return { address, lamports: '0', owner: '1'.repeat(32), executable: false, data: '' };
}

function preflightFailure({ err, logs, unitsConsumed }: Simulation): RpcError {
  const said = typeof err === 'string' ? err : JSON.stringify(err);
  return new RpcError(RPC_ERROR.PREFLIGHT_FAILURE, `Transaction simulation failed: ${said}`, {
    accounts: null,
    err,
    innerInstructions: null,
    logs,
    returnData: null,
    unitsConsumed,
  });
}

function innerInstructions(meta: TransactionMetadata): InnerInstructions[] {
  return meta
    .innerInstructions()
    .map((list, index) => ({
      index,
      instructions: list.map((inner) => ({
        programIdIndex: inner.instruction().programIdIndex(),
        accounts: [...inner.instruction().accounts()],
        data: base58.decode(inner.instruction().data()),
        stackHeight: inner.stackHeight(),
      })),
    }))
    .filter(({ instructions }) => instructions.length > 0);
}

function memoOf({ message }: WireTransaction): string | null {
  const memos = message.instructions
    .filter(({ programAddressIndex }) => MEMO_PROGRAM.test(message.staticAccounts[programAddressIndex] ?? ''))
    .map(({ data }) => `[${data?.length ?? 0}] ${Buffer.from(data ?? []).toString()}`);
  return memos.length > 0 ? memos.join('; ') : null;
}
