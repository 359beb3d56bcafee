/** A node of the ledger may be this far behind the one that said "confirmed"; what it does not show yet may come. */
export const LEDGER_LAG_MAX_MS = 3_000;

/** Whether a node of the ledger may not show yet what was confirmed: both times are of our clock. */
export function isJustConfirmed({ confirmedAt }: { confirmedAt: string }, nowMs: number): boolean {
  return nowMs - Date.parse(confirmedAt) < LEDGER_LAG_MAX_MS;
}
