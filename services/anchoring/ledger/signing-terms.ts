/**
 * What one endpoint must be believed to sign a transaction, asked as in rpc-responses.ts; what
 * cannot be is not believed, and another one is asked then.
 */
import { isAddress } from '@solana/web3.js';
import { isJsonObject } from '../../../lib/records/fields.ts';
import { EndpointError } from './http-transport.ts';
import type { Rpc } from './rpc-pool.ts';
import { COMMITMENT, demand, type FinalizedBlock, slotOf } from './rpc-responses.ts';

/**
 * So many blocks a blockhash can be used after its own (MAX_PROCESSING_AGE of Solana's validators).
 */
const BLOCKHASH_BLOCKS = 150n;
/** Blocks by which finality may be late: 32 as a rule, more when votes are slow. */
const FINALITY_LAG_BLOCKS = 250n;
/** 0.1 SOL, about twenty times the rent of a collection's account. */
const RENT_MAX_LAMPORTS = 100_000_000n;
/** It is 6,960; a tenth of that, should the ledger become cheaper. */
const RENT_MIN_LAMPORTS_PER_BYTE = 696n;
/**
 * Micro-lamports per compute unit; with 60,000 units at most 6,000 lamports beyond the base fee.
 */
const FEE_MAX_MICRO_LAMPORTS = 100_000n;

/**
 * The newest confirmed blockhash, and the slot at which it was. `finalized` must have been asked
 * for before: no confirmed block is below it. With a last valid height that is too low a
 * transaction would be given up for dead that the ledger still takes, over a newer one then; with
 * one that is too high it would be waited for without end.
 *
 * A transaction is given up when the last valid height is finalized. Since that is 150 blocks past
 * what was finalized at signing, the newest block is then as far past what was the newest one, and
 * the ledger itself no longer knows the blockhash.
 */
export async function blockhash(rpc: Rpc, abortSignal: AbortSignal, finalized: FinalizedBlock) {
  const answer = await rpc.getLatestBlockhash({ commitment: COMMITMENT }).send({ abortSignal });
  const slot = slotOf(answer, finalized.slot);
  const { value } = answer;
  demand(isJsonObject(value) && typeof value.blockhash === 'string' && isAddress(value.blockhash), 'a blockhash');
  demand(typeof value.lastValidBlockHeight === 'bigint', 'how long its blockhash is valid');
  const blocks = value.lastValidBlockHeight - finalized.height;
  if (blocks < BLOCKHASH_BLOCKS || blocks > BLOCKHASH_BLOCKS + FINALITY_LAG_BLOCKS)
    throw new EndpointError(`The endpoint has a blockhash that is valid for ${blocks} blocks past the finalized one.`);
  return { slot, blockhash: value.blockhash, lastValidBlockHeight: value.lastValidBlockHeight };
}

/** What an account of this size must hold for good, in lamports. */
export async function rentOf(rpc: Rpc, abortSignal: AbortSignal, bytes: number): Promise<bigint> {
  const rent = await rpc.getMinimumBalanceForRentExemption(BigInt(bytes)).send({ abortSignal });
  demand(typeof rent === 'bigint', 'the rent of an account');
  if (rent > RENT_MAX_LAMPORTS || rent < BigInt(bytes) * RENT_MIN_LAMPORTS_PER_BYTE)
    throw new EndpointError(`The endpoint asks for a rent of ${rent} lamports.`);
  return rent;
}

/**
 * What others paid of late to be taken first, in micro-lamports per compute unit: the 75th
 * percentile of recent blocks, capped.
 */
export async function priorityFee(rpc: Rpc, abortSignal: AbortSignal): Promise<bigint> {
  const recent: unknown = await rpc.getRecentPrioritizationFees().send({ abortSignal });
  const what = 'what others paid';
  demand(Array.isArray(recent), what);
  const fees = recent.map((each: unknown) => {
    demand(isJsonObject(each) && typeof each.prioritizationFee === 'bigint' && each.prioritizationFee >= 0n, what);
    return each.prioritizationFee;
  });
  fees.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const fee = fees[Math.floor(fees.length * 0.75)] ?? 0n;
  return fee < FEE_MAX_MICRO_LAMPORTS ? fee : FEE_MAX_MICRO_LAMPORTS;
}
