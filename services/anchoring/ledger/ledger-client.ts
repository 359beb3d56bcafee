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
import type { CollectionRoot } from '../../../lib/shard/collection-root.ts';
import {
  type AccountState,
  type AccountView,
  accountAt,
  COMMITMENT,
  type FinalizedBlock,
  finalizedBlock,
  newestSignatureOf,
  type TransactionStatus,
} from './answers.ts';
import {
  accountBytes,
  closeInstructions,
  collectionAddress,
  createInstructions,
  updateInstructions,
} from './collection-account.ts';
import { PriorityFee } from './priority-fee.ts';
import { isAnswer, LedgerUnreachableError, type RpcPool } from './rpc-pool.ts';
import { SignatureStatuses } from './signature-statuses.ts';
import { blockhash, rentOf } from './signing-terms.ts';

/** A transaction with what is needed to follow it; `wire` is base64. */
export interface SignedTransaction {
  signature: string;
  wire: string;
  lastValidBlockHeight: bigint;
  /** Of the blockhash: no block past `lastValidBlockHeight`, 150 blocks on, takes the transaction. */
  slot: bigint;
}

/** What a store believes of a collection's account: an anchor's row. */
export interface Believed {
  created: boolean;
  confirmed: { version: number } | null;
}

/** What is believed of the account of a collection that has no row. */
export const NOTHING: Believed = { created: false, confirmed: null };

/** A block that is this old is lower than it should be, which only makes a transaction seem alive for longer. */
const FINALIZED_MAX_AGE_MS = 500;
/** Everything that is done on the ledger. Throws LedgerUnreachableError, or the ledger's own errors. */
export class LedgerClient {
  readonly authority: string;
  readonly #pool: RpcPool;
  readonly #signer: KeyPairSigner;
  readonly #priorityFee: PriorityFee;
  readonly #statuses: SignatureStatuses;
  readonly #nowMs: () => number;
  #rent: { bytes: number; lamports: bigint } | null = null;
  #finalized: { asked: ReturnType<LedgerClient['finalizedBlock']>; atMs: number } | null = null;

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

  /** As a node shows it that has come to the slot. */
  async read(collectionId: string, atSlot = 0n): Promise<AccountState> {
    const asked = await this.#asked(collectionId, atSlot);
    return (await this.#pool.call((rpc, abortSignal) => accountAt(rpc, abortSignal, asked))).account;
  }

  /**
   * Asks every endpoint and believes the one that has come furthest. Throws LedgerUnreachableError also where that one shows less than is believed, and another one
   * does not answer, which may have come further.
   */
  async survey(collectionId: string, believed: Believed): Promise<AccountView> {
    const asked = await this.#asked(collectionId, 0n);
    const { answers, missing } = await this.#pool.callEach((rpc, abortSignal) => accountAt(rpc, abortSignal, asked));
    const view = furthest(answers);
    if (missing > 0 && showsLess(view.account, believed))
      throw new LedgerUnreachableError('The ledger endpoints that can be reached may be behind.');
    return view;
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

  /**
   * The newest one that any endpoint knows: past a transaction's last valid height there, no fork can take it any more, and whoever has come to its slot knows whether
   * one did. An endpoint that is behind, or follows the ledger no more, does not count as long as another one answers.
   */
  finalizedBlock(): Promise<FinalizedBlock & { missing: number }> {
    const nowMs = this.#nowMs();
    if (this.#finalized === null || nowMs - this.#finalized.atMs > FINALIZED_MAX_AGE_MS) {
      const finalized = { asked: this.#askFinalizedBlock(), atMs: nowMs };
      this.#finalized = finalized;
      finalized.asked.catch(() => {
        if (this.#finalized === finalized) this.#finalized = null;
      });
    }
    return this.#finalized.asked;
  }

  async #askFinalizedBlock() {
    const { answers, missing } = await this.#pool.callEach(finalizedBlock);
    return { ...furthest(answers), missing };
  }

  /** Signature of the newest successful transaction that named the collection's account, as a node knows it that has come to the slot; null when it knows none. */
  async newestSignature(collectionId: string, atSlot: bigint): Promise<string | null> {
    const asked = await this.#asked(collectionId, atSlot);
    return this.#pool.call((rpc, abortSignal) => newestSignatureOf(rpc, abortSignal, asked));
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

  async #asked(collectionId: string, atSlot: bigint) {
    return { address: await this.#mint(collectionId), authority: this.authority, atSlot };
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
      slot: lifetime.slot,
    };
  }
}

function furthest<T extends { slot: bigint }>(answers: T[]): T {
  const [first, ...others] = answers;
  if (first === undefined) throw new LedgerUnreachableError('No ledger endpoint can be reached.');
  return others.reduce((best, each) => (each.slot > best.slot ? each : best), first);
}

/** As an endpoint would that is behind. */
function showsLess(account: AccountState, { created, confirmed }: Believed): boolean {
  if (account.status === 'absent') return created || confirmed !== null;
  return account.status === 'found' && (account.fields?.version ?? 0) < (confirmed?.version ?? 0);
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
