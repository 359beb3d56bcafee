import { askNode, LedgerError, resultIn } from './ledger-node.ts';

/**
 * Fetches a transaction from a node, for `verifyTransaction`. Null if it does not exist or is not
 * final. Rejects with a LedgerError.
 */
export async function ledgerTransaction(url: string, signature: string, signal?: AbortSignal): Promise<unknown> {
  // Accepts newer versions, so that the verifier refuses them instead of the node.
  const options = { encoding: 'base64', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
  const { answer, origin } = await askNode(url, 'getTransaction', [signature, options], signal);
  return transactionIn(answer, origin);
}

/** Extracts the transaction from an answer; null if there is none. Throws LedgerError. */
export function transactionIn(answer: unknown, source: string): unknown {
  const result = resultIn(answer, source, 'a transaction');
  if (result === undefined) throw new LedgerError(`${source} has no answer to getTransaction.`);
  return result;
}
