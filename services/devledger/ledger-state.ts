import type { FailedTransactionMetadata } from 'litesvm';

/** Error of a transaction as Solana's JSON-RPC formats it. */
export type TransactionError = string | { [kind: string]: unknown };

/** State of an account. `lamports` is decimal, '0' for a deleted account; `data` is base64. */
export interface KeptAccount {
  address: string;
  lamports: string;
  owner: string;
  executable: boolean;
  data: string;
}

export interface TransactionRecord {
  signature: string;
  slot: number;
  err: TransactionError | null;
  content: TransactionContent;
}

/** Instruction as Solana's JSON-RPC formats it, with indexes into the transaction's addresses. */
export interface CompiledInstruction {
  programIdIndex: number;
  accounts: number[];
  /** Base58. */
  data: string;
  stackHeight: number | null;
}

/** Transaction and the effects of its execution. */
interface TransactionContent {
  /** Base64. */
  wire: string;
  /** Unix time in seconds. */
  blockTime: number;
  addresses: string[];
  /** Lamports of each address before and after. */
  before: number[];
  after: number[];
  units: number;
  logs: string[];
  /** Instructions that programs called, by index of the calling instruction. */
  inner: { index: number; instructions: CompiledInstruction[] }[];
}

/**
 * Matches LiteSVM's error text, as Rust prints it: `Kind`, `Kind(number)`, `Kind { account_index
 * }`, or `InstructionError(index, Kind)`, where the last kind may have a number or text. The
 * error's own values are numbers, whose names exist only in type declarations.
 */
const ERROR_TEXT = /^\w+\(\w+ \{ err: (\w+)(?:\((\d+)(?:, (\w+)(?:\((\d+))?)?| \{ account_index: (\d+))?/;

/** Converts LiteSVM's error to the form of Solana's JSON-RPC. */
export function transactionError(failed: FailedTransactionMetadata): TransactionError {
  const [, kind = 'ClusterMaintenance', index, inner, code, account] = ERROR_TEXT.exec(failed.toString()) ?? [];
  if (account !== undefined) return { [kind]: { account_index: Number(account) } };
  if (index === undefined) return kind;
  if (inner === undefined) return { [kind]: Number(index) };
  return { [kind]: [Number(index), code === undefined ? inner : { [inner]: Number(code) }] };
}
