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

/**
 * Asks for the status of a transaction, those of many in one call: as a node knows it that has come
 * to the slot, whichever endpoint named that. Throws LedgerUnreachableError, or the ledger's own
 * errors.
 */
export function gatheredStatuses(pool: RpcPool): (signature: string, atSlot?: bigint) => Promise<TransactionStatus> {
  let gathered: Question[] = [];
  const ask = async (): Promise<void> => {
    // What needs a slot that no endpoint has come to must not keep the others from an answer.
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

async function askAt(pool: RpcPool, atSlot: bigint, questions: Question[]): Promise<void> {
  const signatures = questions.map(({ signature }) => signature);
  try {
    const found = await pool.call((rpc, abortSignal) => statusesOf(rpc, abortSignal, { signatures, atSlot }));
    for (const [at, { resolve }] of questions.entries()) resolve(found[at]!);
  } catch (error) {
    for (const { reject } of questions) reject(error);
  }
}
