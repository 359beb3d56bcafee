/** Longest time, in ms, that an RPC node may lag behind the one that reported "confirmed". */
export const LEDGER_LAG_MAX_MS = 3_000;
