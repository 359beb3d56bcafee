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
  type AccountState,
  type AccountView,
  accountAt,
  balanceOf,
  type FinalizedBlock,
  finalizedBlock,
  handTo,
  type TransactionStatus,
} from './rpc-responses.ts';
import { gatheredStatuses } from './signature-statuses.ts';
import { blockhash, priorityFee, rentOf } from './signing-terms.ts';
import { cached } from './ttl-cache.ts';

/** A transaction with what is needed to follow it; `wire` is base64. */
export interface SignedTransaction {
  signature: string;
  wire: string;
  lastValidBlockHeight: bigint;
  /**
   * Of the blockhash: no block past `lastValidBlockHeight`, 150 blocks on, takes the transaction.
   */
  slot: bigint;
}

/** What a store believes of a collection's account: an anchor's row. */
interface Believed {
  created: boolean;
  confirmed: { version: number } | null;
}

/** Of the account of a collection that has no row. */
const NOTHING: Believed = { created: false, confirmed: null };

/**
 * A block that is this old is lower than it should be, which only makes a transaction seem alive
 * for longer.
 */
const FINALIZED_MAX_AGE_MS = 500;
/** A block takes 0.4 s as a rule. */
const STANDSTILL_MAX_MS = 30_000;
/** What an account must hold changes with the ledger's software, if ever. */
const RENT_MAX_AGE_MS = 600_000;
const FEE_MAX_AGE_MS = 10_000;

/**
 * Everything that is done on the ledger. Throws LedgerUnreachableError, or the ledger's own errors.
 */
export class LedgerClient {
  readonly authority: string;
  readonly #pool: RpcPool;
  readonly #signer: KeyPairSigner;
  /** As a node knows it that has come to the slot. */
  readonly status: (signature: string, atSlot?: bigint) => Promise<TransactionStatus>;
  readonly #monotonicMs: () => number;
  /**
   * The newest one that any endpoint knows: past a transaction's last valid height there, no fork
   * can take it any more, and whoever has come to its slot knows whether one did. An endpoint that
   * is behind, or follows the ledger no more, does not count as long as another one answers.
   */
  readonly finalizedBlock: () => Promise<FinalizedBlock & { missing: number }>;
  /** Since when an endpoint shows the slot that it shows. */
  readonly #progress = new WeakMap<Rpc, { slot: bigint; sinceMs: number }>();
  /** In lamports. */
  readonly #rent: () => Promise<bigint>;
  /** In micro-lamports per compute unit. */
  readonly #fee: () => Promise<bigint>;

  constructor(pool: RpcPool, signer: KeyPairSigner, monotonicMs: () => number) {
    this.#pool = pool;
    this.#monotonicMs = monotonicMs;
    this.status = gatheredStatuses(pool);
    this.#signer = signer;
    this.authority = signer.address;
    this.finalizedBlock = cached(() => this.#askFinalizedBlock(), FINALIZED_MAX_AGE_MS, monotonicMs);
    // Every collection's account has the same size; any address does to tell it.
    const bytes = accountBytes(signer.address, signer.address);
    this.#rent = cached(() => pool.call((rpc, signal) => rentOf(rpc, signal, bytes)), RENT_MAX_AGE_MS, monotonicMs);
    this.#fee = cached(() => pool.call(priorityFee), FEE_MAX_AGE_MS, monotonicMs);
  }

  /** Base58. Needs no connection. */
  address(collectionId: string): Promise<Address> {
    return collectionAddress(this.#signer.address, collectionId);
  }

  /** As a node shows it that has come to the slot. */
  async read(collectionId: string, atSlot = 0n): Promise<AccountState> {
    return (await this.#pool.call(await this.#accountOf(collectionId, atSlot))).account;
  }

  /**
   * Asks every endpoint and believes the one that has come furthest. Throws LedgerUnreachableError
   * also where that one does not bear out what is believed, and another one does not answer, which
   * may have come further. Null: nothing is believed.
   */
  async survey(collectionId: string, believed: Believed | null): Promise<AccountView> {
    const { answers, missing, cause } = await this.#pool.callEach(await this.#accountOf(collectionId));
    const view = furthest(answers);
    if (missing > 0 && !bearsOut(view.account, believed ?? NOTHING))
      throw new LedgerUnreachableError('The ledger endpoints that can be reached may be behind.', { cause });
    return view;
  }

  async signCreate(collectionId: string): Promise<SignedTransaction> {
    const mint = await this.address(collectionId);
    const rent = await this.#rent();
    return this.#sign(createInstructions(this.#signer, mint, collectionId, rent, await this.#fee()));
  }

  async signUpdate(collectionId: string, fields: AnchoredRoot): Promise<SignedTransaction> {
    const mint = await this.address(collectionId);
    return this.#sign(updateInstructions(this.#signer, mint, fields, await this.#fee()));
  }

  async signClose(collectionId: string): Promise<SignedTransaction> {
    const mint = await this.address(collectionId);
    return this.#sign(closeInstructions(this.#signer, mint, await this.#fee()));
  }

  /**
   * Hands the bytes to every endpoint: one that takes them need not hand them on. Null when the
   * ledger took them (now or before), else why it refused them: it may still take them later, so
   * that its status and the height decide.
   */
  async send(wire: string): Promise<string | null> {
    const { answers } = await this.#pool.callEach((rpc, abortSignal) => handTo(rpc, abortSignal, wire));
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
   * An endpoint that follows the ledger no more must not pass for the newest one while the others
   * are slow or away.
   */
  #demandProgress(rpc: Rpc, slot: bigint): void {
    const monotonicMs = this.#monotonicMs();
    const before = this.#progress.get(rpc);
    if (before?.slot !== slot) this.#progress.set(rpc, { slot, sinceMs: monotonicMs });
    else if (monotonicMs - before.sinceMs > STANDSTILL_MAX_MS)
      throw new EndpointError('The endpoint has stood still for too long.');
  }

  /** The authority's balance in lamports. */
  balance(): Promise<bigint> {
    return this.#pool.call((rpc, abortSignal) => balanceOf(rpc, abortSignal, this.#signer.address));
  }

  /** Only the embedded ledger and test clusters give money away. */
  async airdrop(amount: bigint): Promise<void> {
    await this.#pool.call((rpc, abortSignal) =>
      // The type is that of mainnet, which has no airdrops.
      (rpc as unknown as RpcOf<RequestAirdropApi>)
        .requestAirdrop(this.#signer.address, lamports(amount))
        .send({ abortSignal }),
    );
  }

  async #accountOf(collectionId: string, atSlot = 0n): Promise<Send<AccountView>> {
    const asked = { address: await this.address(collectionId), authority: this.authority, atSlot };
    return (rpc, abortSignal) => accountAt(rpc, abortSignal, asked);
  }

  async #sign(instructions: IInstruction[]): Promise<SignedTransaction> {
    // The blockhash right before signing: from then on the transaction ages.
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

/** Whether an account is what is believed, or further. */
function bearsOut(account: AccountState, { created, confirmed }: Believed): boolean {
  if (account.status !== 'found') return account.status === 'absent' && !created && confirmed === null;
  return (account.fields?.version ?? 0) >= (confirmed?.version ?? 0);
}
