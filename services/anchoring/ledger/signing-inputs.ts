/**
 * Values that signing needs and that only an endpoint can provide, requested as in
 * rpc-responses.ts. An implausible value throws EndpointError, so that the pool asks another
 * endpoint.
 */
import { isAddress } from '@solana/web3.js';
import { isJsonObject } from '../../../lib/records/fields.ts';
import { EndpointError } from './http-transport.ts';
import type { Rpc } from './rpc-pool.ts';
import { COMMITMENT, checkResponse, type FinalizedBlock, slotOf } from './rpc-responses.ts';

/** Number of blocks for which a blockhash is valid (MAX_PROCESSING_AGE on validators). */
const BLOCKHASH_BLOCKS = 150n;
/** Maximum plausible lag of finality in blocks. Usually 32; more while votes are slow. */
const FINALITY_LAG_BLOCKS = 250n;
/** 0.1 SOL, about 20 times the rent of a collection's account. */
const RENT_MAX_LAMPORTS = 100_000_000n;
/** A tenth of the current 6,960, in case the ledger becomes cheaper. */
const RENT_MIN_LAMPORTS_PER_BYTE = 696n;
/** Micro-lamports per compute unit: at most 6,000 lamports for 60,000 units. */
const FEE_MAX_MICRO_LAMPORTS = 100_000n;

/**
 * Returns the newest confirmed blockhash and its slot. `finalized` must have been read before, so
 * no confirmed block is below it. If the last valid height were too low, a transaction would be
 * replaced while the ledger could still accept it; if it were too high, a lost one would be awaited
 * forever.
 *
 * A transaction is given up once its last valid height is finalized. That height is at least 150
 * blocks past the block that was final at signing, so by then the ledger no longer knows the
 * blockhash.
 */
export async function blockhash(rpc: Rpc, abortSignal: AbortSignal, finalized: FinalizedBlock) {
  const answer = await rpc.getLatestBlockhash({ commitment: COMMITMENT }).send({ abortSignal });
  const slot = slotOf(answer, finalized.slot);
  const { value } = answer;
  checkResponse(
    isJsonObject(value) && typeof value.blockhash === 'string' && isAddress(value.blockhash),
    'a blockhash',
  );
  checkResponse(typeof value.lastValidBlockHeight === 'bigint', 'the last valid block height');
  const blocks = value.lastValidBlockHeight - finalized.height;
  if (blocks < BLOCKHASH_BLOCKS || blocks > BLOCKHASH_BLOCKS + FINALITY_LAG_BLOCKS)
    throw new EndpointError(`The endpoint has a blockhash that is valid for ${blocks} blocks past the finalized one.`);
  return { slot, blockhash: value.blockhash, lastValidBlockHeight: value.lastValidBlockHeight };
}

/** Returns the minimum balance of an account of this size, in lamports. */
export async function rentOf(rpc: Rpc, abortSignal: AbortSignal, bytes: number): Promise<bigint> {
  const rent = await rpc.getMinimumBalanceForRentExemption(BigInt(bytes)).send({ abortSignal });
  checkResponse(typeof rent === 'bigint', 'the rent of an account');
  if (rent > RENT_MAX_LAMPORTS || rent < BigInt(bytes) * RENT_MIN_LAMPORTS_PER_BYTE)
    throw new EndpointError(`The endpoint asks for a rent of ${rent} lamports.`);
  return rent;
}

/**
 * Returns the 75th percentile of the priority fees that recent blocks paid, capped, in
 * micro-lamports per compute unit.
 */
export async function priorityFee(rpc: Rpc, abortSignal: AbortSignal): Promise<bigint> {
  const recent: unknown = await rpc.getRecentPrioritizationFees().send({ abortSignal });
  const what = 'recent priority fees';
  checkResponse(Array.isArray(recent), what);
  const fees = recent.map((each: unknown) => {
    checkResponse(
      isJsonObject(each) && typeof each.prioritizationFee === 'bigint' && each.prioritizationFee >= 0n,
      what,
    );
    return each.prioritizationFee;
  });
  fees.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const fee = fees[Math.floor(fees.length * 0.75)] ?? 0n;
  return fee < FEE_MAX_MICRO_LAMPORTS ? fee : FEE_MAX_MICRO_LAMPORTS;
}
