/**
 * Longest time, in ms, that an RPC node may lag behind the one that reported "confirmed". Data
 * missing from a response may still appear within this time.
 */
export const LEDGER_LAG_MAX_MS = 3_000;
