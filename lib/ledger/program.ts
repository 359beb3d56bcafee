/**
 * The program whose accounts hold the anchored roots: Token-2022, on every Solana cluster under the
 * same address.
 */
export const LEDGER_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
