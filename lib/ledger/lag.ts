/**
 * A node of the ledger may be this far behind the one that said "confirmed"; what it does not show
 * yet may come.
 */
export const LEDGER_LAG_MAX_MS = 3_000;
