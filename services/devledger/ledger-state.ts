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

export interface InnerInstructions {
  index: number;
  instructions: { programIdIndex: number; accounts: number[]; data: string; stackHeight: number }[];
}

/** A transaction that was processed, whether it succeeded or failed and paid its fee. */
export interface TransactionRecord {
  signature: string;
  slot: number;
  /** Seconds since the epoch. */
  blockTime: number;
  /** Base64. */
  wire: string;
  version: 'legacy' | 0;
  /** Addresses in the order of the message. */
  addresses: string[];
  memo: string | null;
  fee: number;
  err: TransactionError | null;
  logs: string[];
  computeUnits: number;
  preBalances: number[];
  postBalances: number[];
  inner: InnerInstructions[];
}
