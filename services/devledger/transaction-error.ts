import type { FailedTransactionMetadata } from 'litesvm';
import type { TransactionError } from './ledger-state.ts';

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
