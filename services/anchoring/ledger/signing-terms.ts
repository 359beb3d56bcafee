/** What an endpoint must be believed to sign a transaction; none is believed what cannot be, and another one is asked then. */
import { blockhashAt, type FinalizedBlock, rentAt } from './answers.ts';
import { EndpointError } from './http-transport.ts';
import type { RpcPool } from './rpc-pool.ts';

/** So many blocks a blockhash can be used after its own (MAX_PROCESSING_AGE of Solana's validators). */
const BLOCKHASH_BLOCKS = 150n;
/** Blocks by which finality may be late: 32 as a rule, more when votes are slow. */
const FINALITY_LAG_BLOCKS = 250n;
/** 0.1 SOL, about twenty times the rent of a collection's account. */
const RENT_MAX_LAMPORTS = 100_000_000n;
/** It is 6,960; a tenth of that, should the ledger become cheaper. */
const RENT_MIN_LAMPORTS_PER_BYTE = 696n;

/**
 * The newest confirmed blockhash, and the slot at which it was. `finalized` must have been asked for before: no confirmed block is below it. With a last valid height that
 * is too low a transaction would be given up for dead that the ledger still takes, over a newer one then; with one that is too high it
 * would be waited for without end.
 *
 * A transaction is given up when the last valid height is finalized. Since that is 150 blocks past what was finalized at signing, the newest
 * block is then as far past what was the newest one, and the ledger itself no longer knows the blockhash.
 */
export function blockhash(pool: RpcPool, finalized: FinalizedBlock) {
  return pool.call(async (rpc, abortSignal) => {
    const newest = await blockhashAt(rpc, abortSignal, finalized.slot);
    const blocks = newest.lastValidBlockHeight - finalized.height;
    if (blocks < BLOCKHASH_BLOCKS || blocks > BLOCKHASH_BLOCKS + FINALITY_LAG_BLOCKS)
      throw new EndpointError(
        `The endpoint has a blockhash that is valid for ${blocks} blocks past the finalized one.`,
      );
    return newest;
  });
}

/** What an account of this size must hold for good. */
export function rentOf(pool: RpcPool, bytes: number): Promise<bigint> {
  return pool.call(async (rpc, abortSignal) => {
    const rent = await rentAt(rpc, abortSignal, bytes);
    if (rent > RENT_MAX_LAMPORTS || rent < BigInt(bytes) * RENT_MIN_LAMPORTS_PER_BYTE)
      throw new EndpointError(`The endpoint asks for a rent of ${rent} lamports.`);
    return rent;
  });
}
