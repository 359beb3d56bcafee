/** Token-2022, which owns the accounts with the roots. Its address is the same everywhere. */
export const LEDGER_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
