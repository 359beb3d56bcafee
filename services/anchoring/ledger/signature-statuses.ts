import type { Signature } from '@solana/web3.js';
import type { RpcPool } from './rpc-pool.ts';

/** 'failed': it was processed with an error and will never be anything else. 'unknown': not processed so far, or not yet confirmed. */
export type TransactionStatus = { status: 'confirmed' | 'unknown' } | { status: 'failed'; reason: string };

/** What a node takes in one call. */
const SIGNATURES_MAX = 256;
/** So long others are waited for that ask as well. */
const GATHER_MS = 10;

interface Question {
  signature: string;
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

  /** Throws LedgerUnreachableError, or the ledger's own errors. */
  of(signature: string): Promise<TransactionStatus> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ signature, resolve, reject });
      if (this.#questions.length === 1) setTimeout(() => void this.#ask(), GATHER_MS);
      if (this.#questions.length === SIGNATURES_MAX) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const questions = this.#questions;
    this.#questions = [];
    if (questions.length === 0) return;
    const signatures = questions.map(({ signature }) => signature as Signature);
    try {
      const { value } = await this.#pool.call((rpc, abortSignal) =>
        rpc.getSignatureStatuses(signatures, { searchTransactionHistory: true }).send({ abortSignal }),
      );
      for (const [at, { resolve }] of questions.entries()) resolve(statusOf(value[at] ?? null));
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }
}

function statusOf(found: { confirmationStatus: string | null; err: unknown } | null): TransactionStatus {
  if (!found || found.confirmationStatus === null || found.confirmationStatus === 'processed') {
    return { status: 'unknown' };
  }
  if (found.err === null) return { status: 'confirmed' };
  const reason = JSON.stringify(found.err, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  return { status: 'failed', reason };
}
