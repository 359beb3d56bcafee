/** What a node of the ledger does not show yet may come within this time; so much may the ledger's clock differ from ours, too. */
export const LEDGER_LAG_MAX_MS = 3_000;

/** Whether a node of the ledger may not have seen yet what was confirmed at `confirmedAt` (ISO 8601): its newest block is of `ledgerMs` (Unix), by the ledger's own clock. */
export function isBehind(ledgerMs: number, confirmedAt: string): boolean {
  return ledgerMs < Date.parse(confirmedAt) + LEDGER_LAG_MAX_MS;
}
