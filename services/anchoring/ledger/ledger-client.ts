import {
  type Address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type IInstruction,
  type KeyPairSigner,
  lamports,
  pipe,
  type RequestAirdropApi,
  type Rpc as RpcOf,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/web3.js';
import type { CollectionId } from '../../../lib/ids.ts';
import type { AnchoredRoot } from '../../../lib/shard/collection-root.ts';
import {
  accountBytes,
  closeInstructions,
  collectionAddress,
  createInstructions,
  updateInstructions,
} from './collection-account.ts';
import { EndpointError } from './http-transport.ts';
import { LedgerUnreachableError, type Rpc, type RpcPool, type Send } from './rpc-pool.ts';
import {
  accountAt,
  balanceOf,
  type FinalizedBlock,
  finalizedBlock,
  type LedgerAccount,
  type LedgerAccountView,
  submitTransaction,
  type TransactionStatus,
} from './rpc-responses.ts';
import { batchedStatuses } from './signature-statuses.ts';
import { blockhash, priorityFee, rentOf } from './signing-inputs.ts';
import { cached } from './ttl-cache.ts';

/** Signed transaction with what is needed to track it; `wire` is base64. */
export interface SignedTransaction {
  signature: string;
  wire: string;
  lastValidBlockHeight: bigint;
  /** Slot of the blockhash, 150 blocks before `lastValidBlockHeight`. */
  slot: bigint;
}

/** What the store expects of a collection's account; an anchor row has these fields. */
interface ExpectedAccount {
  created: boolean;
  confirmed: { version: number } | null;
}

/** Expectation for a collection without a row. */
const EXPECT_NOTHING: ExpectedAccount = { created: false, confirmed: null };

/** Maximum age of the cached block. An older one makes transactions seem alive for longer. */
const FINALIZED_MAX_AGE_MS = 500;
/** Time after which an endpoint that shows the same slot is faulty. A block takes 0.4 s. */
const STANDSTILL_MAX_MS = 30_000;
/** The minimum balance changes only with the ledger's software, if ever. */
const RENT_MAX_AGE_MS = 600_000;
const FEE_MAX_AGE_MS = 10_000;

/** All operations on the ledger. Throws LedgerUnreachableError, or the ledger's own errors. */
export class LedgerClient {
  readonly authority: string;
  readonly #pool: RpcPool;
  readonly #signer: KeyPairSigner;
  /** Returns a transaction's status from a node that has reached `atSlot`. */
  readonly status: (signature: string, atSlot?: bigint) => Promise<TransactionStatus>;
  readonly #monotonicMs: () => number;
  /**
   * Returns the newest finalized block that any endpoint knows, and the number of endpoints without
   * an answer. Past a transaction's last valid height there, no fork can include it any more, and a
   * node at that slot knows whether one did. Endpoints that lag or stand still do not count while
   * another answers.
   */
  readonly finalizedBlock: () => Promise<FinalizedBlock & { missing: number }>;
  /** The slot that each endpoint shows, and since when. */
  readonly #progress = new WeakMap<Rpc, { slot: bigint; sinceMs: number }>();
  /** In lamports. */
  readonly #rent: () => Promise<bigint>;
  /** In micro-lamports per compute unit. */
  readonly #fee: () => Promise<bigint>;

  constructor(pool: RpcPool, signer: KeyPairSigner, monotonicMs: () => number) {
    this.#pool = pool;
    this.#monotonicMs = monotonicMs;
    this.status = batchedStatuses(pool);
    this.#signer = signer;
    this.authority = signer.address;
    this.finalizedBlock = cached(() => this.#askFinalizedBlock(), FINALIZED_MAX_AGE_MS, monotonicMs);
    // All collections' accounts have the same size, so any address serves to compute it.
    const bytes = accountBytes(signer.address, signer.address);
    this.#rent = cached(() => pool.call((rpc, signal) => rentOf(rpc, signal, bytes)), RENT_MAX_AGE_MS, monotonicMs);
    this.#fee = cached(() => pool.call(priorityFee), FEE_MAX_AGE_MS, monotonicMs);
  }

  /** Returns the account's address in base58. Needs no connection. */
  address(collectionId: CollectionId): Promise<Address> {
    return collectionAddress(this.#signer.address, collectionId);
  }

  /** Reads the account from a node that has reached `atSlot`. */
  async read(collectionId: CollectionId, atSlot = 0n): Promise<LedgerAccount> {
    return (await this.#pool.call(await this.#accountOf(collectionId, atSlot))).account;
  }

  /**
   * Asks every endpoint and trusts the one with the highest slot. Also throws
   * LedgerUnreachableError if that one shows less than the store expects while another endpoint,
   * which may be ahead, did not answer. `expected` is null if no account is expected.
   */
  async survey(collectionId: CollectionId, expected: ExpectedAccount | null): Promise<LedgerAccountView> {
    const { answers, missing, cause } = await this.#pool.callEach(await this.#accountOf(collectionId));
    const view = furthest(answers);
    if (missing > 0 && !meetsExpectation(view.account, expected ?? EXPECT_NOTHING))
      throw new LedgerUnreachableError('The ledger endpoints that can be reached may be behind.', { cause });
    return view;
  }

  async signCreate(collectionId: CollectionId): Promise<SignedTransaction> {
    const mint = await this.address(collectionId);
    const rent = await this.#rent();
    return this.#sign(createInstructions(this.#signer, mint, collectionId, rent, await this.#fee()));
  }

  async signUpdate(collectionId: CollectionId, fields: AnchoredRoot): Promise<SignedTransaction> {
    const mint = await this.address(collectionId);
    return this.#sign(updateInstructions(this.#signer, mint, fields, await this.#fee()));
  }

  async signClose(collectionId: CollectionId): Promise<SignedTransaction> {
    const mint = await this.address(collectionId);
    return this.#sign(closeInstructions(this.#signer, mint, await this.#fee()));
  }

  /**
   * Sends a transaction to every endpoint, since an endpoint that accepts it need not forward it.
   * Returns null if any accepted it, now or before, else the reason for a refusal. The ledger may
   * still accept it later, so only its status and the block height decide.
   */
  async send(wire: string): Promise<string | null> {
    const { answers } = await this.#pool.callEach((rpc, abortSignal) => submitTransaction(rpc, abortSignal, wire));
    return answers.includes(null) ? null : answers[0];
  }

  async #askFinalizedBlock(): Promise<FinalizedBlock & { missing: number }> {
    const { answers, missing } = await this.#pool.callEach(async (rpc, abortSignal) => {
      const block = await finalizedBlock(rpc, abortSignal);
      this.#demandProgress(rpc, block.slot);
      return block;
    });
    return { ...furthest(answers), missing };
  }

  /**
   * Throws if an endpoint's slot has not advanced for too long. Otherwise a stuck endpoint could
   * pass for the newest while the others are slow or unreachable.
   */
  #demandProgress(rpc: Rpc, slot: bigint): void {
    const monotonicMs = this.#monotonicMs();
    const before = this.#progress.get(rpc);
    if (before?.slot !== slot) this.#progress.set(rpc, { slot, sinceMs: monotonicMs });
    else if (monotonicMs - before.sinceMs > STANDSTILL_MAX_MS)
      throw new EndpointError('The endpoint has not advanced for too long.');
  }

  /** The authority's balance in lamports. */
  balance(): Promise<bigint> {
    return this.#pool.call((rpc, abortSignal) => balanceOf(rpc, abortSignal, this.#signer.address));
  }

  /** Requests test funds, which only the embedded ledger and test clusters give. */
  async airdrop(amount: bigint): Promise<void> {
    await this.#pool.call((rpc, abortSignal) =>
      // The pool's type is that of mainnet, which has no airdrops.
      (rpc as unknown as RpcOf<RequestAirdropApi>)
        .requestAirdrop(this.#signer.address, lamports(amount))
        .send({ abortSignal }),
    );
  }

  async #accountOf(collectionId: CollectionId, atSlot = 0n): Promise<Send<LedgerAccountView>> {
    const asked = { address: await this.address(collectionId), authority: this.authority, atSlot };
    return (rpc, abortSignal) => accountAt(rpc, abortSignal, asked);
  }

  async #sign(instructions: IInstruction[]): Promise<SignedTransaction> {
    // Fetched right before signing, since the transaction's lifetime starts here.
    const finalized = await this.finalizedBlock();
    const lifetime = await this.#pool.call((rpc, abortSignal) => blockhash(rpc, abortSignal, finalized));
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

const furthest = <T extends { slot: bigint }>(answers: [T, ...T[]]): T =>
  answers.reduce((best, each) => (each.slot > best.slot ? each : best));

/** Returns true if an account is at, or past, the expected state. */
function meetsExpectation(account: LedgerAccount, { created, confirmed }: ExpectedAccount): boolean {
  if (account.status !== 'found') return account.status === 'absent' && !created && confirmed === null;
  return (account.fields?.version ?? 0) >= (confirmed?.version ?? 0);
}
