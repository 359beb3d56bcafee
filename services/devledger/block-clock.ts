/**
 * Slots and blockhashes of the embedded ledger. Slot and block height are one number. A block is
 * made for every transaction, and when a caller asks and at least `BLOCK_MS` have passed since the
 * last one: time passes for those who wait for it, and a ledger that is idle or stopped lets no
 * transaction expire.
 *
 * Blockhashes are a function of genesis and height, so those handed out before a restart stay known
 * after it.
 */
import { createHash } from 'node:crypto';
import { getBase58Decoder } from '@solana/web3.js';

const BLOCK_MS = 400;
/**
 * Heights that are written down ahead, so that not every block costs an fsync: what a restart may
 * skip.
 */
const RESERVED_BLOCKS = 16;
/** For how many blocks a blockhash can be used, as on Solana. */
export const BLOCKHASH_BLOCKS = 150;

const base58 = getBase58Decoder();

export class BlockClock {
  readonly #genesisHash: string;
  readonly #reserve: (height: number) => void;
  readonly #heightOf = new Map<string, number>();
  #height: number;
  #reserved: number;
  #lastBlockMs = performance.now();

  /**
   * `height` is the highest that was ever shown; `reserve` must make a height durable before it
   * returns.
   */
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

  /** Makes a block if it is time for one. */
  tick(): void {
    if (performance.now() - this.#lastBlockMs < BLOCK_MS) return;
    if (this.#height + 1 > this.#reserved) {
      this.#reserved = this.#height + RESERVED_BLOCKS;
      this.#reserve(this.#reserved);
    }
    this.advance();
  }

  /** The block of a transaction, whose record makes the height durable. */
  advance(): void {
    this.#height += 1;
    this.#reserved = Math.max(this.#reserved, this.#height);
    this.#lastBlockMs = performance.now();
    this.#heightOf.set(this.latestBlockhash, this.#height);
    this.#heightOf.delete(this.hashAt(this.#height - BLOCKHASH_BLOCKS - 1));
  }

  /** Whether the next block may take a transaction with this blockhash. */
  isValid(blockhash: string): boolean {
    const height = this.#heightOf.get(blockhash);
    return height !== undefined && this.#height + 1 <= height + BLOCKHASH_BLOCKS;
  }

  /** The blockhash of the block at a height. */
  hashAt(height: number): string {
    const digest = createHash('sha256').update(`provec embedded ledger block ${this.#genesisHash} ${height}`).digest();
    return base58.decode(digest);
  }
}
