import type { Signature } from '@solana/web3.js';
import { EndpointError } from './http-transport.ts';
import type { RpcPool } from './rpc-pool.ts';

/** 'failed': it was processed with an error and will never be anything else. 'processed': in a block that may still be taken back. 'unknown': in none. */
export type TransactionStatus =
  | { status: 'confirmed' | 'processed' | 'unknown' }
  | { status: 'failed'; reason: string };

/** What a node takes in one call. */
const SIGNATURES_MAX = 256;
/** So long others are waited for that ask as well. */
const GATHER_MS = 10;

interface Question {
  signature: string;
  atSlot: bigint;
  resolve(status: TransactionStatus): void;
  reject(error: unknown): void;
}

/** Asks for the statuses of many transactions in one call. */
export class SignatureStatuses {
  readonly #pool: RpcPool;
  #questions: Question[] = [];

  constructor(pool: RpcPool) {
    this.#pool = pool;
  }

  /** As a node knows it that has seen the slot, whichever endpoint named that. Throws LedgerUnreachableError, or the ledger's own errors. */
  of(signature: string, atSlot = 0n): Promise<TransactionStatus> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ signature, atSlot, resolve, reject });
      if (this.#questions.length === 1) setTimeout(() => void this.#ask(), GATHER_MS);
      if (this.#questions.length === SIGNATURES_MAX) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const questions = this.#questions;
    this.#questions = [];
    // What needs a slot must not keep the others from an answer.
    const anywhere = questions.filter(({ atSlot }) => atSlot === 0n);
    const atSlot = questions.filter((question) => question.atSlot > 0n);
    await Promise.all([anywhere, atSlot].map((some) => (some.length > 0 ? this.#askFor(some) : undefined)));
  }

  async #askFor(questions: Question[]): Promise<void> {
    const signatures = questions.map(({ signature }) => signature as Signature);
    const atSlot = questions.reduce((max, question) => (question.atSlot > max ? question.atSlot : max), 0n);
    try {
      const value = await this.#pool.call(async (rpc, abortSignal) => {
        const options = { searchTransactionHistory: true };
        const { context, value } = await rpc.getSignatureStatuses(signatures, options).send({ abortSignal });
        // This call alone takes no minContextSlot. Neither does an endpoint count that names no slot.
        if (atSlot > 0n && !(context.slot >= atSlot))
          throw new EndpointError(`The endpoint has not seen slot ${atSlot} yet.`);
        return value;
      });
      for (const [at, { resolve }] of questions.entries()) resolve(statusOf(value[at] ?? null));
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }
}

interface Found {
  confirmationStatus: string | null;
  /** Null: no fork can take it back. */
  confirmations: bigint | null;
  err: unknown;
}

function statusOf(found: Found | null): TransactionStatus {
  if (!found) return { status: 'unknown' };
  const { confirmationStatus, confirmations } = found;
  // Older nodes have no words for it.
  const isProcessed = confirmationStatus === null ? confirmations !== null : confirmationStatus === 'processed';
  if (isProcessed) return { status: 'processed' };
  if (found.err === null) return { status: 'confirmed' };
  const reason = JSON.stringify(found.err, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  return { status: 'failed', reason };
}
