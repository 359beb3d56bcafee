/** Token-2022, the program that owns the anchor accounts, on every Solana cluster. */
export const LEDGER_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
