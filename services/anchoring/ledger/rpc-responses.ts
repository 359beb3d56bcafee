/**
 * Requests to one endpoint, with checks of its responses. Every function throws EndpointError for a
 * response that no ledger node would give, so that the pool asks another endpoint. Errors of
 * web3.js pass through.
 */
import type { Address, Base64EncodedWireTransaction, Signature, SolanaError } from '@solana/web3.js';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ACCOUNT_BYTES_MAX } from '../../../client/verify/token-metadata.ts';
import { isJsonObject } from '../../../lib/records/fields.ts';
import { type ParsedAccount, readAccount } from './collection-account.ts';
import { EndpointError } from './http-transport.ts';
import { isLedgerError, type Rpc } from './rpc-pool.ts';

/** Two thirds of the stake have voted on a confirmed block; newer ones may be reverted. */
export const COMMITMENT = 'confirmed';

export type LedgerAccount = ParsedAccount | { status: 'absent' };

/** Account as one endpoint showed it, and the slot that the endpoint had reached. */
export interface LedgerAccountView {
  slot: bigint;
  account: LedgerAccount;
}

/**
 * Final or current state of a transaction. 'failed': processed with an error, which is final.
 * 'processed': in a block that may still be reverted. 'unknown': in no block.
 */
export type TransactionStatus =
  | { status: 'confirmed' | 'processed' | 'unknown' }
  | { status: 'failed'; reason: string };

/** Block that no fork can revert. */
export interface FinalizedBlock {
  slot: bigint;
  height: bigint;
}

/** Returns the collection's account at `address`, as of `atSlot` or later. */
export async function accountAt(
  rpc: Rpc,
  abortSignal: AbortSignal,
  { address, authority, atSlot }: { address: Address; authority: string; atSlot: bigint },
): Promise<LedgerAccountView> {
  // One byte over the limit, to detect longer data.
  const dataSlice = { offset: 0, length: ACCOUNT_BYTES_MAX + 1 };
  const options = { encoding: 'base64', commitment: COMMITMENT, dataSlice, minContextSlot: atSlot } as const;
  const answer = await rpc.getAccountInfo(address, options).send({ abortSignal });
  const slot = slotOf(answer, atSlot);
  const { value } = answer;
  if (value === null) return { slot, account: { status: 'absent' } };
  checkResponse(isJsonObject(value) && typeof value.owner === 'string', 'the owner of an account');
  checkResponse(Array.isArray(value.data) && typeof value.data[0] === 'string', 'the data of an account');
  const bytes = Buffer.from(value.data[0], 'base64');
  // Anyone can send lamports to an address, but only the authority can assign it to a program.
  if (value.owner === SYSTEM_PROGRAM_ADDRESS && bytes.length === 0) return { slot, account: { status: 'absent' } };
  return { slot, account: readAccount(bytes, value.owner, authority, address) };
}

/** Returns the status of each transaction from a node that has reached `atSlot`. */
export async function statusesOf(
  rpc: Rpc,
  abortSignal: AbortSignal,
  { signatures, atSlot }: { signatures: readonly string[]; atSlot: bigint },
): Promise<TransactionStatus[]> {
  const options = { searchTransactionHistory: true };
  // This call has no minContextSlot, so the response's slot is checked instead.
  const answer = await rpc.getSignatureStatuses(signatures as Signature[], options).send({ abortSignal });
  slotOf(answer, atSlot);
  const value: readonly unknown[] = answer.value;
  checkResponse(Array.isArray(value) && value.length === signatures.length, 'a status for each transaction');
  return value.map(statusOf);
}

export async function finalizedBlock(rpc: Rpc, abortSignal: AbortSignal): Promise<FinalizedBlock> {
  const { absoluteSlot, blockHeight } = await rpc.getEpochInfo({ commitment: 'finalized' }).send({ abortSignal });
  checkResponse(typeof absoluteSlot === 'bigint' && typeof blockHeight === 'bigint', 'the slot and the block height');
  return { slot: absoluteSlot, height: blockHeight };
}

/**
 * Sends a transaction (base64). Returns null if the endpoint accepts it or the ledger already has
 * it, else the reason for the refusal.
 */
export async function submitTransaction(rpc: Rpc, abortSignal: AbortSignal, wire: string): Promise<string | null> {
  const options = { encoding: 'base64', preflightCommitment: COMMITMENT, maxRetries: 0n } as const;
  try {
    const taken = await rpc.sendTransaction(wire as Base64EncodedWireTransaction, options).send({ abortSignal });
    checkResponse(typeof taken === 'string', 'the signature of a transaction');
    return null;
  } catch (error) {
    if (!isLedgerError(error)) throw error;
    const reason = reasonOf(error);
    return /already been processed/.test(reason) ? null : reason;
  }
}

/** A failed preflight has its reason in the cause, an invalid request in the server's message. */
function reasonOf({ cause, context, message }: SolanaError): string {
  if (cause instanceof Error) return cause.message;
  return '__serverMessage' in context ? String(context.__serverMessage) : message;
}

/** Returns a wallet's balance in lamports. */
export async function balanceOf(rpc: Rpc, abortSignal: AbortSignal, address: Address): Promise<bigint> {
  const { value } = await rpc.getBalance(address, { commitment: COMMITMENT }).send({ abortSignal });
  checkResponse(typeof value === 'bigint', 'the balance of a wallet');
  return value;
}

/** Returns the slot of a response. Throws EndpointError if it is before `atSlot`. */
export function slotOf(answer: { context: { slot: bigint } }, atSlot = 0n): bigint {
  const slot: unknown = isJsonObject(answer) && isJsonObject(answer.context) ? answer.context.slot : null;
  checkResponse(typeof slot === 'bigint', 'its slot');
  if (slot < atSlot) throw new EndpointError(`The endpoint has not reached slot ${atSlot} yet.`);
  return slot;
}

function statusOf(found: unknown): TransactionStatus {
  if (found === null) return { status: 'unknown' };
  const what = 'the status of a transaction';
  checkResponse(isJsonObject(found) && 'err' in found && found.err !== undefined, what);
  const { confirmations, err } = found;
  let { confirmationStatus } = found;
  // Older nodes report only a number of confirmations, which becomes null once no fork can revert
  // the transaction.
  if (confirmationStatus === null || confirmationStatus === undefined) {
    checkResponse(confirmations !== undefined, what);
    confirmationStatus = confirmations === null ? 'finalized' : 'processed';
  }
  if (confirmationStatus === 'processed') return { status: 'processed' };
  checkResponse(confirmationStatus === 'confirmed' || confirmationStatus === 'finalized', what);
  if (err === null) return { status: 'confirmed' };
  const reason = JSON.stringify(err, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  return { status: 'failed', reason };
}

/** Throws EndpointError if the response is not as expected. */
export function checkResponse(isPresent: boolean, what: string): asserts isPresent {
  if (!isPresent) throw new EndpointError(`The endpoint's response lacks ${what}.`);
}
