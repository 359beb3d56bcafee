import {
  type Address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type IInstruction,
  type KeyPairSigner,
  lamports,
  pipe,
  type Signature,
  type SolanaError,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/web3.js';
import { ACCOUNT_BYTES_MAX } from '../../../client/verify/token-metadata.ts';
import type { CollectionRoot } from '../../../lib/shard/collection-root.ts';
import {
  type AccountReading,
  accountBytes,
  closeInstructions,
  collectionAddress,
  createInstructions,
  readAccount,
  updateInstructions,
} from './collection-account.ts';
import { EndpointError } from './http-transport.ts';
import { PriorityFee } from './priority-fee.ts';
import { isAnswer, type Rpc, type RpcPool } from './rpc-pool.ts';
import { SignatureStatuses, type TransactionStatus } from './signature-statuses.ts';
import { blockhash, rentOf } from './signing-terms.ts';

/** A transaction with what is needed to follow it; `wire` is base64. */
export interface SignedTransaction {
  signature: string;
  wire: string;
  lastValidBlockHeight: bigint;
}

/** A block that no fork can take back. */
export interface FinalizedBlock {
  slot: bigint;
  height: bigint;
}

/** An account as the ledger has it. */
export type AccountState = AccountReading | { status: 'absent' };

/** Of the newest blocks a fork may still take back the last ones; two thirds of the stake have voted on a confirmed one. */
const COMMITMENT = 'confirmed';
/** A block that is this old is lower than it should be, which only makes a transaction seem alive for longer. */
const FINALIZED_MAX_AGE_MS = 500;
/** A block takes 0.4 s as a rule. */
const STANDSTILL_MAX_MS = 30_000;

/** Everything that is done on the ledger. Throws LedgerUnreachableError, or the ledger's own errors. */
export class LedgerClient {
  readonly authority: string;
  readonly #pool: RpcPool;
  readonly #signer: KeyPairSigner;
  readonly #priorityFee: PriorityFee;
  readonly #statuses: SignatureStatuses;
  readonly #nowMs: () => number;
  /** Since when an endpoint shows the slot that it shows. */
  readonly #progress = new WeakMap<Rpc, { slot: bigint; sinceMs: number }>();
  #rent: { bytes: number; lamports: bigint } | null = null;
  #finalized: { asked: Promise<FinalizedBlock>; atMs: number } | null = null;

  constructor(pool: RpcPool, signer: KeyPairSigner, nowMs: () => number) {
    this.#pool = pool;
    this.#nowMs = nowMs;
    this.#statuses = new SignatureStatuses(pool);
    this.#signer = signer;
    this.authority = signer.address;
    this.#priorityFee = new PriorityFee(pool, nowMs);
  }

  /** Base58. Needs no connection. */
  address(collectionId: string): Promise<string> {
    return collectionAddress(this.#signer.address, collectionId);
  }

  /** As a node shows it that has seen the slot. */
  async read(collectionId: string, atSlot = 0n): Promise<AccountState> {
    const view = await this.#view(collectionId, atSlot);
    return (await this.#pool.call(view)).account;
  }

  /**
   * The account of which this version (0: that it is there; null: nothing) is known to have been confirmed. An endpoint that shows less may be behind: then every
   * endpoint is asked, and the one that has come furthest is believed.
   */
  async readSince(collectionId: string, version: number | null): Promise<AccountState> {
    const account = await this.read(collectionId);
    if (version === null || !showsLess(account, version)) return account;
    const views = await this.#pool.callEach(await this.#view(collectionId, 0n));
    return views.reduce((best, each) => (each.slot > best.slot ? each : best), { slot: -1n, account }).account;
  }

  async signCreate(collectionId: string): Promise<SignedTransaction> {
    const mint = await this.#mint(collectionId);
    const rent = await this.#rentOf(accountBytes(this.#signer.address, mint));
    const fee = await this.#priorityFee.microLamports();
    return this.#sign(createInstructions(this.#signer, mint, collectionId, rent, fee));
  }

  async signUpdate(collectionId: string, fields: CollectionRoot): Promise<SignedTransaction> {
    const mint = await this.#mint(collectionId);
    return this.#sign(updateInstructions(this.#signer, mint, fields, await this.#priorityFee.microLamports()));
  }

  async signClose(collectionId: string): Promise<SignedTransaction> {
    const mint = await this.#mint(collectionId);
    return this.#sign(closeInstructions(this.#signer, mint, await this.#priorityFee.microLamports()));
  }

  /** Hands the bytes to the ledger. Null when it took them (now or before), else why it refused them: it may still take them later, so that its status and the height decide. */
  async send(wire: string): Promise<string | null> {
    try {
      await this.#pool.call((rpc, abortSignal) =>
        rpc
          .sendTransaction(wire as Base64EncodedWireTransaction, {
            encoding: 'base64',
            preflightCommitment: COMMITMENT,
            maxRetries: 0n,
          })
          .send({ abortSignal }),
      );
      return null;
    } catch (error) {
      if (!isAnswer(error)) throw error;
      const reason = reasonOf(error);
      return /already been processed/.test(reason) ? null : reason;
    }
  }

  /** As a node knows it that has seen the slot. */
  status(signature: string, atSlot = 0n): Promise<TransactionStatus> {
    return this.#statuses.of(signature, atSlot);
  }

  /** The newest one: past a transaction's last valid height here, no fork can take it any more, and whoever has seen its slot knows whether one did. */
  finalizedBlock(): Promise<FinalizedBlock> {
    const nowMs = this.#nowMs();
    if (this.#finalized === null || nowMs - this.#finalized.atMs > FINALIZED_MAX_AGE_MS) {
      const asked = this.#pool.call(async (rpc, abortSignal) => {
        const { absoluteSlot, blockHeight } = await rpc.getEpochInfo({ commitment: 'finalized' }).send({ abortSignal });
        if (typeof absoluteSlot !== 'bigint' || typeof blockHeight !== 'bigint')
          throw new EndpointError('The endpoint does not say where the ledger is.');
        this.#demandProgress(rpc, absoluteSlot);
        return { slot: absoluteSlot, height: blockHeight };
      });
      const finalized = { asked, atMs: nowMs };
      this.#finalized = finalized;
      asked.catch(() => {
        if (this.#finalized === finalized) this.#finalized = null;
      });
    }
    return this.#finalized.asked;
  }

  /** An endpoint that stands still, as one that no longer follows the ledger, would have a transaction wait for ever. */
  #demandProgress(rpc: Rpc, slot: bigint): void {
    const nowMs = this.#nowMs();
    const before = this.#progress.get(rpc);
    if (before?.slot !== slot) this.#progress.set(rpc, { slot, sinceMs: nowMs });
    else if (nowMs - before.sinceMs > STANDSTILL_MAX_MS)
      throw new EndpointError('The endpoint has stood still for too long.');
  }

  /** Signature of the newest successful transaction that named the collection's account; null when the ledger knows none. */
  async newestSignature(collectionId: string): Promise<string | null> {
    const address = await this.#mint(collectionId);
    const found = await this.#pool.call((rpc, abortSignal) =>
      rpc.getSignaturesForAddress(address, { limit: 20, commitment: COMMITMENT }).send({ abortSignal }),
    );
    return found.find(({ err }) => err === null)?.signature ?? null;
  }

  /** The authority's balance in lamports. */
  async balance(): Promise<bigint> {
    const { value } = await this.#pool.call((rpc, abortSignal) =>
      rpc.getBalance(this.#signer.address, { commitment: COMMITMENT }).send({ abortSignal }),
    );
    return value;
  }

  /** Only the embedded ledger and test clusters give money away. */
  async airdrop(amount: bigint): Promise<void> {
    await this.#pool.call((rpc, abortSignal) =>
      // The type is that of mainnet, which has no airdrops.
      (rpc as unknown as AirdropRpc).requestAirdrop(this.#signer.address, lamports(amount)).send({ abortSignal }),
    );
  }

  /** How one endpoint is asked for an account. */
  async #view(collectionId: string, atSlot: bigint) {
    const address = await this.#mint(collectionId);
    // One byte more than what is taken, so that a longer one is seen to be longer.
    const dataSlice = { offset: 0, length: ACCOUNT_BYTES_MAX + 1 };
    const options = { encoding: 'base64', commitment: COMMITMENT, dataSlice, minContextSlot: atSlot } as const;
    return async (rpc: Rpc, abortSignal: AbortSignal): Promise<{ slot: bigint; account: AccountState }> => {
      const { context, value } = await rpc.getAccountInfo(address, options).send({ abortSignal });
      if (value === null) return { slot: context.slot, account: { status: 'absent' } };
      const bytes = Buffer.from(value.data[0], 'base64');
      return { slot: context.slot, account: readAccount(bytes, value.owner, this.authority, address) };
    };
  }

  #mint(collectionId: string): Promise<Address> {
    return collectionAddress(this.#signer.address, collectionId);
  }

  async #rentOf(bytes: number): Promise<bigint> {
    if (this.#rent?.bytes !== bytes) this.#rent = { bytes, lamports: await rentOf(this.#pool, bytes) };
    return this.#rent.lamports;
  }

  async #sign(instructions: IInstruction[]): Promise<SignedTransaction> {
    // The blockhash right before signing: from then on the transaction ages.
    const lifetime = await blockhash(this.#pool, (await this.finalizedBlock()).height);
    const message = pipe(
      createTransactionMessage({ version: 'legacy' }),
      (empty) => setTransactionMessageFeePayerSigner(this.#signer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
      (timed) => appendTransactionMessageInstructions(instructions, timed),
    );
    const signed = await signTransactionMessageWithSigners(message);
    return {
      signature: getSignatureFromTransaction(signed),
      wire: getBase64EncodedWireTransaction(signed),
      lastValidBlockHeight: lifetime.lastValidBlockHeight,
    };
  }
}

/** Whether an account is not there, or older than the version. */
function showsLess(account: AccountState, version: number): boolean {
  if (account.status !== 'found') return account.status === 'absent';
  return (account.fields?.version ?? 0) < version;
}

/** Of a failed preflight the cause says why, of a wrong request the ledger's own words. */
function reasonOf({ cause, context, message }: SolanaError): string {
  if (cause instanceof Error) return cause.message;
  return '__serverMessage' in context ? String(context.__serverMessage) : message;
}

interface AirdropRpc {
  requestAirdrop(
    address: Address,
    amount: ReturnType<typeof lamports>,
  ): { send(options: { abortSignal: AbortSignal }): Promise<Signature> };
}
