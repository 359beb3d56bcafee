/**
 * The program that owns the accounts with the anchored roots: Token-2022, which has the same
 * address on every Solana cluster.
 */
export const LEDGER_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
