import type { RpcPool } from './rpc-pool.ts';
import { statusesOf, type TransactionStatus } from './rpc-responses.ts';

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

  /**
   * As a node knows it that has come to the slot, whichever endpoint named that. Throws
   * LedgerUnreachableError, or the ledger's own errors.
   */
  of(signature: string, atSlot = 0n): Promise<TransactionStatus> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ signature, atSlot, resolve, reject });
      if (this.#questions.length === 1) setTimeout(() => void this.#ask(), GATHER_MS);
      if (this.#questions.length === SIGNATURES_MAX) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    // What needs a slot that no endpoint has come to must not keep the others from an answer.
    const bySlot = Map.groupBy(this.#questions, ({ atSlot }) => atSlot);
    this.#questions = [];
    await Promise.all([...bySlot].map(([atSlot, questions]) => this.#askAt(atSlot, questions)));
  }

  async #askAt(atSlot: bigint, questions: Question[]): Promise<void> {
    const signatures = questions.map(({ signature }) => signature);
    try {
      const found = await this.#pool.call((rpc, abortSignal) => statusesOf(rpc, abortSignal, { signatures, atSlot }));
      for (const [at, { resolve }] of questions.entries()) resolve(found[at]!);
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }
}
