/** A transaction's error in the form Solana's JSON-RPC gives it. */
export type TransactionError = string | { [kind: string]: unknown };

/**
 * An account as it stands; `lamports` is decimal and '0' for an account that is gone, `data`
 * base64.
 */
export interface AccountState {
  address: string;
  lamports: string;
  owner: string;
  executable: boolean;
  data: string;
}

/** What became of a transaction that was executed. */
export interface TransactionRecord {
  signature: string;
  slot: number;
  err: TransactionError | null;
}
