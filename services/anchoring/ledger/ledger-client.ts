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
import { CLOCK_ADDRESS, clockMs } from './ledger-clock.ts';
import { PriorityFee } from './priority-fee.ts';
import { isAnswer, type RpcPool } from './rpc-pool.ts';
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

/** An account as a node of the ledger shows it. */
export interface AccountView {
  account: AccountState;
  /** The ledger's own time (Unix) at the block that this was read from: a node that is behind shows an earlier one. */
  ledgerMs: number;
}

/** Of the newest blocks a fork may still take back the last ones; two thirds of the stake have voted on a confirmed one. */
const COMMITMENT = 'confirmed';
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

  async read(collectionId: string): Promise<AccountState> {
    return (await this.view(collectionId)).account;
  }

  /** From a node that has seen the slot. */
  async view(collectionId: string, atSlot = 0n): Promise<AccountView> {
    const address = await this.#mint(collectionId);
    // One byte more than what is taken, so that a longer one is seen to be longer.
    const dataSlice = { offset: 0, length: ACCOUNT_BYTES_MAX + 1 };
    const options = { encoding: 'base64', commitment: COMMITMENT, dataSlice, minContextSlot: atSlot } as const;
    return this.#pool.call(async (rpc, abortSignal) => {
      // Of one block, as one call gives them.
      const asked = rpc.getMultipleAccounts([address, CLOCK_ADDRESS], options).send({ abortSignal });
      const [account, clock] = (await asked).value;
      const ledgerMs = clockMs(clock ?? null);
      if (!account) return { account: { status: 'absent' }, ledgerMs };
      const bytes = Buffer.from(account.data[0], 'base64');
      return { account: readAccount(bytes, account.owner, this.authority, address), ledgerMs };
    });
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
