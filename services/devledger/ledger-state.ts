import type { FailedTransactionMetadata } from 'litesvm';

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
  /** Absent from records of versions that kept no transactions. */
  content?: TransactionContent;
}

/** An instruction as Solana's JSON-RPC gives it: indexes into the transaction's addresses. */
export interface CompiledInstruction {
  programIdIndex: number;
  accounts: number[];
  /** Base58. */
  data: string;
  stackHeight: number | null;
}

/** A transaction, and what its execution did. */
export interface TransactionContent {
  /** Base64. */
  wire: string;
  /** Unix time in seconds. */
  blockTime: number;
  /** Addresses that the transaction names. */
  addresses: string[];
  /** Lamports of each of these before and after. */
  before: number[];
  after: number[];
  units: number;
  logs: string[];
  /** What programs called, by the index of the instruction that did. */
  inner: { index: number; instructions: CompiledInstruction[] }[];
}

/**
 * The error in LiteSVM's text, as Rust prints it: `Kind`, `Kind(number)`, `Kind { account_index }`,
 * or `InstructionError(index, Kind)`, where the last may have a number or a text of its own. As
 * values it gives numbers, whose names it keeps to its type declarations.
 */
const SAID = /^\w+\(\w+ \{ err: (\w+)(?:\((\d+)(?:, (\w+)(?:\((\d+))?)?| \{ account_index: (\d+))?/;

/** LiteSVM's error in the form of Solana's JSON-RPC. */
export function transactionError(failed: FailedTransactionMetadata): TransactionError {
  const [, kind = 'ClusterMaintenance', index, inner, code, account] = SAID.exec(failed.toString()) ?? [];
  if (account !== undefined) return { [kind]: { account_index: Number(account) } };
  if (index === undefined) return kind;
  if (inner === undefined) return { [kind]: Number(index) };
  return { [kind]: [Number(index), code === undefined ? inner : { [inner]: Number(code) }] };
}
