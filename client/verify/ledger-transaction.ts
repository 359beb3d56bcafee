import { askNode, LedgerError, resultIn } from './ledger-node.ts';

/**
 * Asks a node of the ledger for a transaction, as `verifyTransaction` takes it; null if there is
 * none, or it is not final. Rejects with a LedgerError.
 */
export async function ledgerTransaction(url: string, signature: string, signal?: AbortSignal): Promise<unknown> {
  // Accepts newer versions, so that the verifier refuses them, not the node.
  const options = { encoding: 'base64', commitment: 'finalized', maxSupportedTransactionVersion: 0 };
  const { answer, origin } = await askNode(url, 'getTransaction', [signature, options], signal);
  return transactionIn(answer, origin);
}

/** The transaction in an answer to getTransaction; null where there is none. Throws LedgerError. */
export function transactionIn(answer: unknown, source: string): unknown {
  const result = resultIn(answer, source, 'a transaction');
  if (result === undefined) throw new LedgerError(`${source} has no answer to getTransaction.`);
  return result;
}
