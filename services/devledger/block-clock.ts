/**
 * Slots and blockhashes of the embedded ledger. Slot and block height are the same number. A block
 * is made for every transaction, and when a request arrives at least `BLOCK_MS` after the last
 * block. So time passes only while callers wait, and no transaction expires while the ledger is
 * idle or stopped.
 *
 * Blockhashes are derived from genesis and height, so they stay valid across restarts.
 */
import { createHash } from 'node:crypto';
import { getBase58Decoder } from '@solana/web3.js';

const BLOCK_MS = 400;
/** Heights made durable in advance, to save fsyncs. A restart may skip them. */
const RESERVED_BLOCKS = 16;
/** Number of blocks for which a blockhash is valid, as on Solana. */
export const BLOCKHASH_BLOCKS = 150;

const base58 = getBase58Decoder();

export class BlockClock {
  readonly #genesisHash: string;
  readonly #reserve: (height: number) => void;
  readonly #heightOf = new Map<string, number>();
  #height: number;
  #reserved: number;
  #lastBlockMs = performance.now();

  /** `height` is the highest ever shown. `reserve` must make a height durable. */
  constructor(genesisHash: string, height: number, reserve: (height: number) => void) {
    this.#genesisHash = genesisHash;
    this.#height = height;
    this.#reserved = height;
    this.#reserve = reserve;
    for (let past = height - BLOCKHASH_BLOCKS; past <= height; past++) this.#heightOf.set(this.hashAt(past), past);
  }

  get height(): number {
    return this.#height;
  }

  get reserved(): number {
    return this.#reserved;
  }

  get latestBlockhash(): string {
    return this.hashAt(this.#height);
  }

  /** Makes a block if one is due. */
  tick(): void {
    if (performance.now() - this.#lastBlockMs < BLOCK_MS) return;
    if (this.#height + 1 > this.#reserved) {
      this.#reserved = this.#height + RESERVED_BLOCKS;
      this.#reserve(this.#reserved);
    }
    this.advance();
  }

  /** Makes the block of a transaction, whose journal record makes the height durable. */
  advance(): void {
    this.#height += 1;
    this.#reserved = Math.max(this.#reserved, this.#height);
    this.#lastBlockMs = performance.now();
    this.#heightOf.set(this.latestBlockhash, this.#height);
    this.#heightOf.delete(this.hashAt(this.#height - BLOCKHASH_BLOCKS - 1));
  }

  /** Returns true if the next block may include a transaction with this blockhash. */
  isValid(blockhash: string): boolean {
    const height = this.#heightOf.get(blockhash);
    return height !== undefined && this.#height + 1 <= height + BLOCKHASH_BLOCKS;
  }

  hashAt(height: number): string {
    const digest = createHash('sha256').update(`provec embedded ledger block ${this.#genesisHash} ${height}`).digest();
    return base58.decode(digest);
  }
}
