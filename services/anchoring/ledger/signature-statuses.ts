import { itemAt } from '../../../lib/checked-access.ts';
import type { RpcPool } from './rpc-pool.ts';
import { statusesOf, type TransactionStatus } from './rpc-responses.ts';

/** Maximum number of signatures per call. */
const SIGNATURES_MAX = 256;
/** Time in ms that the first request waits for others. */
const GATHER_MS = 10;

interface StatusRequest {
  signature: string;
  atSlot: bigint;
  resolve(status: TransactionStatus): void;
  reject(error: unknown): void;
}

/**
 * Returns a function that asks for the status of a transaction, batching concurrent requests into
 * one call. The answering node has reached `atSlot`, whichever endpoint named that slot. Throws
 * LedgerUnreachableError, or the ledger's own errors.
 */
export function batchedStatuses(pool: RpcPool): (signature: string, atSlot?: bigint) => Promise<TransactionStatus> {
  let gathered: StatusRequest[] = [];
  const ask = async (): Promise<void> => {
    // Separate calls, so that a slot that no endpoint has reached does not hold up the other
    // requests.
    const bySlot = Map.groupBy(gathered, ({ atSlot }) => atSlot);
    gathered = [];
    await Promise.all([...bySlot].map(([atSlot, questions]) => askAt(pool, atSlot, questions)));
  };
  return (signature, atSlot = 0n) =>
    new Promise((resolve, reject) => {
      gathered.push({ signature, atSlot, resolve, reject });
      if (gathered.length === 1) setTimeout(() => void ask(), GATHER_MS);
      if (gathered.length === SIGNATURES_MAX) void ask();
    });
}

async function askAt(pool: RpcPool, atSlot: bigint, questions: StatusRequest[]): Promise<void> {
  const signatures = questions.map(({ signature }) => signature);
  try {
    const found = await pool.call((rpc, abortSignal) => statusesOf(rpc, abortSignal, { signatures, atSlot }));
    for (const [at, { resolve }] of questions.entries()) resolve(itemAt(found, at));
  } catch (error) {
    for (const { reject } of questions) reject(error);
  }
}
