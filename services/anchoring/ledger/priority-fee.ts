import { feesAt } from './answers.ts';
import type { RpcPool } from './rpc-pool.ts';

const KEEP_MS = 10_000;
/** Micro-lamports per compute unit; with 60,000 units at most 6,000 lamports beyond the base fee. */
const MAX_MICRO_LAMPORTS = 100_000n;

/** What others paid of late to be taken first: the 75th percentile of recent blocks, capped, asked for at most every 10 s. */
export class PriorityFee {
  readonly #pool: RpcPool;
  readonly #nowMs: () => number;
  #known: { microLamports: bigint; atMs: number } | null = null;

  constructor(pool: RpcPool, nowMs: () => number) {
    this.#pool = pool;
    this.#nowMs = nowMs;
  }

  async microLamports(): Promise<bigint> {
    if (!this.#known || this.#nowMs() - this.#known.atMs > KEEP_MS) {
      const recent = await this.#pool.call(feesAt);
      const fees = recent.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      const fee = fees[Math.floor(fees.length * 0.75)] ?? 0n;
      this.#known = { microLamports: fee < MAX_MICRO_LAMPORTS ? fee : MAX_MICRO_LAMPORTS, atMs: this.#nowMs() };
    }
    return this.#known.microLamports;
  }
}
